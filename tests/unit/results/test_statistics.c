#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "harness/base/cleanup.h"
#include "results/compare.h"
#include "results/statistics.h"

static void assert_near(double value, double wanted, double within)
{
	if (!(fabs(value - wanted) <= within))
		fail_msg("%.12g is not within %g of %.12g", value, within, wanted);
}

static void test_median(void **state)
{
	(void)state;
	assert_true(isnan(statistics_median(NULL, 0)));
	assert_near(statistics_median((double[]){ 7 }, 1), 7, 0);
	assert_near(statistics_median((double[]){ 9, 1 }, 2), 5, 0);
	assert_near(statistics_median((double[]){ 9, 1, 100 }, 3), 9, 0);
	assert_near(statistics_median((double[]){ 4, 3, 2, 1 }, 4), 2.5, 0);
}

/* Values of R's quantile(c(1, 2, 4, 8, 16), p), type 7. */
static void test_quantile(void **state)
{
	(void)state;
	const double values[] = { 16, 1, 8, 2, 4 };
	assert_near(statistics_quantile(values, 5, 0), 1, 0);
	assert_near(statistics_quantile(values, 5, 0.1), 1.4, 1e-12);
	assert_near(statistics_quantile(values, 5, 0.25), 2, 0);
	assert_near(statistics_quantile(values, 5, 0.9), 12.8, 1e-12);
	assert_near(statistics_quantile(values, 5, 1), 16, 0);
	assert_near(statistics_quantile(values, 5, 7), 16, 0);
}

static void test_range(void **state)
{
	(void)state;
	double low = 0;
	double high = 0;
	statistics_range((double[]){ 3, -1, 2 }, 3, &low, &high);
	assert_near(low, -1, 0);
	assert_near(high, 3, 0);
	statistics_range(NULL, 0, &low, &high);
	assert_true(isnan(low) && isnan(high));
}

/* Ranks and coverage of the sign-test interval of the median, as in published tables. */
static const struct {
	size_t count;
	double low, high, coverage;
} intervals[] = {
	{ 6, 1, 6, 0.96875 },      { 7, 1, 7, 0.984375 },    { 8, 1, 8, 0.9921875 },
	{ 9, 2, 8, 0.9609375 },    { 10, 2, 9, 0.978516 },   { 11, 2, 10, 0.988281 },
	{ 12, 3, 10, 0.961426 },   { 15, 4, 12, 0.964844 },  { 20, 6, 15, 0.958611 },
	{ 25, 8, 18, 0.956715 },   { 30, 10, 21, 0.957226 }, { 50, 18, 33, 0.967161 },
	{ 100, 40, 61, 0.964800 },
};

static void test_median_interval(void **state)
{
	(void)state;
	struct interval interval;
	double values[100];
	for (size_t i = 0; i < 100; i++)
		values[i] = (double)(i + 1);
	for (size_t count = 0; count < STATISTICS_INTERVAL_MIN; count++)
		assert_false(statistics_median_interval(values, count, &interval));
	for (size_t i = 0; i < ARRAY_SIZE(intervals); i++) {
		assert_true(statistics_median_interval(values, intervals[i].count, &interval));
		assert_near(interval.low, intervals[i].low, 0);
		assert_near(interval.high, intervals[i].high, 0);
		assert_near(interval.coverage, intervals[i].coverage, 1e-6);
	}
}

static void test_geometric_mean(void **state)
{
	(void)state;
	assert_near(statistics_geometric_mean((double[]){ 2, 8 }, 2), 4, 1e-12);
	assert_true(isnan(statistics_geometric_mean((double[]){ 2, 0 }, 2)));
	assert_true(isnan(statistics_geometric_mean(NULL, 0)));
}

/* Greatest W with 2 P(W <= w) <= 0.05: the two-sided 5 % column of signed-rank tables. */
static const size_t critical[] = {
	[6] = 0,   [7] = 2,   [8] = 3,   [9] = 5,   [10] = 8,  [11] = 10, [12] = 13, [13] = 17,
	[14] = 21, [15] = 25, [16] = 29, [17] = 34, [18] = 40, [19] = 46, [20] = 52
};

static void test_signed_rank_table(void **state)
{
	(void)state;
	for (size_t n = 6; n < ARRAY_SIZE(critical); n++) {
		assert_true(2 * compare_signed_rank_cdf(n, critical[n]) <= 0.05);
		assert_true(2 * compare_signed_rank_cdf(n, critical[n] + 1) > 0.05);
	}
	assert_near(compare_signed_rank_cdf(6, 21), 1, 1e-12);
	assert_near(compare_signed_rank_cdf(6, 99), 1, 1e-12);
}

