/* What only local does: the contract tests copy all trees. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static void test_blocks(void **state)
{
	static const char *const options[] = { NULL, "block=4KiB", "block=64MiB" };
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		struct pair_spec spec = tree_pair_spec(&trees, "local", options[i]);
		struct pair_result result;
		struct error err = { 0 };
		spec.preserve = PRESERVE_ALL;
		assert_int_equal(folder_clear(trees.sink, &err), 0);
		if (pair_run(&spec, &result, &err) < 0 ||
		    tree_pair_compare(&trees, PRESERVE_ALL, &err) < 0)
			fail_msg("%s: %s", options[i] ? options[i] : "", err.message);
		assert_int_equal(result.sink.progress.bytes, trees.files.bytes);
		assert_int_equal(result.source.progress.bytes, 0);
	}
}

/* The sink is on another machine, or may not look. */
static void test_needs_one_machine(void **state)
{
	(void)state;
	AUTO_FREE char *elsewhere = path_join(trees.base, "elsewhere");
	struct pair_spec spec = tree_pair_spec(&trees, "local", NULL);
	struct pair_result result;
	struct error err = { 0 };
	bool empty = false;
	spec.source_root = elsewhere;
	assert_int_equal(folder_clear(trees.sink, &err), 0);
	assert_int_equal(pair_run(&spec, &result, &err), -1);
	assert_int_equal(result.sink.error.kind, ERROR_UNSUPPORTED);
	assert_non_null(strstr(result.sink.error.message, elsewhere));
	assert_int_equal(folder_is_empty(trees.sink, &empty, &err), 0);
	assert_true(empty);
}

/* A bound for the others, which waits for go like them. */
static void test_is_a_ceiling(void **state)
{
	(void)state;
	const struct transport *local = transport_find("local");
	assert_non_null(local);
	assert_true(local->caps & CAP_CEILING);
	assert_false(transport_moves_memory(local, NULL));
	assert_int_equal(local->driver, XFER_SINK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_blocks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_needs_one_machine, setup, teardown),
		cmocka_unit_test(test_is_a_ceiling),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
