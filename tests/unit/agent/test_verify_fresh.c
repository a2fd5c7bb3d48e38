/* A copy must be new: nothing of it may be another file by another name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/fs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>

#include "harness/agent/verify.h"
#include "tests/unit/processes.h"
#include "tests/unit/tree_folder.h"

static struct manifest wanted;

static bool make_tree(const char *root)
{
	return mkdir(root, 0755) == 0 && chdir(root) == 0 && mkdir("d", 0755) == 0 &&
	       chmod(".", 0751) == 0 && tree_put("d/a", "contents") &&
	       tree_put("d/b", "contents") && tree_put("c", "") && chdir(tree_folder) == 0;
}

static int setup(void **state)
{
	wanted = (struct manifest){ 0 };
	return tree_folder_make(state) == 0 && make_tree("root") && mkdir("ours", 0700) == 0 &&
			       mkdir("ours/copy", 0700) == 0 && make_tree("ours/copy/0") &&
			       manifest_scan(&wanted, "root", NULL, NULL) == 0
		       ? 0
		       : -1;
}

static int teardown(void **state)
{
	manifest_free(&wanted);
	return tree_folder_drop(state);
}

static int verify(enum preserve preserve, struct manifest_found *found, struct error *err)
{
	AUTO_FREE char *under = path_join(tree_folder, "ours");
	AUTO_FREE char *root = path_join(under, "copy/0");
	const struct verify_order order = {
		.wanted = &wanted, .preserve = preserve, .root = root, .under = under
	};
	return verify_copy(&order, found, within(60), err);
}

static void check_wrong(const char *says)
{
	struct error err = { 0 };
	struct manifest_found found;
	assert_int_equal(verify(PRESERVE_MODE, &found, &err), -1);
	assert_string_equal(err.message, says);
	assert_int_equal(err.kind, ERROR_INTEGRITY);
}

static void test_new_files_are_right(void **state)
{
	struct error err = { 0 };
	struct manifest_found found;
	(void)state;
	assert_int_equal(verify(PRESERVE_ALL, &found, &err), 0);
	assert_int_equal(found.bytes, 2 * strlen("contents"));
	assert_int_equal(found.data_bytes, found.bytes);
}

static void test_links_to_the_source(void **state)
{
	(void)state;
	assert_int_equal(unlink("ours/copy/0/d/a"), 0);
	assert_int_equal(link("root/d/a", "ours/copy/0/d/a"), 0);
	check_wrong("not a copy: 'd/a' is a hard link to a file outside the copy");
	assert_int_equal(unlink("ours/copy/0/c"), 0);
	assert_int_equal(link("root/c", "ours/copy/0/c"), 0);
	check_wrong("not a copy: 'c' is a hard link to a file outside the copy, and 1 more are not "
		    "new");
}

/* Such as a tool's own store of what it fetched before. */
static void test_links_to_elsewhere(void **state)
{
	(void)state;
	assert_int_equal(link("ours/copy/0/d/b", "store"), 0);
	check_wrong("not a copy: 'd/b' is a hard link to a file outside the copy");
}

static void test_links_within(void **state)
{
	(void)state;
	assert_int_equal(unlink("ours/copy/0/d/b"), 0);
	assert_int_equal(link("ours/copy/0/d/a", "ours/copy/0/d/b"), 0);
	check_wrong("not a copy: 'd/b' is a hard link to 'd/a'");
}

/* tar and others make links where the source has links: that is a copy, though of fewer bytes. */
static void test_links_as_at_the_source(void **state)
{
	struct error err = { 0 };
	struct manifest_found found;
	(void)state;
	assert_int_equal(unlink("ours/copy/0/d/b"), 0);
	assert_int_equal(link("ours/copy/0/d/a", "ours/copy/0/d/b"), 0);
	assert_int_equal(unlink("root/d/b"), 0);
	assert_int_equal(link("root/d/a", "root/d/b"), 0);
	manifest_free(&wanted);
	assert_int_equal(manifest_scan(&wanted, "root", NULL, NULL), 0);
	assert_int_equal(manifest_save(&wanted, "manifest", NULL), 0);
	manifest_free(&wanted);
	assert_int_equal(manifest_load(&wanted, "manifest", NULL), 0);
	assert_int_equal(verify(PRESERVE_MODE, &found, &err), 0);
	assert_int_equal(found.bytes, 2 * strlen("contents"));
	assert_int_equal(found.data_bytes, strlen("contents"));
	assert_int_equal(link("ours/copy/0/d/a", "store"), 0);
	check_wrong("not a copy: 'd/a' is a hard link to a file outside the copy, and 1 more are "
		    "not new");
}

