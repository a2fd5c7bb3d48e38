#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "harness/api/manifest.h"
#include "harness/base/cleanup.h"
#include "tests/unit/api/manifest_sample.h"
#include "tests/unit/resident.h"
#include "tests/unit/tree_folder.h"

static void test_paths_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"",     "/",    "/etc",   "a/",    "a//b", ".",      "..",
		"a/..", "../a", "a/../b", "a/./b", "./a",  "a/b/..",
	};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct manifest manifest = { 0 };
		struct error error = { 0 };
		struct manifest_entry entry = file_at(bad[i]);
		if (manifest_add(&manifest, &entry, &error) == 0)
			fail_msg("'%s' was taken", bad[i]);
		assert_int_equal(error.kind, ERROR_CONFIG);
		assert_int_equal(manifest.count, 0);
		manifest_free(&manifest);
	}
}

static void test_paths_taken(void **state)
{
	(void)state;
	static const char *const good[] = { "a", "...", "..a",      ".a/b", "a..",
					    "-", "\n",  "\xff\xfe", " " };
	struct manifest manifest = { 0 };
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		add(&manifest, file_at(good[i]));
	finish(&manifest);
	assert_int_equal(manifest.files, ARRAY_SIZE(good));
	manifest_free(&manifest);
}

/* Names of 250 bytes, up to length bytes in all. */
static char *long_path(size_t length)
{
	char *path = malloc(length + 1);
	assert_non_null(path);
	for (size_t i = 0; i < length; i++)
		path[i] = i % 251 == 250 && i + 1 < length ? '/' : 'n';
	path[length] = '\0';
	return path;
}

static void test_lengths(void **state)
{
	(void)state;
	struct manifest manifest = { 0 };
	AUTO_FREE char *longest = long_path(MANIFEST_PATH_MAX);
	AUTO_FREE char *longer = long_path(MANIFEST_PATH_MAX + 1);
	char name[MANIFEST_NAME_MAX + 2];
	memset(name, 'n', sizeof(name));
	name[MANIFEST_NAME_MAX + 1] = '\0';
	struct manifest_entry entry = file_at(longer);
	assert_int_equal(manifest_add(&manifest, &entry, NULL), -1);
	entry = file_at(name);
	assert_int_equal(manifest_add(&manifest, &entry, NULL), -1);
	entry = link_at("l", longer);
	assert_int_equal(manifest_add(&manifest, &entry, NULL), -1);
	add(&manifest, file_at(longest));
	add(&manifest, file_at(name + 1));
	add(&manifest, link_at("l", longest));
	manifest_free(&manifest);
}

static void test_entries_refused(void **state)
{
	(void)state;
	struct manifest_entry bad[] = {
		file_at("a"),       file_at("a"),     file_at("a"),
		link_at("a", NULL), link_at("a", ""), file_at("a"),
	};
	bad[0].mode = 010000;
	bad[1].hole_bytes = bad[1].size_bytes + 1;
	bad[2].size_bytes = UINT64_C(1) << 63;
	bad[5].type = (enum manifest_type)3;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct manifest manifest = { 0 };
		struct error error = { 0 };
		assert_int_equal(manifest_add(&manifest, &bad[i], &error), -1);
		assert_int_equal(error.kind, ERROR_CONFIG);
		manifest_free(&manifest);
	}
}

static void test_finish_sorts_and_counts(void **state)
{
	(void)state;
	static const char *const order[] = { "a-link", "b",      "b/x",        "b/y",
					     "m",      "m/deep", "m/deep/one", "z" };
	struct manifest manifest = sample();
	assert_int_equal(manifest.count, ARRAY_SIZE(order));
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		assert_string_equal(manifest.entries[i].path, order[i]);
	assert_int_equal(manifest.files, 3);
	assert_int_equal(manifest.folders, 4);
	assert_int_equal(manifest.links, 1);
	assert_int_equal(manifest.bytes, 300);
	assert_int_equal(manifest.hole_bytes, 30);
	assert_true(manifest.empty_folders);
	assert_false(manifest.odd_names);
	/* More may come later. */
	add(&manifest, file_at("b/y/late"));
	finish(&manifest);
	assert_int_equal(manifest.files, 4);
	assert_false(manifest.empty_folders);
	manifest_free(&manifest);
}

