#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "results/grid.h"
#include "results/summary.h"
#include "tests/unit/results/summary_rows.h"

static void test_cases_and_ranks(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		enum case_kind kind;
		size_t rank, runs, counted;
	} wanted[] = {
		{ "slow", CASE_RANKED, 3, 3, 3 },    { "fast", CASE_RANKED, 1, 3, 3 },
		{ "memory", CASE_CEILING, 0, 3, 3 }, { "shaky", CASE_RANKED, 2, 3, 2 },
		{ "broken", CASE_NO_RATE, 0, 3, 0 }, { "links", CASE_NO_RATE, 0, 1, 0 },
	};
	AUTO_RESULTS results = { 0 };
	AUTO_SUMMARY summary = { 0 };
	fill(&results);
	summary_make(&results, &summary);
	assert_int_equal(summary.count, ARRAY_SIZE(wanted));
	assert_int_equal(summary.ranked_size, 3);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		const struct summary_case *one = &summary.cases[i];
		assert_string_equal(one->row->case_name, wanted[i].name);
		assert_int_equal(one->kind, wanted[i].kind);
		assert_int_equal(one->rank, wanted[i].rank);
		assert_int_equal(one->runs, wanted[i].runs);
		assert_int_equal(one->counted_size, wanted[i].counted);
	}
	assert_string_equal(find(&summary, "broken")->first_of[STATUS_FAILED]->error, "first");
	assert_int_equal(summary_failed_runs(find(&summary, "shaky"), STATUS_TIMEOUT), 1);
}

static void test_medians(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	AUTO_SUMMARY summary = { 0 };
	fill(&results);
	results.rows[1].setup_s = 0.25; /* known in one run of "fast" only */
	summary_make(&results, &summary);
	const struct summary_case *fast = find(&summary, "fast");
	assert_near(fast->median.goodput_bps, 9.2e9);
	assert_near(fast->median.setup_s, 0.25);
	assert_near(fast->median.cpu_source_s_per_gib, 0.5);
	assert_near(fast->median.cpu_sink_s_per_gib, 1.5);
	assert_near(fast->median.cpu_sink_host_pct, 80);
	assert_true(isnan(find(&summary, "slow")->median.setup_s));
	assert_true(isnan(find(&summary, "broken")->median.goodput_bps));
	assert_true(isnan(fast->median.sd_sink_us_per_kib));
}

static void test_spread(void **state)
{
	(void)state;
	for (int64_t runs = 1; runs <= 9; runs++) {
		AUTO_RESULTS results = { 0 };
		AUTO_SUMMARY summary = { 0 };
		for (int64_t round = 1; round <= runs; round++)
			add_ok(&results, "x", round, 1e9 * (double)round);
		summary_make(&results, &summary);
		const struct summary_case *one = &summary.cases[0];
		assert_int_equal(one->spread, runs < 6 ? SPREAD_RANGE : SPREAD_INTERVAL);
		/* From 9 runs the outermost no longer belong to the interval. */
		assert_near(one->goodput_low_bps, runs < 9 ? 1e9 : 2e9);
		assert_near(one->goodput_high_bps, 1e9 * (double)(runs < 9 ? runs : 8));
	}
}

/* Rows that must not give a rate, whatever else they hold. */
static void test_what_does_not_count(void **state)
{
	(void)state;
	struct result row = ok_row("x", 1, 1e9);
	assert_true(summary_row_counts(&row));
	row.verified = VERIFIED_NO;
	assert_false(summary_row_counts(&row));
	row = ok_row("x", 1, (double)NAN);
	assert_false(summary_row_counts(&row));
	row = ok_row("x", 1, 0);
	assert_false(summary_row_counts(&row));
	for (int status = STATUS_OK + 1; status < STATUS_COUNT; status++) {
		row = ok_row("x", 1, 1e9);
		row.status = status;
		assert_false(summary_row_counts(&row));
	}
}

/* It copies on one machine: no rival for what uses the line. */
static void test_ceiling_is_never_ranked(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	AUTO_SUMMARY summary = { 0 };
	AUTO_TEXT table = { 0 };
	add_ok(&results, "copies", 1, 9e9);
	results.rows[0].ceiling = 1;
	add_ok(&results, "tcp", 1, 1e9);
	summary_make(&results, &summary);
	assert_int_equal(summary.cases[0].kind, CASE_CEILING);
	assert_int_equal(summary.cases[0].rank, 0);
	assert_int_equal(summary.cases[1].rank, 1);
	assert_int_equal(summary.ranked_size, 1);
	summary_table(&summary, &table);
	assert_has(text_string(&table), "\n-  copies");
}

/* Nothing went wrong where there was nothing to move. */
static void test_ok_without_a_rate(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	AUTO_SUMMARY summary = { 0 };
	AUTO_TEXT table = { 0 };
	add_ok(&results, "empty", 1, 1e9);
	results.rows[0].goodput_bps = NAN;
	summary_make(&results, &summary);
	summary_table(&summary, &table);
	assert_string_equal(text_string(&table), "No run gave a rate.\n\nOk, but without a rate:\n"
						 "  empty: no bytes to rate\n");
}

static void test_one_counted_run_makes_a_ceiling(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	AUTO_SUMMARY summary = { 0 };
	add_ok(&results, "x", 1, 1e9);
	add_ok(&results, "x", 2, 1e9);
	results.rows[1].verified = VERIFIED_COUNT;
	summary_make(&results, &summary);
	assert_int_equal(summary.cases[0].kind, CASE_CEILING);
	assert_int_equal(summary.ranked_size, 0);
}

