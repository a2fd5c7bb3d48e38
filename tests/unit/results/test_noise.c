#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "harness/base/cleanup.h"
#include "results/noise.h"

static void add(struct results *results, const char *name, const char *scope, const double pcts[4])
{
	struct result row;
	result_init(&row);
	text_copy(row.case_name, sizeof(row.case_name), name);
	text_copy(row.cpu_scope, sizeof(row.cpu_scope), scope);
	row.round = (int64_t)results->count + 1;
	row.status = STATUS_OK;
	row.verified = VERIFIED_YES;
	row.payload_bytes = 1 << 20;
	row.total_s = 1;
	row.goodput_bps = 8 << 20;
	row.cpu_source_other_pct = pcts[0];
	row.cpu_sink_other_pct = pcts[1];
	row.cpu_source_steal_pct = pcts[2];
	row.cpu_sink_steal_pct = pcts[3];
	results_add(results, &row);
}

#define ONE_HOST "rusage,shared-kernel"

static void test_lines(void **state)
{
	(void)state;
	static const struct {
		const char *scope;
		double rounds[3][4];
		const char *lines;
	} cases[] = {
		{ ONE_HOST, { { 0, 0, 0, 0 }, { 10, 10, 10, 10 }, { NAN, NAN, NAN, NAN } }, "" },
		{ ONE_HOST,
		  { { 47.2, 47, 0, 0 }, { 9, 9, 0, 0 }, { 12, 12, 0, 0 } },
		  "in 2 of 3 runs of my\\x1bcase other processes used up to 47 % of the CPUs: its "
		  "rates may be too low\n" },
		{ "rusage",
		  { { 5, 60, 0, 0 }, { 5, 70, 30, 0 }, { 5, 5, 0, 0 } },
		  "in 2 of 3 runs of my\\x1bcase other processes used up to 70 % of the CPUs at the "
		  "sink: its rates may be too low\n"
		  "in 1 of 3 runs of my\\x1bcase the hypervisor kept back up to 30 % of the CPUs at "
		  "the source: its rates may be too low\n" },
		{ "rusage",
		  { { 20, 5, 0, 0 }, { 5, 30, 0, 0 }, { NAN, 5, 0, 0 } },
		  "in 2 of 3 runs of my\\x1bcase other processes used up to 30 % of the CPUs at both "
		  "ends: its rates may be too low\n" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_RESULTS results = { 0 };
		AUTO_SUMMARY summary = { 0 };
		AUTO_TEXT lines = { 0 };
		for (size_t round = 0; round < 3; round++)
			add(&results, "my\033case", cases[i].scope, cases[i].rounds[round]);
		summary_make(&results, &summary);
		noise_lines(&summary, &lines);
		assert_string_equal(text_string(&lines), cases[i].lines);
	}
}

/* A run that failed gives no rate that could be wrong. */
static void test_failed_runs_do_not_count(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	AUTO_SUMMARY summary = { 0 };
	AUTO_TEXT lines = { 0 };
	add(&results, "one", ONE_HOST, (const double[]){ 90, 90, 0, 0 });
	add(&results, "one", ONE_HOST, (const double[]){ 1, 1, 0, 0 });
	results.rows[0].status = STATUS_FAILED;
	summary_make(&results, &summary);
	noise_lines(&summary, &lines);
	assert_string_equal(text_string(&lines), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_failed_runs_do_not_count),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
