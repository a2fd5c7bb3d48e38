#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "datasets/registry.h"
#include "datasets/tree.h"
#include "harness/base/clock.h"
#include "tests/unit/tree_folder.h"

/* Recipe and seed make the same tree on any machine: these change only with a reason to. */
static const struct {
	const char *name, *options;
	uint64_t seed;
	const char *digest;
} golden[] = {
	{ "single", "bytes=100001", 1, "f7f76b5122954d67eba09601bc70235d" },
	{ "single", "bytes=100001,compressible=50", 1, "3c90cc84621eaf1481613202db55f88b" },
	{ "single", "bytes=100001", 2, "2744ac5a6e0e1ec2d1bd1c503dc733ab" },
	{ "single", "bytes=100001,compressible=50", 2, "e76d190cf1c789a7600c2d93f9bcbf4b" },
	{ "small-files", "files=205,size=1000B", 1, "ca62ff485f0e220bde4683b2b1891e69" },
	{ "small-files", "files=205,size=1000B,compressible=50", 1,
	  "8adae9180a2f982bc9b4ff941d29eda4" },
	{ "small-files", "files=205,size=1000B", 2, "b6bdc03a2e67e2b96b0d6dd88fc7d90d" },
	{ "small-files", "files=205,size=1000B,compressible=50", 2,
	  "ad4f57598910b2b26c89c212ca8bf3d4" },
	{ "linux-repo", "bytes=20MB,files=101", 1, "5fe8d71632fdf0d8349afdd05583a7b3" },
	{ "linux-repo", "bytes=20MB,files=101,compressible=50", 1,
	  "95f891d86c131ba30b434ed55cc49320" },
	{ "linux-repo", "bytes=20MB,files=101", 2, "183662de3dc5eb3efc452111c3d71714" },
	{ "linux-repo", "bytes=20MB,files=101,compressible=50", 2,
	  "4b17e0a0530ee51d3350d6038d003052" },
	{ "lognormal", "files=150,median=8KiB,sigma=1.5", 1, "8b1def959caa78123d804275ac8ed9bd" },
	{ "lognormal", "files=150,bytes=1MB,compressible=50", 1,
	  "c0df81132375030cd90b63b641fcddcc" },
	{ "lognormal", "files=150,median=8KiB,sigma=1.5", 2, "9b4bfe28e50f65567d86f0df01870e28" },
	{ "lognormal", "files=150,bytes=1MB,compressible=50", 2,
	  "be11bbf0de319c3cd8e1990c68440190" },
};

/* Parsed options of that dataset; the caller frees them. */
static void *parse(const struct dataset *dataset, const char *string)
{
	struct error error = { 0 };
	void *options = calloc(1, dataset->options_size);
	assert_non_null(options);
	if (option_defaults(dataset->options, options, &error) < 0 ||
	    option_set_all(dataset->options, options, string, &error) < 0)
		fail_msg("%s", error.message);
	return options;
}

static void make(const char *name, const char *string, uint64_t seed, struct manifest *manifest)
{
	const struct dataset *dataset = dataset_find(name);
	assert_non_null(dataset);
	AUTO_FREE void *options = parse(dataset, string);
	struct error error = { 0 };
	const struct dataset_job job = {
		.options = options,
		.seed = seed,
		.root = tree_folder,
		.manifest = manifest,
		.deadline_ns = CLOCK_NEVER,
	};
	if (dataset->make(&job, &error) < 0)
		fail_msg("%s", error.message);
	struct dataset_estimate estimate;
	if (dataset->plan(options, &estimate, &error) < 0)
		fail_msg("%s", error.message);
	assert_int_equal(estimate.files, manifest->files);
	assert_int_equal(estimate.bytes, manifest->bytes);
}

/* What lies there is what the manifest says, modes and times included. */
static void check_tree(const struct manifest *manifest)
{
	struct manifest found = { 0 };
	struct error error = { 0 };
	if (manifest_scan(&found, tree_folder, NULL, &error) < 0 ||
	    manifest_compare(manifest, &found, PRESERVE_ALL, &error) < 0)
		fail_msg("%s", error.message);
	manifest_free(&found);
}

