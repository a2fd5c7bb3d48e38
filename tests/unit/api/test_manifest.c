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
#include "tests/unit/resident.h"
#include "tests/unit/tree_folder.h"

static struct manifest_entry file_at(const char *path)
{
	return (struct manifest_entry){
		.path = path,
		.type = MANIFEST_FILE,
		.mode = 0644,
		.size_bytes = 100,
		.hole_bytes = 10,
		.mtime_s = -7,
		.digest = { .low = 1, .high = UINT64_C(0xfedcba9876543210) },
	};
}

static struct manifest_entry folder_at(const char *path)
{
	return (struct manifest_entry){ .path = path, .type = MANIFEST_FOLDER, .mode = 0755 };
}

static struct manifest_entry link_at(const char *path, const char *target)
{
	return (struct manifest_entry){ .path = path, .type = MANIFEST_LINK, .target = target };
}

static void add(struct manifest *manifest, struct manifest_entry entry)
{
	struct error error = { 0 };
	if (manifest_add(manifest, &entry, &error) < 0)
		fail_msg("%s", error.message);
}

static void finish(struct manifest *manifest)
{
	struct error error = { 0 };
	if (manifest_finish(manifest, &error) < 0)
		fail_msg("%s", error.message);
}

/* "dir/", "link@" or "file", separated by blanks. */
static void add_all(struct manifest *manifest, const char *names)
{
	AUTO_FREE char *copy = strdup(names);
	char *rest = copy;
	for (char *name; (name = strsep(&rest, " "));) {
		size_t length = strlen(name);
		char last = length ? name[length - 1] : '\0';
		if (last == '/' || last == '@')
			name[length - 1] = '\0';
		if (length > 0)
			add(manifest, last == '/'   ? folder_at(name)
				      : last == '@' ? link_at(name, "somewhere")
						    : file_at(name));
	}
}

static struct manifest sample(void)
{
	struct manifest manifest = { 0 };
	add_all(&manifest, "z b/ b/x b/y/ a-link@ m/ m/deep/ m/deep/one");
	finish(&manifest);
	return manifest;
}

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

static void test_save_and_load(void **state)
{
	(void)state;
	struct manifest saved = sample();
	struct manifest loaded = { 0 };
	struct error error = { 0 };
	saved.root_mode = S_IFDIR | 0751;
	for (size_t i = 0; i < saved.count; i++)
		saved.entries[i].linked = saved.entries[i].type == MANIFEST_FILE && i % 2;
	if (manifest_save(&saved, "m", &error) < 0 || manifest_load(&loaded, "m", &error) < 0)
		fail_msg("%s", error.message);
	assert_int_equal(loaded.count, saved.count);
	for (size_t i = 0; i < saved.count; i++) {
		const struct manifest_entry *a = &saved.entries[i];
		const struct manifest_entry *b = &loaded.entries[i];
		assert_string_equal(a->path, b->path);
		assert_int_equal(a->type, b->type);
		assert_int_equal(a->mode, b->mode);
		assert_int_equal(a->linked, b->linked);
		assert_int_equal(a->size_bytes, b->size_bytes);
		assert_int_equal(a->hole_bytes, b->hole_bytes);
		assert_true(a->mtime_s == b->mtime_s);
		assert_memory_equal(&a->digest, &b->digest, sizeof(a->digest));
		assert_int_equal(!a->target, !b->target);
		if (a->target)
			assert_string_equal(a->target, b->target);
	}
	assert_int_equal(loaded.bytes, saved.bytes);
	assert_int_equal(loaded.root_mode, saved.root_mode);
	assert_true(loaded.empty_folders);
	manifest_free(&saved);
	manifest_free(&loaded);
	assert_int_equal(manifest_load(&loaded, "not there", &error), -1);
	assert_int_equal(error.kind, ERROR_SYSTEM);
	assert_int_equal(manifest_save(&saved, "no folder/m", &error), -1);
}

