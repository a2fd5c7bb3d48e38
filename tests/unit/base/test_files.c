#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/text.h"

static char *base;

static void test_join(void **state)
{
	(void)state;
	static const char *const cases[][3] = {
		{ "a", "b", "a/b" }, { "a/", "b", "a/b" }, { "/", "b", "/b" }, { "", "b", "/b" }
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *joined = path_join(cases[i][0], cases[i][1]);
		assert_string_equal(joined, cases[i][2]);
	}
}

static void test_write_and_read(void **state)
{
	(void)state;
	static const size_t sizes[] = { 0, 1, 4095, 4096, 4097, 100000 };
	AUTO_FREE char *path = path_join(base, "file");
	static char bytes[100000];
	memset(bytes, 'x', sizeof(bytes));
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		AUTO_FREE char *got = NULL;
		size_t count = 1;
		assert_int_equal(file_write_all(path, bytes, sizes[i], 0600, NULL), 0);
		assert_int_equal(file_read_all(path, sizes[i], &got, &count, NULL), 0);
		assert_int_equal(count, sizes[i]);
		assert_memory_equal(got, bytes, count);
		assert_int_equal(got[count], '\0');
	}
	struct error err = { 0 };
	char *got = NULL;
	assert_int_equal(file_read_all(path, 99999, &got, NULL, &err), -1);
	assert_int_equal(err.kind, ERROR_CONFIG);
	assert_null(got);
	assert_int_equal(file_read_all("/no/such/file", 1, &got, NULL, &err), -1);
	assert_int_equal(err.code, ENOENT);
	assert_int_equal(file_read_all(base, 1, &got, NULL, &err), -1);
	assert_int_equal(err.code, EISDIR);
}

static mode_t mode_of(const char *path)
{
	struct stat status;
	assert_int_equal(lstat(path, &status), 0);
	return status.st_mode & 07777;
}

static void test_mode_of_a_secret(void **state)
{
	(void)state;
	AUTO_FREE char *path = path_join(base, "secret");
	assert_int_equal(file_write_all(path, "a", 1, 0600, NULL), 0);
	assert_int_equal(mode_of(path), 0600);
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(file_write_all(path, "b", 1, 0600, NULL), 0);
	assert_int_equal(mode_of(path), 0600);
	/* What is no file of ours keeps its mode. */
	mode_t before = mode_of("/dev/null");
	assert_int_equal(file_write_all("/dev/null", "b", 1, 0600, NULL), 0);
	assert_int_equal(mode_of("/dev/null"), before);
}

static void test_make_all(void **state)
{
	(void)state;
	static const char *const names[] = { "m/a/b/c", "m/a//d/", "m" };
	struct error err = { 0 };
	struct stat status;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		AUTO_FREE char *path = path_join(base, names[i]);
		assert_int_equal(folder_make_all(path, &err), 0);
		assert_int_equal(stat(path, &status), 0);
		assert_true(S_ISDIR(status.st_mode));
	}
	assert_int_equal(folder_make_all("/", &err), 0);
	AUTO_FREE char *file = path_join(base, "m/file");
	AUTO_FREE char *below = path_join(file, "x");
	assert_int_equal(file_write_all(file, "", 0, 0600, NULL), 0);
	assert_int_equal(folder_make_all(below, &err), -1);
	assert_int_equal(err.code, ENOTDIR);
	assert_int_equal(folder_make_all(file, &err), -1);
	assert_int_equal(err.code, ENOTDIR);
}

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static void test_remove(void **state)
{
	(void)state;
	AUTO_FREE char *top = path_join(base, "r");
	AUTO_FREE char *locked = path_join(top, "locked/in");
	AUTO_FREE char *outside = path_join(base, "outside");
	AUTO_FREE char *kept = path_join(outside, "kept");
	AUTO_FREE char *link = path_join(top, "link");
	AUTO_FREE char *file = path_join(locked, "new\nline\xff");
	struct error err = { 0 };
	bool empty = false;
	assert_int_equal(folder_make_all(locked, &err), 0);
	assert_int_equal(folder_make_all(kept, &err), 0);
	assert_int_equal(symlink(outside, link), 0);
	assert_int_equal(file_write_all(file, "x", 1, 0400, NULL), 0);
	assert_int_equal(chmod(locked, 0), 0);
	assert_int_equal(folder_is_empty(top, &empty, &err), 0);
	assert_false(empty);
	assert_int_equal(folder_clear(top, &err), 0);
	assert_int_equal(folder_is_empty(top, &empty, &err), 0);
	assert_true(empty);
	assert_true(exists(kept)); /* links are not followed */
	assert_int_equal(folder_remove(top, &err), 0);
	assert_false(exists(top));
	assert_int_equal(folder_remove(top, &err), 0);
	assert_int_equal(symlink(outside, top), 0);
	assert_int_equal(folder_remove(top, &err), -1);
	assert_true(exists(kept));
	assert_int_equal(folder_is_empty("/no/such", &empty, &err), -1);
}

static void test_remove_deep(void **state)
{
	(void)state;
	AUTO_TEXT path = { 0 };
	AUTO_FREE char *top = path_join(base, "deep");
	text_add(&path, top);
	for (int i = 0; i < 700; i++)
		text_add(&path, "/d");
	struct error err = { 0 };
	assert_int_equal(folder_make_all(text_string(&path), &err), 0);
	if (folder_remove(top, &err) < 0)
		fail_msg("%s", err.message);
	assert_false(exists(top));
}

static void test_free_bytes(void **state)
{
	(void)state;
	uint64_t bytes = 0;
	struct error err = { 0 };
	assert_int_equal(folder_free_bytes(base, &bytes, &err), 0);
	assert_true(bytes > 0);
	assert_int_equal(folder_free_bytes("/no/such", &bytes, &err), -1);
}

static void test_plain_paths(void **state)
{
	(void)state;
	assert_true(path_is_plain("/a/b-c_d.e@f%g+h=i,j/0"));
	static const char *const odd[] = { "a b", "a\nb", "a:b", "a;b", "$a",  "`a`", "~a",
					   "a'b", "a\"b", "a*",  "a?",  "[a]", "{a}", "a\\b",
					   "a|b", "a&b",  "(a)", "<a>", "#a",  "!a",  "\xc3\xa9" };
	for (size_t i = 0; i < ARRAY_SIZE(odd); i++)
		assert_false(path_is_plain(odd[i]));
}

static int set_up(void **state)
{
	(void)state;
	char name[] = "/tmp/linefill-test-XXXXXX";
	if (!mkdtemp(name))
		return -1;
	base = strdup(name);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	int result = folder_remove(base, NULL);
	free(base);
	return result;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_join),
		cmocka_unit_test(test_write_and_read),
		cmocka_unit_test(test_mode_of_a_secret),
		cmocka_unit_test(test_make_all),
		cmocka_unit_test(test_remove),
		cmocka_unit_test(test_remove_deep),
		cmocka_unit_test(test_free_bytes),
		cmocka_unit_test(test_plain_paths),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