static void test_registry(void **state)
{
	(void)state;
	static const char *const names[] = { "single", "small-files", "linux-repo", "lognormal",
					     "directory" };
	size_t count = 0;
	for (const struct dataset *const *dataset = dataset_all(); *dataset; dataset++) {
		struct error error = { 0 };
		AUTO_FREE void *options = calloc(1, (*dataset)->options_size);
		assert_int_equal(option_defaults((*dataset)->options, options, &error), 0);
		assert_non_null((*dataset)->summary);
		assert_non_null((*dataset)->plan);
		assert_non_null((*dataset)->make);
		assert_ptr_equal(dataset_find((*dataset)->name), *dataset);
		count++;
	}
	assert_int_equal(count, ARRAY_SIZE(names));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_non_null(dataset_find(names[i]));
	assert_null(dataset_find("single "));
}

static void test_golden(void **state)
{
	(void)state;
	bool same = true;
	for (size_t i = 0; i < ARRAY_SIZE(golden); i++) {
		struct manifest manifest = { 0 };
		char digest[MANIFEST_DIGEST_SIZE];
		mode_t old = umask(i % 2 ? 0777 : 0);
		make(golden[i].name, golden[i].options, golden[i].seed, &manifest);
		umask(old);
		check_tree(&manifest);
		manifest_digest_text(&manifest, digest);
		if (strcmp(digest, golden[i].digest) != 0) {
			print_error("%s:%s, seed %d: %s\n", golden[i].name, golden[i].options,
				    (int)golden[i].seed, digest);
			same = false;
		}
		assert_false(manifest.odd_names);
		assert_false(manifest.empty_folders);
		manifest_free(&manifest);
		assert_int_equal(folder_clear(tree_folder, NULL), 0);
	}
	assert_true(same);
}

static void write_with(unsigned threads, const uint64_t *sizes, size_t count,
		       char digest[MANIFEST_DIGEST_SIZE])
{
	struct manifest manifest = { 0 };
	struct error error = { 0 };
	const struct dataset_job job = {
		.seed = 9,
		.root = tree_folder,
		.manifest = &manifest,
		.deadline_ns = CLOCK_NEVER,
	};
	if (tree_add_numbered(&manifest, sizes, count, 3, &error) < 0 ||
	    tree_write_threads(&job, 20, threads, &error) < 0)
		fail_msg("%s", error.message);
	check_tree(&manifest);
	manifest_digest_text(&manifest, digest);
	manifest_free(&manifest);
	assert_int_equal(folder_clear(tree_folder, NULL), 0);
}

/* From 4 MiB on, all threads make one file together. */
static void test_threads_do_not_matter(void **state)
{
	(void)state;
	static const uint64_t sizes[] = { 10 << 20,      0,    1,      (4 << 20) - 1, 4 << 20,
					  (4 << 20) + 1, 5000, 7777777 };
	static const unsigned threads[] = { 2, 3, 16, 0 };
	char first[MANIFEST_DIGEST_SIZE];
	write_with(1, sizes, ARRAY_SIZE(sizes), first);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		char other[MANIFEST_DIGEST_SIZE];
		write_with(threads[i], sizes, ARRAY_SIZE(sizes), other);
		assert_string_equal(first, other);
	}
}

static void test_pool_layout(void **state)
{
	(void)state;
	struct manifest manifest = { 0 };
	uint64_t most = 0;
	uint64_t here = 0;
	make("linux-repo", "bytes=4MB,files=900", 3, &manifest);
	for (size_t i = 0; i < manifest.count; i++) {
		const struct manifest_entry *entry = &manifest.entries[i];
		assert_int_equal(strncmp(entry->path, "pool/main", entry->path[4] ? 9 : 4), 0);
		here = entry->type == MANIFEST_FILE ? here + 1 : 0;
		most = here > most ? here : most;
	}
	assert_int_equal(manifest.files, 900);
	assert_int_equal(manifest.bytes, 4000000);
	assert_in_range(manifest.folders, 200, 400);
	assert_int_equal(most, 6);
	manifest_free(&manifest);
}

static void test_empty_recipes(void **state)
{
	(void)state;
	struct manifest manifest = { 0 };
	make("small-files", "files=0", 1, &manifest);
	assert_int_equal(manifest.count, 0);
	manifest_free(&manifest);
	make("single", "bytes=0", 1, &manifest);
	assert_int_equal(manifest.files, 1);
	check_tree(&manifest);
	manifest_free(&manifest);
}