/* Depression scores of nine patients before and after: Hollander and Wolfe, table 3.1. Estimate
 * 0.46, 95 % interval 0.010 to 0.786, two-sided p 10/256. */
static void test_hollander_wolfe(void **state)
{
	(void)state;
	const double before[] = { 1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30 };
	const double after[] = { 0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29 };
	double x[9];
	double y[9];
	for (size_t i = 0; i < 9; i++) {
		x[i] = exp(before[i]);
		y[i] = exp(after[i]);
	}
	struct comparison found = compare_pairs(x, y, 9);
	assert_near(found.p, 10.0 / 256, 1e-12);
	assert_near(log(found.ratio), 0.46, 1e-9);
	assert_near(log(found.interval.low), 0.010, 1e-9);
	assert_near(log(found.interval.high), 0.786, 1e-9);
	assert_near(found.interval.coverage, 1 - 10.0 / 256, 1e-12);
}

static void test_few_rounds_give_no_p(void **state)
{
	(void)state;
	const double x[] = { 2, 4, 8, 16, 32 };
	const double y[] = { 1, 1, 1, 1, 1 };
	struct comparison found = compare_pairs(x, y, 5);
	assert_near(found.ratio, 8, 1e-9);
	assert_near(found.interval.low, 2, 1e-9);
	assert_near(found.interval.high, 32, 1e-9);
	assert_true(isnan(found.p));
	assert_false(compare_differs(&found));
	assert_true(isnan(compare_pairs(x, y, 0).ratio));
}

static void test_ties_and_equals(void **state)
{
	(void)state;
	const double x[] = { 2, 2, 2, 2, 2, 2, 2 };
	const double y[] = { 1, 1, 1, 1, 1, 1, 2 };
	/* Six alike differences and one of zero: 2/64 with the zero left out. */
	assert_near(compare_pairs(x, y, 7).p, 2.0 / 64, 1e-12);
	assert_near(compare_pairs(x, x, 7).p, 1, 0);
	assert_near(compare_pairs(x, x, 7).ratio, 1, 1e-12);
	/* Sizes 1 1 2 2 3 3 with one of 1 against: ranks 1.5 1.5 3.5 3.5 5.5 5.5, W = 1.5; sums at
	 * most 1.5 are {} and two single ranks: 3/64 a side. */
	const double up[] = { exp(1), exp(-1), exp(2), exp(2), exp(3), exp(3) };
	const double one[] = { 1, 1, 1, 1, 1, 1 };
	assert_near(compare_pairs(up, one, 6).p, 6.0 / 64, 1e-12);
}

/* R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") is 0.03 0.06 0.06 0.02. */
static void test_holm(void **state)
{
	(void)state;
	const double p[] = { 0.01, 0.04, (double)NAN, 0.03, 0.005 };
	const double wanted[] = { 0.03, 0.06, 0, 0.06, 0.02 };
	struct comparison set[5] = { 0 };
	for (size_t i = 0; i < 5; i++)
		set[i].p = set[i].adjusted_p = p[i];
	compare_adjust(set, 5);
	for (size_t i = 0; i < 5; i++)
		if (i != 2)
			assert_near(set[i].adjusted_p, wanted[i], 1e-12);
	assert_true(isnan(set[2].adjusted_p));
	assert_true(compare_differs(&set[0]));
	assert_false(compare_differs(&set[1]));
	assert_false(compare_differs(&set[2]));
}

static void test_many_rounds(void **state)
{
	(void)state;
	enum { ROUNDS = 300 };
	double x[ROUNDS];
	double y[ROUNDS];
	for (int i = 0; i < ROUNDS; i++) {
		x[i] = 100 + i % 7;
		y[i] = 100 + (i * 3) % 7;
	}
	struct comparison found = compare_pairs(x, y, ROUNDS);
	assert_in_range((int)(found.p * 1000), 100, 1000);
	assert_true(found.interval.low <= 1 && found.interval.high >= 1);
	assert_true(found.interval.coverage >= 0.95);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_median),          cmocka_unit_test(test_quantile),
		cmocka_unit_test(test_range),           cmocka_unit_test(test_median_interval),
		cmocka_unit_test(test_geometric_mean),  cmocka_unit_test(test_signed_rank_table),
		cmocka_unit_test(test_hollander_wolfe), cmocka_unit_test(test_few_rounds_give_no_p),
		cmocka_unit_test(test_ties_and_equals), cmocka_unit_test(test_holm),
		cmocka_unit_test(test_many_rounds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
