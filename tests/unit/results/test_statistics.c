#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "harness/base/cleanup.h"
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

/* Upper points of Student's t as printed tables have them, to three decimals. */
static const struct {
	double tail, freedom, t;
} points[] = {
	{ 0.05, 1, 6.314 },     { 0.05, 10, 1.812 },   { 0.025, 1, 12.706 },  { 0.025, 2, 4.303 },
	{ 0.025, 3, 3.182 },    { 0.025, 4, 2.776 },   { 0.025, 5, 2.571 },   { 0.025, 9, 2.262 },
	{ 0.025, 10, 2.228 },   { 0.025, 11, 2.201 },  { 0.025, 30, 2.042 },  { 0.025, 120, 1.980 },
	{ 0.005, 1, 63.657 },   { 0.005, 3, 5.841 },   { 0.005, 9, 3.250 },   { 0.005, 30, 2.750 },
	{ 0.0005, 1, 636.619 }, { 0.0005, 3, 12.924 }, { 0.0005, 10, 4.587 }, { 0.0005, 30, 3.646 },
	{ 0.5, 7, 0 },
};

static void test_t_quantile(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(points); i++)
		assert_near(statistics_t_quantile(points[i].tail, points[i].freedom), points[i].t,
			    0.0006);
	/* One and two degrees have closed forms; with many it is the normal distribution. */
	for (double tail = 0.3; tail > 1e-9; tail /= 7) {
		double one = 1 / tan(M_PI * tail);
		double two = (1 - 2 * tail) / sqrt(2 * tail * (1 - tail));
		assert_near(statistics_t_quantile(tail, 1) / one, 1, 1e-9);
		assert_near(statistics_t_quantile(tail, 2) / two, 1, 1e-9);
	}
	assert_near(statistics_t_quantile(0.025, 1e7), 1.959964, 1e-5);
	assert_true(isnan(statistics_t_quantile(0, 3)));
	assert_true(isnan(statistics_t_quantile(0.6, 3)));
	assert_true(isnan(statistics_t_quantile(0.025, 0)));
}

static void test_mean_variance(void **state)
{
	(void)state;
	double mean = 0;
	double variance = 0;
	statistics_mean_variance((double[]){ 2, 4, 4, 4, 5, 5, 7, 9 }, 8, &mean, &variance);
	assert_near(mean, 5, 1e-12);
	assert_near(variance, 32.0 / 7, 1e-12);
	statistics_mean_variance((double[]){ 3 }, 1, &mean, &variance);
	assert_near(mean, 3, 0);
	assert_true(isnan(variance));
	statistics_mean_variance(NULL, 0, &mean, &variance);
	assert_true(isnan(mean) && isnan(variance));
}

static void test_far(void **state)
{
	(void)state;
	static const struct {
		size_t count;
		double values[8], least;
		unsigned far; /* bits */
	} cases[] = {
		/* Deviations 0 1 1 2 2 3 and one: their median 2, so far is more than 14.8. */
		{ 7, { 10, 11, 9, 12, 8, 13, 25 }, 0, 0 },
		{ 7, { 10, 11, 9, 12, 8, 13, 26 }, 0, 0x40 },
		{ 7, { 10, 11, 9, 12, 8, 13, -5 }, 0, 0x40 },
		{ 7, { 10, 11, 9, 12, 8, 13, 26 }, 16, 0 },
		/* All alike but one. */
		{ 5, { 1, 1, 1, 1, 1.2 }, 0.1, 0x10 },
		{ 5, { 1, 1, 1, 1, 1.05 }, 0.1, 0 },
		/* Too few. */
		{ 4, { 1, 1, 1, 100 }, 0, 0 },
		{ 0, { 0 }, 0, 0 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool far[8] = { false };
		size_t found =
			statistics_mark_far(cases[i].values, cases[i].count, cases[i].least, far);
		size_t wanted = 0;
		for (size_t j = 0; j < cases[i].count; j++) {
			assert_int_equal(far[j], cases[i].far >> j & 1);
			wanted += cases[i].far >> j & 1;
		}
		assert_int_equal(found, wanted);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_median),     cmocka_unit_test(test_quantile),
		cmocka_unit_test(test_range),      cmocka_unit_test(test_median_interval),
		cmocka_unit_test(test_t_quantile), cmocka_unit_test(test_mean_variance),
		cmocka_unit_test(test_far),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
