/* multi and multi-reverse: every combination of options copies every tree; lines that break, spoil
 * and end, copies that are resumed, limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "tests/contract/tree_pair.h"
#include "tests/contract/trees.h"
#include "tests/unit/resident.h"
#include "tests/unit/transports/proxy.h"
#include "transports/multi/multi.h"
#include "transports/registry.h"

#define MIB      (1u << 20)
#define PROMPT_S 15
/* Bytes on the wire that are no contents. */
#define OVERHEAD (256u << 10)

static const char *const both[] = { "multi", "multi-reverse" };

static struct tree_pair trees;

static int setup(void **state)
{
	(void)state;
	tree_pair_make(&trees, "source");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tree_pair_drop(&trees);
	return 0;
}

/* Text that shrinks well, and a hole. */
static void put_shrinking(const char *path, size_t lines)
{
	AUTO_FD fd = openat(trees.source_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 3 * MIB), 0);
	assert_true(lseek(fd, 3 * MIB, SEEK_SET) > 0);
	for (size_t i = 0; i < lines; i++)
		assert_true(dprintf(fd, "line %zu of a file that shrinks, shrinks, shrinks\n", i) >
			    0);
}

static void make_mixed(void)
{
	char path[64];
	tree_file(trees.source_fd, "large", 23 * MIB + 17);
	tree_file(trees.source_fd, "larger", 40 * MIB);
	tree_file(trees.source_fd, "empty", 0);
	tree_folder(trees.source_fd, "folder", 0755);
	tree_folder(trees.source_fd, "shut", 0755);
	tree_file(trees.source_fd, "shut/file", 5000);
	tree_link(trees.source_fd, "link", "folder/file-7");
	for (unsigned i = 0; i < 600; i++) {
		snprintf(path, sizeof(path), "folder/file-%u", i);
		tree_file(trees.source_fd, path, i * 37 % 9001);
	}
	/* More than a proxy's piece of records that are no files. */
	for (unsigned i = 0; i < 600; i++) {
		snprintf(path, sizeof(path), "folder/folder-with-a-long-name-%u", i);
		tree_folder(trees.source_fd, path, 0755);
	}
	put_shrinking("shrinks", 100000);
	assert_int_equal(fchmodat(trees.source_fd, "shut", 0500, 0), 0);
	tree_pair_scan(&trees);
}

static int run(const char *name, const char *options, struct proxy *proxy,
	       struct pair_result *result, struct error *err)
{
	struct pair_spec spec = tree_pair_spec(&trees, name, options);
	spec.when_known = proxy ? proxy_enter : NULL;
	spec.context = proxy;
	*err = (struct error){ 0 };
	return pair_run(&spec, result, err);
}

static void clear(const char *root)
{
	struct error err = { 0 };
	if (folder_clear(root, &err) < 0)
		fail_msg("%s", err.message);
}

/* The copy is right, and both ends have counted every byte and file once. */
static void check(const char *name, const char *options, const struct pair_result *result)
{
	struct error err = { 0 };
	if (tree_pair_compare(&trees, PRESERVE_MODE, &err) < 0)
		fail_msg("%s:%s: %s", name, options, err.message);
	if (result->sink.progress.bytes != trees.files.bytes ||
	    result->source.progress.bytes != trees.files.bytes ||
	    result->sink.progress.files != trees.files.files ||
	    result->source.progress.files != trees.files.files)
		fail_msg("%s:%s: counted %llu, %llu of %llu bytes, %llu, %llu of %llu files", name,
			 options, (unsigned long long)result->source.progress.bytes,
			 (unsigned long long)result->sink.progress.bytes,
			 (unsigned long long)trees.files.bytes,
			 (unsigned long long)result->source.progress.files,
			 (unsigned long long)result->sink.progress.files,
			 (unsigned long long)trees.files.files);
}

static void copy(const char *name, const char *options, struct proxy *proxy)
{
	struct pair_result result;
	struct error err;
	if (run(name, options, proxy, &result, &err) < 0)
		fail_msg("%s:%s: source '%s', sink '%s'", name, options,
			 result.source.error.message, result.sink.error.message);
	check(name, options, &result);
}