static void test_empty_folders(void **state)
{
	(void)state;
	static const struct {
		const char *names;
		bool empty;
	} cases[] = {
		{ "", false },
		{ "a", false },
		{ "a/", true },
		{ "a/ a/b", false },
		{ "a/ a-b a/c", false }, /* "a-b" sorts between "a" and "a/c" */
		{ "a/ a-b a0", true },
		{ "a/ a-b a.c ab/ ab/x", true },
		{ "a/ a/b/ a/b/c", false },
		{ "a/ a/b/", true },
		{ "a/ a!/ a!/x a/x", false },
		{ "a/ a/l@", false },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct manifest manifest = { 0 };
		add_all(&manifest, cases[i].names);
		finish(&manifest);
		if (manifest.empty_folders != cases[i].empty)
			fail_msg("'%s'", cases[i].names);
		manifest_free(&manifest);
	}
}

static void test_odd_names(void **state)
{
	(void)state;
	static const struct {
		const char *path;
		bool odd;
	} cases[] = {
		{ "plain_1.2+3~x-y", false },
		{ "a-b/c", false },
		{ "-a", true },
		{ "a/-b", true },
		{ "a b", true },
		{ "a\tb", true },
		{ "a\n", true },
		{ "a'b", true },
		{ "a\"b", true },
		{ "a\\b", true },
		{ "a`b", true },
		{ "\xc3\xa4", true },
		{ "\xff", true },
		{ "\x7f", true },
		{ "$(x)", false },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct manifest manifest = { 0 };
		add(&manifest, file_at(cases[i].path));
		finish(&manifest);
		if (manifest.odd_names != cases[i].odd)
			fail_msg("'%s'", cases[i].path);
		manifest_free(&manifest);
	}
}

static void test_finish_refuses(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"a a",             /* twice */
		"a/ a",            /* as folder and file */
		"a b/ c a",        /* twice, apart */
		"a a/b",           /* under a file */
		"a@ a/b",          /* under a link */
		"a a-b a/c",       /* not neighbours */
		"a@ a/b/c/d",      /* the parents between are not listed */
		"a/ a/b@ a/b/c/d", /* a listed folder above a link */
		"a/x b a/x/y",
	};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct manifest manifest = { 0 };
		struct error error = { 0 };
		add_all(&manifest, bad[i]);
		if (manifest_finish(&manifest, &error) == 0)
			fail_msg("'%s' was taken", bad[i]);
		assert_int_equal(error.kind, ERROR_CONFIG);
		manifest_free(&manifest);
	}
	struct manifest manifest = { 0 };
	add_all(&manifest, "not/listed/parents are/fine");
	finish(&manifest);
	manifest_free(&manifest);
}

static void test_size_overflow(void **state)
{
	(void)state;
	struct manifest manifest = { 0 };
	for (const char *name = "abc"; *name; name++) {
		char path[2] = { *name, '\0' };
		struct manifest_entry entry = file_at(path);
		entry.size_bytes = INT64_MAX;
		add(&manifest, entry);
	}
	assert_int_equal(manifest_finish(&manifest, NULL), -1);
	manifest_free(&manifest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths_refused),
		cmocka_unit_test(test_paths_taken),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_entries_refused),
		cmocka_unit_test(test_finish_sorts_and_counts),
		cmocka_unit_test(test_empty_folders),
		cmocka_unit_test(test_odd_names),
		cmocka_unit_test(test_finish_refuses),
		cmocka_unit_test(test_size_overflow),
	};
	return cmocka_run_group_tests(tests, tree_folder_make, tree_folder_drop);
}
