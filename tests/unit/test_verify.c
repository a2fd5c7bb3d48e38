#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/time.h>

#include "harness/base/cancel.h"
#include "harness/engine/verify.h"
#include "tests/unit/processes.h"
#include "tests/unit/tree_folder.h"

static struct manifest wanted;

/* A tree and its copy, which is right. */
static bool make_trees(void)
{
	static const char *const roots[] = { "root", "copy" };
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++)
		if (mkdir(roots[i], 0755) < 0 || chdir(roots[i]) < 0 || mkdir("d", 0755) < 0 ||
		    mkdir("empty", 0755) < 0 || !tree_put("d/a", "contents") ||
		    !tree_put("b", "") || symlink("d/a", "l") < 0 || chdir("..") < 0)
			return false;
	const struct manifest_scan_options scan = { .deadline_ns = CLOCK_NEVER };
	wanted = (struct manifest){ 0 };
	return manifest_scan(&wanted, "root", &scan, NULL) == 0;
}

static int setup(void **state)
{
	return tree_folder_make(state) == 0 && make_trees() ? 0 : -1;
}

static int teardown(void **state)
{
	manifest_free(&wanted);
	return tree_folder_drop(state);
}

static int verify(enum preserve preserve, struct error *err)
{
	uint64_t bytes = 0;
	int outcome = verify_copy(&wanted, "copy", preserve, &bytes, within(60), err);
	if (outcome == 0)
		assert_int_equal(bytes, strlen("contents"));
	return outcome;
}

static void test_right(void **state)
{
	(void)state;
	struct error err = { 0 };
	assert_int_equal(verify(PRESERVE_CONTENT, &err), 0);
	assert_int_equal(verify(PRESERVE_MODE, &err), 0);
	const struct timeval then[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	assert_int_equal(utimes("copy/b", then), 0);
	assert_int_equal(verify(PRESERVE_MODE, &err), 0);
	assert_int_equal(verify(PRESERVE_ALL, &err), -1);
	assert_int_equal(err.kind, ERROR_INTEGRITY);
}

static bool flip(void)
{
	return tree_put("copy/d/a", "contentz");
}

static bool shorten(void)
{
	return truncate("copy/d/a", 7) == 0;
}

static bool lengthen(void)
{
	return tree_put("copy/b", "x");
}

static bool lose_file(void)
{
	return unlink("copy/b") == 0;
}

static bool lose_folder(void)
{
	return rmdir("copy/empty") == 0;
}

static bool add_file(void)
{
	return tree_put("copy/more", "x");
}

static bool follow_link(void)
{
	return unlink("copy/l") == 0 && tree_put("copy/l", "contents");
}

static bool bend_link(void)
{
	return unlink("copy/l") == 0 && symlink("d/b", "copy/l") == 0;
}

static bool rename_file(void)
{
	return rename("copy/b", "copy/B") == 0;
}

static bool change_mode(void)
{
	return chmod("copy/d/a", 0600) == 0;
}

static bool change_folder_mode(void)
{
	return chmod("copy/d", 0700) == 0;
}

static bool add_socket(void)
{
	return tree_put_socket("copy/socket");
}

static bool put_fifo_in_place(void)
{
	return unlink("copy/b") == 0 && mkfifo("copy/b", 0644) == 0;
}

static void test_differences(void **state)
{
	(void)state;
	static const struct {
		bool (*spoil)(void);
		const char *named; /* is in the message */
		bool mode_only;
	} cases[] = {
		{ flip, "d/a", false },
		{ shorten, "d/a", false },
		{ lengthen, "b", false },
		{ lose_file, "b", false },
		{ lose_folder, "empty", false },
		{ add_file, "more", false },
		{ follow_link, "l", false },
		{ bend_link, "l", false },
		{ rename_file, "B", false },
		{ change_mode, "d/a", true },
		{ change_folder_mode, "d", true },
		{ add_socket, "socket", false },
		{ put_fifo_in_place, "b", false },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = { 0 };
		teardown(state);
		assert_int_equal(setup(state), 0);
		assert_true(cases[i].spoil());
		if (verify(PRESERVE_MODE, &err) == 0)
			fail_msg("%zu: not noticed", i);
		assert_int_equal(err.kind, ERROR_INTEGRITY);
		assert_non_null(strstr(err.message, cases[i].named));
		assert_int_equal(verify(PRESERVE_CONTENT, &err) == 0, cases[i].mode_only);
	}
}

static bool unreadable_is_wrong(void)
{
	struct error err = { 0 };
	return verify(PRESERVE_MODE, &err) < 0 && err.kind == ERROR_INTEGRITY;
}

static void test_a_copy_that_may_not_be_read(void **state)
{
	(void)state;
	assert_int_equal(chmod("copy/d/a", 0), 0);
	assert_int_equal(chmod("copy", 0755), 0);
	assert_true(tree_as_nobody(unreadable_is_wrong));
}

/* A copy that is not there is no wrong copy: something else went wrong. */
static void test_errors(void **state)
{
	(void)state;
	struct error err = { 0 };
	struct cancel cancel;
	uint64_t bytes = 0;
	assert_int_equal(verify_copy(&wanted, "none", PRESERVE_MODE, &bytes, within(60), &err), -1);
	assert_int_equal(err.kind, ERROR_SYSTEM);
	assert_int_equal(verify_copy(&wanted, "copy", PRESERVE_MODE, &bytes, within(-1), &err), -1);
	assert_int_equal(err.kind, ERROR_TIMEOUT);
	assert_int_equal(cancel_open(&cancel, NULL), 0);
	cancel_request(&cancel);
	const struct io_limit stopped = { .deadline_ns = CLOCK_NEVER, .cancel = &cancel };
	assert_int_equal(verify_copy(&wanted, "copy", PRESERVE_MODE, &bytes, &stopped, &err), -1);
	assert_int_equal(err.kind, ERROR_CANCELLED);
	cancel_close(&cancel);
}

#define WITH_TREES(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TREES(test_right),
		WITH_TREES(test_differences),
		WITH_TREES(test_a_copy_that_may_not_be_read),
		WITH_TREES(test_errors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
