#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/time.h>

#include "harness/agent/verify.h"
#include "harness/base/cancel.h"
#include "tests/unit/processes.h"
#include "tests/unit/resident.h"
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

static int verify_tree(const struct manifest *manifest, const char *root, enum preserve preserve,
		       uint64_t *bytes, struct error *err)
{
	struct manifest_found found;
	const struct verify_order order = { .wanted = manifest,
					    .preserve = preserve,
					    .root = root };
	int outcome = verify_copy(&order, &found, within(60), err);
	*bytes = found.bytes;
	return outcome;
}

static int verify(enum preserve preserve, struct error *err)
{
	uint64_t bytes = 0;
	int outcome = verify_tree(&wanted, "copy", preserve, &bytes, err);
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

static bool add_tree(void)
{
	return mkdir("copy/d/new", 0755) == 0 && mkdir("copy/d/new/deeper", 0755) == 0 &&
	       tree_put("copy/d/new/deeper/file", "x") && tree_put("copy/d-", "x");
}

static bool make_file_a_folder(void)
{
	return unlink("copy/b") == 0 && mkdir("copy/b", 0755) == 0 && tree_put("copy/b/in", "x");
}

static bool make_folder_a_file(void)
{
	return unlink("copy/d/a") == 0 && rmdir("copy/d") == 0 && tree_put("copy/d", "contents");
}

static bool add_socket(void)
{
	return tree_put_socket("copy/socket");
}

static bool put_fifo_in_place(void)
{
	return unlink("copy/b") == 0 && mkfifo("copy/b", 0644) == 0;
}

/* One by one or both lists side by side: the same is found, and said in the same words. */
static void assert_same_words(enum preserve preserve, const struct error *found)
{
	struct error err = { 0 };
	struct manifest copy = { 0 };
	if (manifest_scan(&copy, "copy", NULL, NULL) < 0)
		return; /* what cannot be in a manifest */
	assert_int_equal(manifest_compare(&wanted, &copy, preserve, &err), -1);
	assert_string_equal(found->message, err.message);
	manifest_free(&copy);
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
		{ add_tree, "in 4 places, first: 'd-' is unexpected", false },
		{ make_file_a_folder, "in 2 places, first: 'b' is a folder", false },
		{ make_folder_a_file, "in 2 places, first: 'd' is a file", false },
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
		assert_same_words(PRESERVE_MODE, &err);
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
	struct manifest_found found;
	const struct verify_order order = { .wanted = &wanted, .root = "copy" };
	assert_int_equal(verify_tree(&wanted, "none", PRESERVE_MODE, &bytes, &err), -1);
	assert_int_equal(err.kind, ERROR_SYSTEM);
	assert_int_equal(verify_copy(&order, &found, within(-1), &err), -1);
	assert_int_equal(err.kind, ERROR_TIMEOUT);
	assert_int_equal(cancel_open(&cancel, NULL), 0);
	cancel_request(&cancel);
	const struct io_limit stopped = { .deadline_ns = CLOCK_NEVER, .cancel = &cancel };
	assert_int_equal(verify_copy(&order, &found, &stopped, &err), -1);
	assert_int_equal(err.kind, ERROR_CANCELLED);
	cancel_close(&cancel);
}

/* A manifest may name what is in a folder without the folder. */
static void test_folder_not_named(void **state)
{
	static const struct manifest_entry entry = { .path = "d/a", .size_bytes = 1 };
	struct manifest partial = { 0 };
	struct error err = { 0 };
	uint64_t bytes = 0;
	(void)state;
	assert_int_equal(manifest_add(&partial, &entry, NULL), 0);
	assert_int_equal(manifest_finish(&partial, NULL), 0);
	assert_int_equal(verify_tree(&partial, "copy", PRESERVE_MODE, &bytes, &err), -1);
	assert_string_equal(err.message, "the copy differs in 5 places, first: 'b' is unexpected");
	assert_int_equal(bytes, strlen("contents"));
	manifest_free(&partial);
}

/* No second list of the tree: at a million files it would not fit in an agent's 256 MiB. */
static void test_takes_little_memory(void **state)
{
	(void)state;
	if (UNDER_SANITIZER)
		skip();
	struct manifest many = { 0 };
	struct error err = { 0 };
	uint64_t bytes = 0;
	long before = resident_peak_kib();
	assert_true(tree_put_many("many"));
	assert_int_equal(manifest_list(&many, "many", NULL, NULL), 0);
	long listed = resident_peak_kib();
	/* The digest of nothing is not 0: all files differ, and are all looked at. */
	assert_int_equal(verify_tree(&many, "many", PRESERVE_MODE, &bytes, &err), -1);
	assert_non_null(strstr(err.message, "in " TREE_MANY_TEXT " places"));
	long taken = resident_peak_kib() - listed;
	print_message("the list took %ld KiB, to verify it %ld KiB more\n", listed - before, taken);
	assert_true(listed - before >= TREE_MANY_KIB);
	assert_true(taken < TREE_MANY_KIB / 2);
	manifest_free(&many);
}

#define WITH_TREES(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TREES(test_right),
		WITH_TREES(test_differences),
		WITH_TREES(test_a_copy_that_may_not_be_read),
		WITH_TREES(test_errors),
		WITH_TREES(test_folder_not_named),
		WITH_TREES(test_takes_little_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
