/* A source that changed is told, and one that was merely touched is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/agent/source.h"
#include "harness/base/cancel.h"
#include "tests/unit/processes.h"
#include "tests/unit/tree_folder.h"

static struct manifest wanted;
static struct source_marks marks;

static int setup(void **state)
{
	wanted = (struct manifest){ 0 };
	if (tree_folder_make(state) < 0 || mkdir("root", 0755) < 0 || mkdir("root/d", 0755) < 0 ||
	    !tree_put("root/d/a", "contents") || !tree_put("root/b", "more") ||
	    symlink("d/a", "root/l") < 0)
		return -1;
	return manifest_scan(&wanted, "root", NULL, NULL) < 0 ||
			       source_marks_make(&marks, wanted.count, NULL) < 0
		       ? -1
		       : 0;
}

static int teardown(void **state)
{
	source_marks_drop(&marks);
	manifest_free(&wanted);
	return tree_folder_drop(state);
}

static struct source_tree tree_for(enum preserve preserve)
{
	return (struct source_tree){
		.wanted = &wanted, .root = "root", .marks = marks.marks, .preserve = preserve
	};
}

static int take(struct error *err)
{
	const struct source_tree tree = tree_for(PRESERVE_MODE);
	return source_take(&tree, within(60), err);
}

static int look(enum preserve preserve, struct error *err)
{
	const struct source_tree tree = tree_for(preserve);
	return source_look(&tree, within(60), err);
}

/* Of the same size, and with the old time. */
static bool change_in_place(void)
{
	struct stat before;
	AUTO_FD fd = open("root/d/a", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &before) < 0 || pwrite(fd, "C", 1, 0) != 1)
		return false;
	const struct timespec times[2] = { before.st_atim, before.st_mtim };
	return futimens(fd, times) == 0;
}

static bool exchange(void)
{
	return tree_put("new", "contentZ") && rename("new", "root/d/a") == 0;
}

static bool lengthen(void)
{
	return tree_put("root/b", "more and more");
}

static bool add(void)
{
	return tree_put("root/d/more", "");
}

static bool lose(void)
{
	return unlink("root/d/a") == 0;
}

static bool lose_all(void)
{
	return folder_clear("root", NULL) == 0;
}

static bool bend(void)
{
	return unlink("root/l") == 0 && symlink("b", "root/l") == 0;
}

static bool change_mode(void)
{
	return chmod("root/d/a", 0600) == 0;
}

static bool change_root_mode(void)
{
	return chmod("root", 0750) == 0;
}

static bool put_socket(void)
{
	return tree_put_socket("root/s");
}

static bool touch(void)
{
	const struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	return utimensat(AT_FDCWD, "root/d/a", times, 0) == 0;
}

static bool write_the_same(void)
{
	struct stat before;
	if (stat("root/d/a", &before) < 0 || !tree_put("root/d/a", "contents"))
		return false;
	const struct timespec times[2] = { before.st_atim, before.st_mtim };
	return utimensat(AT_FDCWD, "root/d/a", times, 0) == 0;
}

static bool give_another_name(void)
{
	return link("root/d/a", "a") == 0;
}

static bool nothing(void)
{
	return true;
}

/* A change within one tick of the clock that stamps files shows in no time: the kernel's is at most
 * 10 ms long. */
static void let_time_pass(void)
{
	usleep(30000);
}