static void test_compare_by_round(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	AUTO_SUMMARY summary = { 0 };
	for (int64_t round = 1; round <= 7; round++) {
		add_ok(&results, "a", round, 2e9 * (double)round);
		if (round != 7)
			add_ok(&results, "b", round, 1e9 * (double)round);
	}
	/* Round 1 was repeated: the later run stands. */
	add_ok(&results, "b", 1, 1e9);
	results.rows[1].goodput_bps = 5e9;
	summary_make(&results, &summary);
	struct comparison found = summary_pair(&summary, &summary.cases[0], &summary.cases[1]);
	assert_int_equal(found.rounds, 6);
	assert_near(found.ratio, 2);
	assert_int_equal(compare_verdict(&found), COMPARE_DIFFERS);
	found = summary_pair(&summary, &summary.cases[1], &summary.cases[0]);
	assert_near(found.ratio, 0.5);
	assert_ptr_equal(summary_reference(&summary), &summary.cases[0]);
}

/* Rows that do not say their round cannot be paired. */
static void test_no_round_no_pair(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	AUTO_SUMMARY summary = { 0 };
	for (int i = 0; i < 6; i++) {
		add_ok(&results, "a", RESULT_UNKNOWN_COUNT, 2e9);
		add_ok(&results, "b", RESULT_UNKNOWN_COUNT, 1e9);
	}
	summary_make(&results, &summary);
	struct comparison found = summary_pair(&summary, &summary.cases[0], &summary.cases[1]);
	assert_int_equal(found.rounds, 0);
	assert_int_equal(summary.cases[0].rank, 1);
}

/* Rates of 8 rounds: a 10, b about 9.9 (not told apart), c 1; memory is a ceiling. */
static void fill_duels(struct results *results)
{
	for (int64_t round = 1; round <= 8; round++) {
		add_ok(results, "c", round, 1e9 * (1 + 0.01 * (double)(round % 3)));
		add_ok(results, "b", round, 9.9e9 * (1 + 0.03 * ((double)(round % 4) - 1.5)));
		add_ok(results, "a", round, 1e10);
		add_ok(results, "memory", round, 2e10);
		results->rows[results->count - 1].verified = VERIFIED_COUNT;
	}
}

static void test_duels(void **state)
{
	(void)state;
	static const struct {
		const char *baseline;
		bool all;
		const char *lost, *shown; /* x by y */
	} cases[] = {
		{ NULL, false, NULL, "a/b a/c " },
		{ NULL, true, NULL, "a/b a/c b/c " },
		{ "c", false, NULL, "a/c b/c " },
		{ "c", true, NULL, "a/b a/c b/c " },
		{ "memory", false, NULL, "a/memory b/memory c/memory " },
		{ "gone", false, "gone", "a/b a/c " },
	};
	AUTO_RESULTS results = { 0 };
	AUTO_SUMMARY summary = { 0 };
	fill_duels(&results);
	summary_make(&results, &summary);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_TEXT shown = { 0 };
		struct summary_duel duel;
		summary_choose_pairs(&summary, cases[i].baseline, cases[i].all);
		for (size_t at = 0; summary_next_duel(&summary, &at, &duel);)
			text_addf(&shown, "%s/%s ", summary_label(duel.x), summary_label(duel.y));
		assert_string_equal(text_string(&shown), cases[i].shown);
		assert_int_equal(summary.baseline_lost != NULL, cases[i].lost != NULL);
		assert_int_equal(summary.ranked_size, 3);
	}
}

static void test_far_runs(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	AUTO_SUMMARY summary = { 0 };
	AUTO_TEXT table = { 0 };
	for (int64_t round = 1; round <= 8; round++)
		add_ok(&results, "x", round, 1e9 * (1 + 0.01 * (double)(round % 3)));
	results.rows[3].goodput_bps = 0.5e9;
	summary_make(&results, &summary);
	assert_int_equal(summary.cases[0].far_size, 1);
	assert_true(summary.cases[0].far[3]);
	/* It is never dropped. */
	assert_int_equal(summary.cases[0].counted_size, 8);
	assert_near(summary.cases[0].goodput_low_bps, 0.5e9);
	summary_table(&summary, &table);
	assert_has(text_string(&table),
		   "x, round 4: 500 Mbit/s, far from the median 1.01 Gbit/s; it counts\n");
}

static void test_coverage_is_the_real_one(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	AUTO_TEXT table = { 0 };
	for (int64_t round = 1; round <= 8; round++)
		add_ok(&results, "eight", round, 2e9 + (double)round);
	AUTO_SUMMARY summary = { 0 };
	summary_make(&results, &summary);
	summary_table(&summary, &table);
	assert_has(text_string(&table), "99.2 % interval");
	for (int64_t round = 1; round <= 6; round++)
		add_ok(&results, "six", round, 1e9 + (double)round);
	for (int64_t round = 1; round <= 3; round++)
		add_ok(&results, "three", round, 1e9 + (double)round);
	AUTO_SUMMARY mixed = { 0 };
	text_free(&table);
	summary_make(&results, &mixed);
	summary_table(&mixed, &table);
	assert_has(text_string(&table), "or 96.9 to 99.2 % interval");
	assert_near(find(&mixed, "six")->coverage, 1 - 2.0 / 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases_and_ranks),
		cmocka_unit_test(test_medians),
		cmocka_unit_test(test_spread),
		cmocka_unit_test(test_what_does_not_count),
		cmocka_unit_test(test_ceiling_is_never_ranked),
		cmocka_unit_test(test_ok_without_a_rate),
		cmocka_unit_test(test_one_counted_run_makes_a_ceiling),
		cmocka_unit_test(test_compare_by_round),
		cmocka_unit_test(test_no_round_no_pair),
		cmocka_unit_test(test_duels),
		cmocka_unit_test(test_far_runs),
		cmocka_unit_test(test_coverage_is_the_real_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