static void test_refused_plans(void **state)
{
	(void)state;
	static const struct {
		const char *name, *options, *words;
	} cases[] = {
		{ "linux-repo", "bytes=100B,files=101", "files = 101 is more than bytes = 100" },
		{ "linux-repo", "bytes=500TB", "more than 10 million files" },
		{ "lognormal", "bytes=10B,files=11", "files = 11 is more than bytes = 10" },
		{ "lognormal", "median=1TB,sigma=5,files=1000", "more than 10^15 bytes" },
		{ "small-files", "files=10000000,size=1GiB", "more than 10^15 bytes" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct dataset *dataset = dataset_find(cases[i].name);
		AUTO_FREE void *options = parse(dataset, cases[i].options);
		struct dataset_estimate estimate;
		struct error error = { 0 };
		struct manifest manifest = { 0 };
		const struct dataset_job job = { .options = options,
						 .root = tree_folder,
						 .manifest = &manifest };
		assert_int_equal(dataset->plan(options, &estimate, &error), -1);
		assert_int_equal(error.kind, ERROR_CONFIG);
		if (!strstr(error.message, cases[i].words))
			fail_msg("%s", error.message);
		assert_int_equal(dataset->make(&job, &error), -1);
		assert_int_equal(error.kind, ERROR_CONFIG);
		manifest_free(&manifest);
	}
}

static void test_refused_options(void **state)
{
	(void)state;
	static const char *const cases[] = { "compressible=91", "compressible=-1", "compressible=x",
					     "bytes=2PB",       "byte=1B",         "bytes=" };
	const struct dataset *dataset = dataset_find("single");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE void *options = parse(dataset, "");
		struct error error = { 0 };
		if (option_set_all(dataset->options, options, cases[i], &error) == 0)
			fail_msg("'%s' was taken", cases[i]);
		assert_int_equal(error.kind, ERROR_CONFIG);
	}
}

static int make_single(const struct dataset_job *base, const char *string, struct error *err)
{
	const struct dataset *dataset = dataset_find("single");
	AUTO_FREE void *options = parse(dataset, string);
	struct manifest manifest = { 0 };
	struct dataset_job job = *base;
	job.options = options;
	job.root = tree_folder;
	job.manifest = &manifest;
	int result = dataset->make(&job, err);
	manifest_free(&manifest);
	return result;
}

static void test_no_room(void **state)
{
	(void)state;
	const struct dataset_job job = { .deadline_ns = CLOCK_NEVER };
	struct error error = { 0 };
	assert_int_equal(make_single(&job, "bytes=900TB", &error), -1);
	assert_int_equal(error.kind, ERROR_SYSTEM);
	assert_int_equal(error.code, ENOSPC);
	assert_non_null(strstr(error.message, "has only"));
}

static void test_stops(void **state)
{
	(void)state;
	struct cancel cancel = { .fd = -1 };
	struct dataset_job job = { .cancel = &cancel, .deadline_ns = CLOCK_NEVER };
	struct error error = { 0 };
	cancel_request(&cancel);
	assert_int_equal(make_single(&job, "bytes=32MiB", &error), -1);
	assert_int_equal(error.kind, ERROR_CANCELLED);
	job = (struct dataset_job){ .deadline_ns = clock_now_ns() };
	assert_int_equal(make_single(&job, "bytes=32MiB", &error), -1);
	assert_int_equal(error.kind, ERROR_TIMEOUT);
}

/* A write that fails half-way wakes the threads that wait for their turn. */
static void test_write_fails(void **state)
{
	(void)state;
	struct rlimit old;
	const struct dataset_job job = { .deadline_ns = CLOCK_NEVER };
	struct error error = { 0 };
	assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	const struct rlimit few = { .rlim_cur = 5 << 20, .rlim_max = old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
	int result = make_single(&job, "bytes=32MiB", &error);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(result, -1);
	assert_int_equal(error.code, EFBIG);
	assert_non_null(strstr(error.message, "write data"));
}

#define TREE_TEST(test) cmocka_unit_test_setup_teardown(test, tree_folder_make, tree_folder_drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(test_registry),
		TREE_TEST(test_golden),
		TREE_TEST(test_threads_do_not_matter),
		TREE_TEST(test_pool_layout),
		TREE_TEST(test_empty_recipes),
		TREE_TEST(test_refused_plans),
		TREE_TEST(test_refused_options),
		TREE_TEST(test_no_room),
		TREE_TEST(test_stops),
		TREE_TEST(test_write_fails),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
