#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/api/manifest.h"
#include "harness/base/cleanup.h"

static void put(struct manifest *manifest, const struct manifest_entry *entries, size_t count)
{
	struct error error = { 0 };
	for (size_t i = 0; i < count; i++)
		if (entries[i].path && manifest_add(manifest, &entries[i], &error) < 0)
			fail_msg("%s", error.message);
	if (manifest_finish(manifest, &error) < 0)
		fail_msg("%s", error.message);
}

#define FILE_A .path = "a", .type = MANIFEST_FILE, .size_bytes = 5, .digest = { 1, 2 }
#define LINK_L .path = "l", .type = MANIFEST_LINK

static const struct {
	struct manifest_entry wanted[3], copy[3];
	enum preserve preserve;
	const char *message; /* NULL: alike */
} cases[] = {
	{ { { FILE_A } }, { { FILE_A } }, PRESERVE_ALL, NULL },
	{ { { 0 } }, { { 0 } }, PRESERVE_ALL, NULL },
	{ { { FILE_A } },
	  { { 0 } },
	  PRESERVE_CONTENT,
	  "the copy differs in one place: 'a' is missing" },
	{ { { 0 } },
	  { { FILE_A } },
	  PRESERVE_CONTENT,
	  "the copy differs in one place: 'a' is unexpected" },
	{ { { FILE_A } },
	  { { .path = "a", .type = MANIFEST_FOLDER } },
	  PRESERVE_CONTENT,
	  "the copy differs in one place: 'a' is a folder instead of a file" },
	{ { { LINK_L, .target = "x" } },
	  { { .path = "l", .type = MANIFEST_FILE } },
	  PRESERVE_CONTENT,
	  "the copy differs in one place: 'l' is a file instead of a symbolic link" },
	{ { { FILE_A } },
	  { { .path = "a", .type = MANIFEST_FILE, .size_bytes = 4, .digest = { 1, 2 } } },
	  PRESERVE_CONTENT,
	  "the copy differs in one place: 'a' has 4 bytes instead of 5" },
	{ { { FILE_A } },
	  { { .path = "a", .type = MANIFEST_FILE, .size_bytes = 5, .digest = { 1, 3 } } },
	  PRESERVE_CONTENT,
	  "the copy differs in one place: 'a' has other contents" },
	{ { { FILE_A } },
	  { { .path = "a", .type = MANIFEST_FILE, .size_bytes = 5, .digest = { 0, 2 } } },
	  PRESERVE_CONTENT,
	  "the copy differs in one place: 'a' has other contents" },
	{ { { LINK_L, .target = "x" } },
	  { { LINK_L, .target = "y\x1b[2J" } },
	  PRESERVE_CONTENT,
	  "the copy differs in one place: 'l' points to 'y\\x1b[2J' instead of 'x'" },
	/* What preserve asks for, and only that. */
	{ { { FILE_A, .mode = 0644 } }, { { FILE_A, .mode = 0600 } }, PRESERVE_CONTENT, NULL },
	{ { { FILE_A, .mode = 0644 } },
	  { { FILE_A, .mode = 0600 } },
	  PRESERVE_MODE,
	  "the copy differs in one place: 'a' has mode 0600 instead of 0644" },
	{ { { FILE_A, .mode = 04644 } }, { { FILE_A, .mode = 0644 } }, PRESERVE_ALL, NULL },
	{ { { .path = "d", .type = MANIFEST_FOLDER, .mode = 0755 } },
	  { { .path = "d", .type = MANIFEST_FOLDER, .mode = 0700 } },
	  PRESERVE_MODE,
	  "the copy differs in one place: 'd' has mode 0700 instead of 0755" },
	{ { { FILE_A, .mtime_s = 1 } }, { { FILE_A, .mtime_s = 2 } }, PRESERVE_MODE, NULL },
	{ { { FILE_A, .mtime_s = 1 } },
	  { { FILE_A, .mtime_s = -2 } },
	  PRESERVE_ALL,
	  "the copy differs in one place: 'a' was modified at -2 s instead of 1 s since 1970" },
	{ { { FILE_A, .hole_bytes = 5 } }, { { FILE_A } }, PRESERVE_ALL, NULL },
	/* Counting. */
	{ { { FILE_A },
	    { .path = "b", .type = MANIFEST_FOLDER },
	    { .path = "c", .type = MANIFEST_FOLDER } },
	  { { .path = "b", .type = MANIFEST_FOLDER }, { .path = "d", .type = MANIFEST_FOLDER } },
	  PRESERVE_CONTENT,
	  "the copy differs in 3 places, first: 'a' is missing" },
	{ { { .path = "b", .type = MANIFEST_FOLDER } },
	  { { FILE_A }, { .path = "b", .type = MANIFEST_FILE } },
	  PRESERVE_CONTENT,
	  "the copy differs in 2 places, first: 'a' is unexpected" },
	/* A hostile name does not reach the terminal. */
	{ { { .path = "\x1b[31m\n\xff", .type = MANIFEST_FOLDER } },
	  { { 0 } },
	  PRESERVE_CONTENT,
	  "the copy differs in one place: '\\x1b[31m\\x0a\\xff' is missing" },
};

static void test_compare(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct manifest wanted = { 0 };
		struct manifest copy = { 0 };
		struct error error = { 0 };
		put(&wanted, cases[i].wanted, 3);
		put(&copy, cases[i].copy, 3);
		int result = manifest_compare(&wanted, &copy, cases[i].preserve, &error);
		assert_string_equal(error.message, cases[i].message ? cases[i].message : "");
		assert_int_equal(result, cases[i].message ? -1 : 0);
		assert_int_equal(error.kind, cases[i].message ? ERROR_INTEGRITY : ERROR_NONE);
		manifest_free(&wanted);
		manifest_free(&copy);
	}
}

static void test_long_names_fit(void **state)
{
	(void)state;
	char name[MANIFEST_NAME_MAX + 1];
	char target[MANIFEST_PATH_MAX + 1];
	memset(name, 1, sizeof(name) - 1); /* each becomes four */
	memset(target, 2, sizeof(target) - 1);
	name[sizeof(name) - 1] = target[sizeof(target) - 1] = '\0';
	const struct manifest_entry one = { .path = name, .type = MANIFEST_LINK, .target = target };
	const struct manifest_entry two = { .path = name,
					    .type = MANIFEST_LINK,
					    .target = target + 1 };
	struct manifest wanted = { 0 };
	struct manifest copy = { 0 };
	struct error error = { 0 };
	put(&wanted, &one, 1);
	put(&copy, &two, 1);
	assert_int_equal(manifest_compare(&wanted, &copy, PRESERVE_CONTENT, &error), -1);
	assert_in_range(strlen(error.message), 100, sizeof(error.message) - 2);
	assert_non_null(strstr(error.message, "...' points to '"));
	assert_int_equal(error.message[strlen(error.message) - 1], '\'');
	manifest_free(&wanted);
	manifest_free(&copy);
}

static void test_preserve_names(void **state)
{
	(void)state;
	assert_string_equal(preserve_names[PRESERVE_CONTENT], "content");
	assert_string_equal(preserve_names[PRESERVE_MODE], "mode");
	assert_string_equal(preserve_names[PRESERVE_ALL], "all");
	assert_null(preserve_names[PRESERVE_ALL + 1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compare),
		cmocka_unit_test(test_long_names_fit),
		cmocka_unit_test(test_preserve_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