/* A limit on file sizes stands in for a full disk. */
static void test_save_fails(void **state)
{
	(void)state;
	struct rlimit old;
	struct manifest manifest = sample();
	struct manifest loaded = { 0 };
	struct error error = { 0 };
	assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	const struct rlimit few = { .rlim_cur = 40, .rlim_max = old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
	int result = manifest_save(&manifest, "short", &error);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(result, -1);
	assert_int_equal(error.code, EFBIG);
	assert_int_equal(manifest_load(&loaded, "short", &error), -1);
	assert_int_equal(error.kind, ERROR_CONFIG);
	manifest_free(&manifest);
}

static void read_sample(char **bytes, size_t *count)
{
	struct manifest manifest = sample();
	struct error error = { 0 };
	if (manifest_save(&manifest, "m", &error) < 0 ||
	    file_read_all("m", 1 << 20, bytes, count, &error) < 0)
		fail_msg("%s", error.message);
	manifest_free(&manifest);
}

static void test_parse_refuses_damage(void **state)
{
	(void)state;
	AUTO_FREE char *bytes = NULL;
	size_t count;
	struct manifest manifest = { 0 };
	struct error error = { 0 };
	read_sample(&bytes, &count);
	assert_int_equal(manifest_parse(&manifest, bytes, count, &error), 0);
	manifest_free(&manifest);
	for (size_t cut = 0; cut < count; cut++) {
		/* A copy of just that length lets the sanitizer see a read past its end. */
		AUTO_FREE char *part = malloc(cut + 1);
		memcpy(part, bytes, cut);
		assert_int_equal(manifest_parse(&manifest, part, cut, &error), -1);
		assert_int_equal(error.kind, ERROR_CONFIG);
		assert_null(manifest.entries);
	}
	assert_int_equal(manifest_parse(&manifest, bytes, count + 1, &error), -1);
	static const size_t header[] = {
		0, 7, 8, 11, 12, 16, 23
	}; /* magic, version, root's mode, count */
	for (size_t i = 0; i < ARRAY_SIZE(header); i++) {
		bytes[header[i]] ^= 0x40;
		assert_int_equal(manifest_parse(&manifest, bytes, count, &error), -1);
		bytes[header[i]] ^= 0x40;
	}
}

static void test_parse_survives_any_byte(void **state)
{
	(void)state;
	AUTO_FREE char *bytes = NULL;
	size_t count;
	read_sample(&bytes, &count);
	for (size_t at = 0; at < count; at++) {
		char old = bytes[at];
		for (int value = 0; value < 256; value += 5) {
			struct manifest manifest = { 0 };
			bytes[at] = (char)value;
			if (manifest_parse(&manifest, bytes, count, NULL) == 0)
				manifest_free(&manifest);
		}
		bytes[at] = old;
	}
}

static void digest_of(const char *names, void (*change)(struct manifest *),
		      char text[MANIFEST_DIGEST_SIZE])
{
	struct manifest manifest = { 0 };
	add_all(&manifest, names);
	finish(&manifest);
	if (change)
		change(&manifest);
	manifest_digest_text(&manifest, text);
	manifest_free(&manifest);
}

static void change_time(struct manifest *manifest)
{
	manifest->entries[0].mtime_s++;
	manifest->entries[0].hole_bytes++;
}

static void change_mode(struct manifest *manifest)
{
	manifest->entries[0].mode ^= 1;
}

static void change_size(struct manifest *manifest)
{
	manifest->entries[0].size_bytes ^= 1;
}

static void change_contents(struct manifest *manifest)
{
	manifest->entries[0].digest.high ^= 1;
}

static void change_target(struct manifest *manifest)
{
	manifest->entries[1].target = "elsewhere";
}

static void test_digest(void **state)
{
	(void)state;
	char base[MANIFEST_DIGEST_SIZE];
	char other[MANIFEST_DIGEST_SIZE];
	digest_of("a b@ c/", NULL, base);
	assert_string_equal(base, "9435f9d243582f7a5369b882b6a259d3");
	digest_of("c/ b@ a", NULL, other);
	assert_string_equal(base, other);
	digest_of("a b@ c/", change_time, other);
	assert_string_equal(base, other);
	static void (*const changes[])(struct manifest *) = {
		change_mode,
		change_size,
		change_contents,
		change_target,
	};
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		digest_of("a b@ c/", changes[i], other);
		assert_string_not_equal(base, other);
	}
	digest_of("a b@ c", NULL, other);
	assert_string_not_equal(base, other);
}

/* Bytes per entry as the system sees them, for paths of 60 bytes. */
static void test_million_entries(void **state)
{
	(void)state;
#if UNDER_SANITIZER
	print_message("memory is not measured under a sanitizer\n");
	skip();
#else
	struct manifest manifest = { 0 };
	long before = 0;
	long after = 0;
	FILE *statm = fopen("/proc/self/statm", "re");
	assert_non_null(statm);
	assert_int_equal(fscanf(statm, "%*d %ld", &before), 1);
	char path[80];
	for (unsigned i = 0; i < 1000000; i++) {
		unsigned mixed = (unsigned)((uint64_t)i * 7919 % 1000000);
		snprintf(path, sizeof(path),
			 "folder-number-%04u/some-further-folder/file-number-%06u.data",
			 mixed / 1000, mixed);
		add(&manifest, file_at(path));
	}
	finish(&manifest);
	statm = freopen("/proc/self/statm", "re", statm);
	assert_non_null(statm);
	assert_int_equal(fscanf(statm, "%*d %ld", &after), 1);
	fclose(statm);
	long mib = (after - before) * sysconf(_SC_PAGESIZE) / (1024 * 1024);
	print_message("1,000,000 entries take %ld MiB\n", mib);
	assert_in_range(mib, 60, 140);
	manifest_free(&manifest);
#endif
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
		cmocka_unit_test(test_save_and_load),
		cmocka_unit_test(test_save_fails),
		cmocka_unit_test(test_parse_refuses_damage),
		cmocka_unit_test(test_parse_survives_any_byte),
		cmocka_unit_test(test_digest),
		cmocka_unit_test(test_million_entries),
	};
	return cmocka_run_group_tests(tests, tree_folder_make, tree_folder_drop);
}
