/* What counts as a run's time and what does not. Machines that run tests are busy: the bounds are
 * loose, but what is asked to take long takes much longer than they are. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/cli/program.h"

#define SMALL "small-files:files=3,size=1KiB"

static void sleep_before_copying_counts(void **state)
{
	struct bench *bench = *state;
	bench_add_tool(bench, "late",
		       "[tool]\nrun = %s sleep 0.5 copy {src} {dst}\n[preserve]\nmode =\n",
		       FAULT_TOOL);
	PROGRAM_STUDY(bench, "-t", "late", "--dataset", SMALL, "--rounds", "1");
	const struct result *row = bench_row(bench, "late", 1);
	ASSERT_ROW(row, STATUS_OK);
	assert_true(row->total_s >= 0.5 && row->total_s < 2);
	/* Rates follow from the time. */
	assert_true(fabs(row->goodput_bps * row->total_s - 8.0 * (double)row->payload_bytes) < 1);
	bench_check_clean(bench);
}

static void sleep_in_prepare_does_not(void **state)
{
	struct bench *bench = *state;
	bench_add_tool(
		bench, "early",
		"[tool]\nprepare = %s sleep 2\nrun = %s copy {src} {dst}\n[preserve]\nmode =\n",
		FAULT_TOOL, FAULT_TOOL);
	PROGRAM_STUDY(bench, "-t", "early", "-t", "null:copy=yes,prepare_s=2", "--dataset", SMALL,
		      "--rounds", "1");
	for (size_t i = 0; i < bench->results.count; i++) {
		ASSERT_ROW(&bench->results.rows[i], STATUS_OK);
		assert_true(bench->results.rows[i].total_s < 1.8);
	}
	assert_int_equal(bench->results.count, 2);
	bench_check_clean(bench);
}

/* The later of both ends is the end. The sink of this module acts as soon as it listens, which is
 * before go: some of its sleep is over by then. */
static void both_ends_count(void **state)
{
	static const char *const cases[] = { "null:copy=yes,connect_s=0.5",
					     "null:copy=yes,send_s=0.5",
					     "null:copy=yes,receive_s=0.5" };
	struct bench *bench = *state;
	PROGRAM_STUDY(bench, "-t", cases[0], "-t", cases[1], "-t", cases[2], "--dataset", SMALL,
		      "--rounds", "1");
	for (size_t i = 0; i < 3; i++) {
		const struct result *row = bench_row(bench, cases[i], 1);
		ASSERT_ROW(row, STATUS_OK);
		if (row->total_s < (i == 2 ? 0.2 : 0.5) || row->total_s > 5)
			fail_msg("%s took %.3f s", cases[i], row->total_s);
	}
	bench_check_clean(bench);
}

/* What a tool leaves running is not waited for. */
static void lingering_does_not_count(void **state)
{
	struct bench *bench = *state;
	bench_add_tool(bench, "lingers",
		       "[tool]\nrun = %s hold 20 copy {src} {dst}\n[preserve]\nmode =\n",
		       FAULT_TOOL);
	PROGRAM_STUDY(bench, "-t", "lingers", "--dataset", SMALL, "--rounds", "1");
	ASSERT_ROW(bench_row(bench, "lingers", 1), STATUS_OK);
	assert_true(bench_row(bench, "lingers", 1)->total_s < 5);
	bench_check_clean(bench);
}

static void setup_and_transfer_add_up(void **state)
{
	struct bench *bench = *state;
	PROGRAM_STUDY(bench, "-t", "tcp", "-t", "multi:streams=3", "--dataset", SMALL, "--rounds",
		      "1", "--set", "study.durability=flush");
	for (size_t i = 0; i < bench->results.count; i++) {
		const struct result *row = &bench->results.rows[i];
		ASSERT_ROW(row, STATUS_OK);
		assert_true(row->setup_s > 0 && row->transfer_s > 0);
		assert_true(fabs(row->setup_s + row->transfer_s - row->total_s) < 1e-6);
	}
	bench_check_clean(bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(sleep_before_copying_counts),
		BENCH_TEST(sleep_in_prepare_does_not),
		BENCH_TEST(both_ends_count),
		BENCH_TEST(lingering_does_not_count),
		BENCH_TEST(setup_and_transfer_add_up),
	};
	cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
