/* What tcp's own options do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "tests/contract/tree_pair.h"
#include "tests/contract/trees.h"
#include "transports/registry.h"

#define MIB (1u << 20)

static struct tree_pair trees;

static int setup(void **state)
{
	(void)state;
	tree_pair_make(&trees, "source");
	tree_folder(trees.source_fd, "a", 0755);
	tree_file(trees.source_fd, "a/large", 3 * MIB + 17);
	tree_file(trees.source_fd, "small", 5);
	tree_pair_scan(&trees);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tree_pair_drop(&trees);
	return 0;
}

static int run(const char *options, struct pair_result *result, struct error *err)
{
	struct pair_spec spec = tree_pair_spec(&trees, "tcp", options);
	spec.seconds = 5;
	assert_int_equal(folder_clear(trees.sink, err), 0);
	return pair_run(&spec, result, err);
}

static void test_memory_by_time(void **state)
{
	(void)state;
	static const char *const options[] = { "memory=yes,time=0.3",
					       "memory=yes,time=0.3,discard=kernel" };
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		struct pair_result result;
		struct error err = { 0 };
		if (run(options[i], &result, &err) < 0)
			fail_msg("%s: %s", options[i], err.message);
		assert_true(result.source.seconds >= 0.3 && result.source.seconds < 5);
		assert_true(result.sink.report.counted_bytes > 0);
		assert_int_equal(result.sink.report.counted_bytes, result.source.progress.bytes);
		assert_true(result.source.report.io_calls > 0);
		assert_true(result.sink.report.io_calls > 0);
	}
}

/* 80 Mbit/s: 4 MiB take at least 0.4 s, less what leaves at once. */
static void test_pacing(void **state)
{
	(void)state;
	struct pair_result result;
	struct error err = { 0 };
	if (run("memory=yes,bytes=4MiB,pacing=80Mbit/s", &result, &err) < 0)
		fail_msg("%s", err.message);
	assert_true(result.total_s > 0.3 && result.total_s < 3);
}

static void test_pinning(void **state)
{
	(void)state;
	struct pair_result result;
	struct error err = { 0 };
	assert_int_equal(run("source_cpu=0,sink_cpu=0", &result, &err), 0);
	assert_int_equal(run("sink_cpu=1023", &result, &err), -1);
	assert_int_equal(result.sink.error.kind, ERROR_UNSUPPORTED);
	assert_int_equal(run("source_cpu=first", &result, &err), -1);
	assert_int_equal(result.source.error.kind, ERROR_CONFIG);
}

/* What has no meaning together is said before anything runs. */
static void test_tcp_options_that_clash(void **state)
{
	(void)state;
	static const char *const clashes[] = { "memory=yes,pretouch=yes",
					       "memory=yes,direct=yes",
					       "memory=yes,receive=splice",
					       "memory=yes,receive=read",
					       "memory=yes,bytes=1B,time=1",
					       "discard=kernel",
					       "time=1",
					       "bytes=1B",
					       "direct=yes,pretouch=yes",
					       "direct=yes,receive=splice",
					       "source_cpu=x",
					       "sink_cpu=1025" };
	const struct transport *tcp = transport_find("tcp");
	for (size_t i = 0; i < ARRAY_SIZE(clashes); i++) {
		struct error err = { 0 };
		AUTO_FREE void *options = calloc(1, tcp->options_size);
		assert_int_equal(option_defaults(tcp->options, options, &err), 0);
		assert_int_equal(tcp->check(tcp, options, PRESERVE_MODE, &err), 0);
		assert_int_equal(option_set_all(tcp->options, options, clashes[i], &err), 0);
		assert_int_equal(tcp->check(tcp, options, PRESERVE_MODE, &err), -1);
		assert_int_equal(err.kind, ERROR_CONFIG);
	}
}

/* Whatever was made before go has its name afterwards, and nothing else is there. */
static void test_pretouch_leaves_the_copy_only(void **state)
{
	(void)state;
	struct pair_result result;
	struct error err = { 0 };
	if (run("pretouch=yes", &result, &err) < 0 ||
	    tree_pair_compare(&trees, PRESERVE_MODE, &err) < 0)
		fail_msg("%s", err.message);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_by_time),
		cmocka_unit_test(test_pacing),
		cmocka_unit_test(test_pinning),
		cmocka_unit_test(test_tcp_options_that_clash),
		cmocka_unit_test(test_pretouch_leaves_the_copy_only),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
