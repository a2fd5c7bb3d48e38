/* Manifests in files, and their digests. */
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
		cmocka_unit_test(test_save_and_load),
		cmocka_unit_test(test_save_fails),
		cmocka_unit_test(test_parse_refuses_damage),
		cmocka_unit_test(test_parse_survives_any_byte),
		cmocka_unit_test(test_digest),
		cmocka_unit_test(test_million_entries),
	};
	return cmocka_run_group_tests(tests, tree_folder_make, tree_folder_drop);
}