static void test_the_folder_is_gone(void **state)
{
	struct error err = { 0 };
	struct manifest_found found;
	(void)state;
	assert_int_equal(folder_remove("ours/copy/0", NULL), 0);
	assert_int_equal(verify(PRESERVE_MODE, &found, &err), -1);
	assert_int_equal(err.kind, ERROR_INTEGRITY);
	assert_non_null(strstr(err.message, "ours/copy/0"));
}

static void test_links_on_the_way(void **state)
{
	(void)state;
	assert_int_equal(rename("ours/copy/0", "away"), 0);
	assert_int_equal(symlink("../../away", "ours/copy/0"), 0);
	check_wrong("not a copy: its folder is now a symbolic link");
	assert_int_equal(unlink("ours/copy/0"), 0);
	assert_int_equal(rename("away", "ours/copy/0"), 0);
	assert_int_equal(rename("ours/copy", "away"), 0);
	assert_int_equal(symlink("../away", "ours/copy"), 0);
	check_wrong("not a copy: its folder is now a symbolic link");
}

/* The root's own mode counts as that of the folders in it does. */
static void test_mode_of_the_root(void **state)
{
	struct error err = { 0 };
	struct manifest_found found;
	(void)state;
	assert_int_equal(chmod("ours/copy/0", 0755), 0);
	check_wrong("the copy differs in one place: '.' has mode 0755 instead of 0751");
	assert_int_equal(verify(PRESERVE_CONTENT, &found, &err), 0);
	/* Copied into with 0751, since nobody could with 0051. */
	assert_int_equal(chmod("root", 0051), 0);
	wanted.root_mode = S_IFDIR | 0051;
	assert_int_equal(chmod("ours/copy/0", 0751), 0);
	assert_int_equal(verify(PRESERVE_MODE, &found, &err), 0);
	wanted.root_mode = 0;
	assert_int_equal(chmod("ours/copy/0", 0755), 0);
	assert_int_equal(verify(PRESERVE_MODE, &found, &err), 0);
}

/* Runs in a child with mounts of its own. */
static void bind_and_check(void)
{
	struct error err = { 0 };
	struct manifest_found found;
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("root", "ours/copy/0", NULL, MS_BIND, NULL) < 0)
		_exit(77);
	if (verify(PRESERVE_MODE, &found, &err) == 0 || err.kind != ERROR_INTEGRITY ||
	    strcmp(err.message, "not a copy: something is mounted on its folder") != 0)
		_exit(1);
	/* What is bound in a tree is not removed with it. */
	if (folder_remove("ours", NULL) == 0 || access("root/d/a", F_OK) < 0)
		_exit(2);
	if (umount("ours/copy/0") < 0 || mount("root/d", "ours/copy/0/d", NULL, MS_BIND, NULL) < 0)
		_exit(3);
	if (verify(PRESERVE_MODE, &found, &err) == 0 || err.kind != ERROR_INTEGRITY ||
	    !strstr(err.message, "not a copy: something is mounted in it"))
		_exit(4);
	if (umount("ours/copy/0/d") < 0 ||
	    mount("root/d/a", "ours/copy/0/d/a", NULL, MS_BIND, NULL) < 0)
		_exit(5);
	if (verify(PRESERVE_MODE, &found, &err) == 0 || err.kind != ERROR_INTEGRITY ||
	    !strstr(err.message, "'d/a'"))
		_exit(6);
	_exit(0);
}

static void test_mounts(void **state)
{
	int status = -1;
	(void)state;
	pid_t pid = fork();
	if (pid == 0)
		bind_and_check();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77) {
		print_message("skipped: nothing can be mounted here\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_shared_blocks(void **state)
{
	(void)state;
	AUTO_FD from = open("root/d/a", O_RDONLY | O_CLOEXEC);
	AUTO_FD to = open("ours/copy/0/d/a", O_WRONLY | O_CLOEXEC);
	assert_true(from >= 0 && to >= 0);
	if (ioctl(to, FICLONE, from) < 0) {
		print_message("skipped: files cannot share blocks on this file system\n");
		skip();
	}
	check_wrong("not a copy: 'd/a' shares its blocks with another file");
}

#define WITH_TREES(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TREES(test_new_files_are_right),
		WITH_TREES(test_links_to_the_source),
		WITH_TREES(test_links_to_elsewhere),
		WITH_TREES(test_links_within),
		WITH_TREES(test_links_as_at_the_source),
		WITH_TREES(test_the_folder_is_gone),
		WITH_TREES(test_links_on_the_way),
		WITH_TREES(test_mode_of_the_root),
		WITH_TREES(test_mounts),
		WITH_TREES(test_shared_blocks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