/* Every combination of checksum, compress and resume, and some numbers of streams. */
static void for_all_options(void (*act)(const char *name, const char *options))
{
	static const unsigned streams[] = { 1, 4, 16 };
	for (unsigned i = 0; i < 8; i++) {
		char options[128];
		snprintf(options, sizeof(options),
			 "streams=%u,block=1MiB,checksum=%s,compress=%s,resume=%s", streams[i % 3],
			 i & 1 ? "xxh3" : "none", i & 2 ? "1" : "no", i & 4 ? "yes" : "no");
		act(both[(i ^ i >> 1) & 1], options);
	}
}

static void copy_fresh(const char *name, const char *options)
{
	clear(trees.sink);
	copy(name, options, NULL);
}

static void test_options(void **state)
{
	(void)state;
	make_mixed();
	for_all_options(copy_fresh);
	copy_fresh("multi-reverse", "");
	copy_fresh("multi", "compress=9,block=16MiB");
}

static void test_trees(void **state)
{
	(void)state;
	for (const struct tree_case *tree = tree_cases; tree->name; tree++) {
		clear(trees.source);
		tree->make(trees.source_fd);
		tree_pair_scan(&trees);
		for_all_options(copy_fresh);
	}
}

/* Connections that are cut at any point of the protocol are replaced, and nothing is lost or
 * counted twice. */
static void test_cut(void **state)
{
	static const struct proxy plans[] = {

		{ .cut_after = 1, .cuts = 2 },           { .cut_after = 40, .cuts = 2 },
		{ .cut_after = 20000, .cuts = 3 },       { .cut_after = 300000, .cuts = 4 },
		{ .cut_after = 5 * MIB, .cuts = 3 },     { .cut_after = 9 * MIB, .cuts = 6 },
		{ .cut_after = 3 * MIB / 2, .cuts = 7 },
	};
	static const char *const options[] = { "block=1MiB", "checksum=xxh3",
					       "compress=1,block=1MiB", "resume=yes,streams=3",
					       "streams=1" };
	(void)state;
	make_mixed();
	for (size_t i = 0; i < 2 * ARRAY_SIZE(plans); i++) {
		const struct proxy *plan = &plans[i / 2];
		struct proxy *proxy = proxy_start(plan);
		clear(trees.sink);
		copy(both[(i ^ i >> 1) & 1], options[i % ARRAY_SIZE(options)], proxy);
		assert_true(atomic_load(&proxy->cuts) < plan->cuts);
		proxy_stop(proxy);
	}
}

/* A line that never holds, and one that ends for good: both ends fail soon, no file is short. */
static void test_cut_for_good(void **state)
{
	static const struct proxy plans[] = {
		{ .cut_after = 100000, .cuts = 100000 },
		{ .cut_after = 5 * MIB, .cuts = 1, .dies = true },
	};
	(void)state;
	make_mixed();
	for (size_t i = 0; i < 2 * ARRAY_SIZE(plans); i++) {
		struct pair_result result;
		struct error err;
		struct proxy *proxy = proxy_start(&plans[i / 2]);
		clear(trees.sink);
		assert_int_equal(run(both[i % 2], "block=1MiB", proxy, &result, &err), -1);
		proxy_stop(proxy);
		assert_int_equal(result.source.wait_status | result.sink.wait_status, 0);
		assert_int_equal(result.source.error.kind, ERROR_PEER);
		assert_int_equal(result.sink.error.kind, ERROR_PEER);
		assert_true(result.total_s < PROMPT_S);
	}
}

/* Bytes that change on their way are found by the checksum and sent again; without it they are not
 * (this is what the test would see if it did not look). */
static void test_damage(void **state)
{
	const struct proxy plan = { .flip_at = 300000, .flips = 3, .flip_from = 1 };
	(void)state;
	tree_file(trees.source_fd, "large", 60 * MIB);
	put_shrinking("shrinks", 300000);
	tree_pair_scan(&trees);
	for (int i = 0; i < 5; i++) {
		static const char *const options[] = { "checksum=xxh3", "checksum=xxh3,compress=1",
						       "checksum=xxh3,block=1MiB,streams=8",
						       "checksum=xxh3,resume=yes", "" };
		struct pair_result result;
		struct error err;
		struct proxy *proxy = proxy_start(&plan);
		clear(trees.sink);
		if (run(both[i % 2], options[i], proxy, &result, &err) < 0)
			fail_msg("%s: %s", options[i], err.message);
		assert_true(atomic_load(&proxy->flips) < plan.flips);
		proxy_stop(proxy);
		if (options[i][0])
			check(both[i % 2], options[i], &result);
		else
			assert_int_equal(tree_pair_compare(&trees, PRESERVE_MODE, &err), -1);
	}
}

