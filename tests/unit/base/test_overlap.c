/* Folders in one another, by their names, by links and by mounts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <sys/mount.h>

#include "harness/base/overlap.h"
#include "tests/lacks.h"
#include "tests/unit/tree_folder.h"

static enum overlap of(const char *folder, const char *tree)
{
	struct error err = { 0 };
	enum overlap overlap = OVERLAP_NONE;
	if (overlap_find(folder, tree, &overlap, &err) < 0)
		fail_msg("%s", err.message);
	return overlap;
}

static void make_folders(void)
{
	static const char *const folders[] = { "tree", "tree/a", "tree/a/b", "tree2", "other" };
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		assert_int_equal(mkdir(folders[i], 0755), 0);
}

static void test_names(void **state)
{
	(void)state;
	make_folders();
	AUTO_FREE char *whole = path_join(tree_folder, "tree");
	assert_int_equal(of("tree", "tree"), OVERLAP_SAME);
	assert_int_equal(of(whole, "tree"), OVERLAP_SAME);
	assert_int_equal(of("tree/", "other/../tree"), OVERLAP_SAME);
	assert_int_equal(of("tree/a/b", "tree"), OVERLAP_INSIDE);
	assert_int_equal(of(".", "tree"), OVERLAP_ABOVE);
	assert_int_equal(of("/", "tree"), OVERLAP_ABOVE);
	assert_int_equal(of("tree2", "tree"), OVERLAP_NONE);
	assert_int_equal(of("tree", "tree2"), OVERLAP_NONE);
	/* What is still to be made. */
	assert_int_equal(of("tree/new", "tree"), OVERLAP_INSIDE);
	assert_int_equal(of("tree/new/and/more/", "tree"), OVERLAP_INSIDE);
	assert_int_equal(of("new", "tree"), OVERLAP_NONE);
	assert_int_equal(of("new/", "tree"), OVERLAP_NONE);
}

static void test_links(void **state)
{
	(void)state;
	make_folders();
	assert_int_equal(symlink("../tree/a", "other/into"), 0);
	assert_int_equal(symlink("tree", "also"), 0);
	assert_int_equal(symlink("../../other", "tree/a/out"), 0);
	assert_int_equal(of("other/into", "tree"), OVERLAP_INSIDE);
	assert_int_equal(of("other/into/new", "tree"), OVERLAP_INSIDE);
	assert_int_equal(of("also", "tree"), OVERLAP_SAME);
	assert_int_equal(of("tree/a", "also"), OVERLAP_INSIDE);
	/* By its name it is in the tree, and yet it is not. */
	assert_int_equal(of("tree/a/out", "tree"), OVERLAP_NONE);
	assert_int_equal(of("tree/a/out/new", "tree"), OVERLAP_NONE);
}

static void test_missing_tree(void **state)
{
	(void)state;
	struct error err = { 0 };
	enum overlap overlap;
	assert_int_equal(overlap_find(".", "nowhere", &overlap, &err), -1);
	assert_non_null(strstr(err.message, "nowhere"));
}

/* In a process with mounts of its own; 77 where it may have none. */
static int with_mounts(void)
{
	if (unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return 77;
	if (mount("tree", "tree2", NULL, MS_BIND, NULL) < 0 || mkdir("tree/a/in", 0755) < 0 ||
	    mkdir("deep", 0755) < 0 || mount("tree/a/b", "deep", NULL, MS_BIND, NULL) < 0 ||
	    mount("other", "tree/a/in", NULL, MS_BIND, NULL) < 0)
		return 1;
	return of("tree2", "tree") == OVERLAP_SAME && of("tree2/a", "tree") == OVERLAP_INSIDE &&
			       of("tree2/new", "tree") == OVERLAP_INSIDE &&
			       of("deep", "tree") == OVERLAP_INSIDE &&
			       of("deep/new", "tree") == OVERLAP_INSIDE &&
			       of("other", "tree") == OVERLAP_INSIDE &&
			       of("other/new", "tree") == OVERLAP_INSIDE
		       ? 0
		       : 2;
}

static void test_mounts(void **state)
{
	(void)state;
	make_folders();
	pid_t pid = fork();
	if (pid == 0)
		_exit(with_mounts());
	int status = 0;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		test_lacks("mounts of our own", "this user may have none");
		skip();
	}
	assert_int_equal(status, 0);
	rmdir("tree/a/in");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_names, tree_folder_make, tree_folder_drop),
		cmocka_unit_test_setup_teardown(test_links, tree_folder_make, tree_folder_drop),
		cmocka_unit_test_setup_teardown(test_missing_tree, tree_folder_make,
						tree_folder_drop),
		cmocka_unit_test_setup_teardown(test_mounts, tree_folder_make, tree_folder_drop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
