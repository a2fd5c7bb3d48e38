/* The sentence under the table. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/cleanup.h"
#include "results/verdict.h"

static void add(struct results *results, const char *name, int64_t round, double goodput_bps)
{
	struct result row;
	result_init(&row);
	text_copy(row.case_name, sizeof(row.case_name), name);
	row.round = round;
	row.status = STATUS_OK;
	row.verified = VERIFIED_YES;
	row.goodput_bps = goodput_bps;
	results_add(results, &row);
}

/* tcp is next to multi; scp is far below, and comes last in the file. */
static void fill(struct results *results, int64_t rounds)
{
	static const double noise[] = { 1, 1.05, 0.96, 1.02, 0.98, 1.03, 0.97, 1.01 };
	for (int64_t round = 1; round <= rounds; round++) {
		add(results, "tcp", round, 9.5e9 * noise[(round + 3) % 8]);
		add(results, "multi", round, 9.7e9 * noise[round % 8]);
		add(results, "scp", round, 0.75e9 * noise[(round + 5) % 8]);
	}
}

static char *words(struct results *results, const char *baseline, bool all_pairs)
{
	AUTO_SUMMARY summary = { 0 };
	struct text out = { 0 };
	summary_make(results, &summary);
	summary_choose_pairs(&summary, baseline, all_pairs);
	verdict_add(&summary, &out);
	return text_take(&out);
}

static void assert_has(const char *text, const char *needle)
{
	if (!strstr(text, needle))
		fail_msg("'%s' is not in:\n%s", needle, text);
}

static void test_sentence(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	fill(&results, 6);
	AUTO_FREE char *winner = words(&results, NULL, false);
	assert_has(winner, "\nmulti is fastest: 9.70 Gbit/s; 1.02x tcp (not told apart: 0.93 to "
			   "1.11), 13x scp (12 to 14)\n");
	AUTO_FREE char *baseline = words(&results, "scp", false);
	assert_has(baseline,
		   "\nagainst scp at 754 Mbit/s: multi 13x (12 to 14), tcp 13x (12 to 14)\n");
	assert_null(strstr(baseline, "fastest"));
	AUTO_FREE char *all = words(&results, NULL, true);
	assert_has(all, "multi is fastest");
	assert_has(all, "\ntcp: 13x scp (12 to 14)\n");
	AUTO_FREE char *lost = words(&results, "gone\x1b", false);
	assert_has(lost, "the baseline gone\\x1b has no rate: the fastest is taken instead\n");
}

static void test_few_rounds_name_nobody(void **state)
{
	(void)state;
	for (int64_t rounds = 1; rounds < 4; rounds++) {
		AUTO_RESULTS results = { 0 };
		fill(&results, rounds);
		AUTO_FREE char *text = words(&results, NULL, false);
		assert_has(text, rounds == 1 ? "\nobserved in 1 round, too few to name a "
					       "difference: multi 10.2 Gbit/s; "
					     : "too few to name a difference: multi ");
		assert_null(strstr(text, "fastest"));
		assert_null(strstr(text, "told apart"));
	}
}

/* scp failed in all rounds but two. */
static void test_rounds_that_are_not_shared(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	fill(&results, 6);
	for (size_t i = 0; i < results.count; i++)
		if (strcmp(results.rows[i].case_name, "scp") == 0 && results.rows[i].round > 2)
			results.rows[i].status = STATUS_FAILED;
	AUTO_FREE char *text = words(&results, NULL, false);
	assert_has(text, "too few rounds in common to name the fastest: multi 9.70 Gbit/s; 1.02x "
			 "tcp (not told apart: ");
	assert_has(text, "x scp (observed; 2 of 6 rounds)\n");
}

static void test_nothing_to_say(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	AUTO_FREE char *none = words(&results, NULL, false);
	assert_string_equal(none, "");
	add(&results, "tcp", 1, 1e9);
	AUTO_FREE char *one = words(&results, NULL, true);
	assert_string_equal(one, "");
}

static void test_claims(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	AUTO_SUMMARY summary = { 0 };
	fill(&results, 8);
	summary_make(&results, &summary);
	assert_int_equal(verdict_claim(&summary), VERDICT_AHEAD);
	summary_choose_pairs(&summary, "scp", false);
	assert_int_equal(verdict_claim(&summary), VERDICT_BASELINE);
	summary_free(&summary);
	for (size_t i = 0; i < results.count; i++)
		if (strcmp(results.rows[i].case_name, "tcp") == 0)
			results.rows[i].goodput_bps /= 2;
	summary_make(&results, &summary);
	assert_int_equal(verdict_claim(&summary), VERDICT_FASTEST);
}

static void test_ratios(void **state)
{
	(void)state;
	static const struct {
		double ratio;
		const char *text;
	} cases[] = { { 1.05, "1.05" }, { 12.6, "13" },      { 9.949, "9.95" },
		      { 9.96, "10" },   { 1234.4, "1234" },  { 0.791, "0.79" },
		      { 0.1, "0.10" },  { 0.0314, "0.031" }, { 0.00312, "0.0031" } };
	static const struct {
		struct interval interval;
		const char *text;
	} intervals[] = {
		{ { 0.79, 1.26, 0 }, "0.79 to 1.26" },  { { 10, 11, 0 }, "10 to 11" },
		{ { 1.004, 1.2, 0 }, "1.004 to 1.20" }, { { 0.5, 0.99996, 0 }, "0.50 to 0.99996" },
		{ { 1, 1, 0 }, "1.00 to 1.00" },
	};
	char text[VERDICT_RATIO_SIZE];
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(verdict_ratio_text(cases[i].ratio, text), cases[i].text);
	for (size_t i = 0; i < ARRAY_SIZE(intervals); i++) {
		AUTO_TEXT out = { 0 };
		verdict_interval_text(&intervals[i].interval, &out);
		assert_string_equal(text_string(&out), intervals[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sentence),
		cmocka_unit_test(test_few_rounds_name_nobody),
		cmocka_unit_test(test_rounds_that_are_not_shared),
		cmocka_unit_test(test_nothing_to_say),
		cmocka_unit_test(test_claims),
		cmocka_unit_test(test_ratios),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