static void test_changes(void **state)
{
	static const struct {
		bool (*change)(void);
		const char *says; /* NULL: no change */
		enum preserve preserve;
	} cases[] = {
		{ nothing, NULL, PRESERVE_ALL },
		{ change_in_place, "the source changed: 'd/a' has other contents", PRESERVE_MODE },
		{ exchange, "the source changed: 'd/a' has other contents", PRESERVE_MODE },
		{ lengthen, "the source changed: 'b' has 13 bytes instead of 4", PRESERVE_MODE },
		{ add, "the source changed: 'd/more' is unexpected", PRESERVE_MODE },
		{ lose, "the source changed: 'd/a' is missing", PRESERVE_MODE },
		{ lose_all, "the source changed: 'b' is missing, and 3 more", PRESERVE_MODE },
		{ bend, "the source changed: 'l' points to 'b' instead of 'd/a'", PRESERVE_MODE },
		{ change_mode, "the source changed: 'd/a' has mode 0600 instead of 0644",
		  PRESERVE_MODE },
		{ change_mode, NULL, PRESERVE_CONTENT },
		{ change_root_mode, "the source changed: '.' has mode 0750 instead of 0755",
		  PRESERVE_MODE },
		{ put_socket,
		  "the source changed: 's' is a socket: only files, folders and links can be copied",
		  PRESERVE_MODE },
		{ touch, NULL, PRESERVE_MODE },
		{ write_the_same, NULL, PRESERVE_ALL },
		{ give_another_name, NULL, PRESERVE_ALL },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = { 0 };
		if (i > 0) {
			assert_int_equal(teardown(state), 0);
			assert_int_equal(setup(state), 0);
		}
		assert_int_equal(take(&err), 0);
		let_time_pass();
		assert_true(cases[i].change());
		int outcome = look(cases[i].preserve, &err);
		assert_string_equal(outcome < 0 ? err.message : "same",
				    cases[i].says ? cases[i].says : "same");
		if (outcome < 0)
			assert_int_equal(err.kind, ERROR_INTEGRITY);
	}
}

static void test_touched_for_all(void **state)
{
	struct error err = { 0 };
	(void)state;
	assert_int_equal(take(&err), 0);
	assert_true(touch());
	assert_int_equal(look(PRESERVE_ALL, &err), -1);
	assert_non_null(strstr(err.message, "the source changed: 'd/a' was modified at 1 s"));
}

/* Only doubt makes it read: what looks untouched is taken for what it was. */
static void test_reads_where_there_is_doubt(void **state)
{
	struct error err = { 0 };
	(void)state;
	assert_int_equal(take(&err), 0);
	for (size_t i = 0; i < wanted.count; i++)
		wanted.entries[i].digest.low ^= wanted.entries[i].type == MANIFEST_FILE;
	assert_int_equal(look(PRESERVE_MODE, &err), 0);
	source_marks_forget(&marks);
	assert_int_equal(look(PRESERVE_MODE, &err), -1);
	assert_string_equal(err.message, "the source changed: 'b' has other contents, and 1 more");
	/* And after that all are in doubt. */
	assert_int_equal(look(PRESERVE_MODE, &err), -1);
}

static bool look_says_unreadable(void)
{
	struct error err = { 0 };
	return look(PRESERVE_CONTENT, &err) < 0 && err.kind == ERROR_SYSTEM &&
	       strcmp(err.message, "the source cannot be read: 'd/a': open: Permission denied") ==
		       0;
}

static void test_unreadable(void **state)
{
	struct error err = { 0 };
	(void)state;
	assert_int_equal(take(&err), 0);
	let_time_pass();
	assert_int_equal(chmod("root/d/a", 0), 0);
	assert_true(tree_as_nobody(look_says_unreadable));
}

static void test_stops(void **state)
{
	struct error err = { 0 };
	const struct source_tree tree = tree_for(PRESERVE_MODE);
	struct cancel cancel;
	(void)state;
	assert_int_equal(source_look(&tree, within(-1), &err), -1);
	assert_int_equal(err.kind, ERROR_TIMEOUT);
	assert_int_equal(cancel_open(&cancel, NULL), 0);
	cancel_request(&cancel);
	const struct io_limit stopped = { .deadline_ns = CLOCK_NEVER, .cancel = &cancel };
	assert_int_equal(source_look(&tree, &stopped, &err), -1);
	assert_int_equal(err.kind, ERROR_CANCELLED);
	cancel_close(&cancel);
}

#define WITH_TREE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TREE(test_changes),
		WITH_TREE(test_touched_for_all),
		WITH_TREE(test_reads_where_there_is_doubt),
		WITH_TREE(test_unreadable),
		WITH_TREE(test_stops),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