/* What the first run left when the line went is not sent again, but checked. */
static void test_resume(void **state)
{
	const struct proxy dying = { .cut_after = 8 * MIB, .cuts = 1, .dies = true };
	const struct proxy faithful = { .cuts = 0 };
	(void)state;
	make_mixed();
	for (int i = 0; i < 2; i++) {
		struct pair_result result;
		struct error err;
		struct proxy *proxy = proxy_start(&dying);
		clear(trees.sink);
		assert_int_equal(run(both[i], "block=1MiB", proxy, &result, &err), -1);
		uint64_t first = result.sink.progress.bytes;
		proxy_stop(proxy);
		assert_true(first > 8 * MIB && first < trees.files.bytes - 8 * MIB);
		proxy = proxy_start(&faithful);
		copy(both[i], "block=1MiB,resume=yes", proxy);
		uint64_t travelled = atomic_load(&proxy->bytes);
		proxy_stop(proxy);
		if (travelled > trees.files.bytes - first + OVERHEAD)
			fail_msg("%llu bytes travelled, %llu of %llu were there",
				 (unsigned long long)travelled, (unsigned long long)first,
				 (unsigned long long)trees.files.bytes);
		proxy = proxy_start(&faithful);
		copy(both[i], "block=1MiB,resume=yes", proxy);
		assert_true(atomic_load(&proxy->bytes) < OVERHEAD);
		proxy_stop(proxy);
	}
}

static void spoil(const char *path, off_t at)
{
	AUTO_FD fd = openat(trees.sink_fd, path, O_WRONLY);
	assert_int_equal(pwrite(fd, "spoilt", 6, at), 6);
}

/* Whatever lies in the way of a resumed copy: the copy is right and nothing else is touched. */
static void test_resume_over_other_things(void **state)
{
	(void)state;
	make_mixed();
	copy_fresh("multi", "");
	spoil("large", 5 * MIB);
	spoil("larger", 40 * MIB + 5);
	spoil("folder/file-100", 3);
	spoil("shrinks", 100);
	assert_int_equal(unlinkat(trees.sink_fd, "folder/file-7", 0), 0);
	tree_link(trees.sink_fd, "folder/file-7", "../../bystander");
	assert_int_equal(unlinkat(trees.sink_fd, "folder/file-8", 0), 0);
	AUTO_FD outside = tree_open(trees.base);
	tree_file(outside, "bystander", 9 * 37);
	assert_int_equal(linkat(outside, "bystander", trees.sink_fd, "folder/file-8", 0), 0);
	assert_int_equal(unlinkat(trees.sink_fd, "link", 0), 0);
	tree_link(trees.sink_fd, "link", "/etc/passwd");
	AUTO_FREE char *empty = path_join(trees.sink, "empty");
	assert_int_equal(truncate(empty, 77), 0);
	copy("multi", "resume=yes", NULL);
	struct stat status;
	assert_int_equal(fstatat(outside, "bystander", &status, 0), 0);
	assert_int_equal(status.st_size, 9 * 37);
	assert_int_equal(status.st_nlink, 1);
}

/* A link instead of a file that is split, and a file with a second name elsewhere, are refused. */
static void test_resume_refuses(void **state)
{
	struct pair_result result;
	struct error err;
	struct stat status;
	(void)state;
	make_mixed();
	AUTO_FD outside = tree_open(trees.base);
	tree_file(outside, "bystander", 1000);
	for (int i = 0; i < 2; i++) {
		clear(trees.sink);
		if (i == 0)
			tree_link(trees.sink_fd, "large", "../bystander");
		else
			assert_int_equal(linkat(outside, "bystander", trees.sink_fd, "large", 0),
					 0);
		assert_int_equal(run("multi", "resume=yes", NULL, &result, &err), -1);
		assert_int_equal(fstatat(outside, "bystander", &status, 0), 0);
		assert_int_equal(status.st_size, 1000);
	}
}

/* What shrinks travels shrunk, what does not costs nothing. */
static void test_compress(void **state)
{
	const struct proxy faithful = { .cuts = 0 };
	(void)state;
	put_shrinking("shrinks", 300000);
	tree_pair_scan(&trees);
	struct proxy *proxy = proxy_start(&faithful);
	clear(trees.sink);
	copy("multi", "compress=6", proxy);
	assert_true(atomic_load(&proxy->bytes) < (trees.files.bytes - 3 * MIB) / 4);
	proxy_stop(proxy);
	clear(trees.source);
	tree_file(trees.source_fd, "random", 20 * MIB);
	tree_pair_scan(&trees);
	proxy = proxy_start(&faithful);
	clear(trees.sink);
	copy("multi", "compress=6", proxy);
	assert_true(atomic_load(&proxy->bytes) < trees.files.bytes + OVERHEAD);
	proxy_stop(proxy);
}

static void test_rate(void **state)
{
	(void)state;
	tree_file(trees.source_fd, "large", 10 * MIB);
	tree_pair_scan(&trees);
	for (int i = 0; i < 2; i++) {
		struct pair_result result;
		struct error err;
		clear(trees.sink);
		if (run(both[i], "rate=80Mbit/s,streams=4", NULL, &result, &err) < 0)
			fail_msg("%s", err.message);
		double expected = (double)trees.files.bytes * 8 / 80e6;
		assert_true(result.source.seconds > 0.9 * expected);
		assert_true(result.source.seconds < 3 * expected);
	}
	struct pair_result result;
	struct error err;
	assert_int_equal(run("multi", "memory=yes,rate=80Mbit/s", NULL, &result, &err), 0);
	assert_true(result.source.report.io_calls >= trees.files.bytes / MULTI_BUFFER_BYTES);
	assert_true(result.sink.report.io_calls > 0);
	assert_true(result.source.seconds > 0.9 * (double)trees.files.bytes * 8 / 80e6);
}

/* The largest number of streams with all that takes memory: the bound of multi.c. */
static void test_memory_bound(void **state)
{
	struct rusage usage;
	(void)state;
	if (UNDER_SANITIZER)
		skip();
	tree_file(trees.source_fd, "large", 300 * MIB);
	tree_pair_scan(&trees);
	clear(trees.sink);
	copy("multi", "streams=64,compress=1,checksum=xxh3,resume=yes", NULL);
	assert_int_equal(getrusage(RUSAGE_CHILDREN, &usage), 0);
	if (usage.ru_maxrss > 224 << 10)
		fail_msg("%ld KiB were resident", usage.ru_maxrss);
}

static void test_refused_options(void **state)
{
	static const struct {
		struct multi_options options;
		int result;
	} cases[] = {
		{ { .memory = true }, 0 },
		{ { .memory = true, .checksum = 1 }, -1 },
		{ { .memory = true, .compress = 1 }, -1 },
		{ { .memory = true, .resume = true }, -1 },
		{ { .memory = true, .receive = 1 }, -1 },
		{ { .memory = true, .bytes = 1 }, 0 },
		{ { .bytes = 1 }, -1 },
		{ { .checksum = 1, .compress = 9, .resume = true }, 0 },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = { 0 };
		assert_int_equal(multi_check_options(transport_find("multi"), &cases[i].options,
						     PRESERVE_MODE, &err),
				 cases[i].result);
		assert_int_equal(err.kind, cases[i].result ? ERROR_CONFIG : ERROR_NONE);
	}
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_options),      TEST(test_trees),
		TEST(test_cut),          TEST(test_cut_for_good),
		TEST(test_damage),       TEST(test_resume),
		TEST(test_compress),     TEST(test_resume_over_other_things),
		TEST(test_rate),         TEST(test_resume_refuses),
		TEST(test_memory_bound), TEST(test_refused_options),
	};
	cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
	return cmocka_run_group_tests_name("multi", tests, NULL, NULL);
}
