/* Two cases, paired by round, and all of them in an order. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/cleanup.h"
#include "results/contest.h"

#define ROUNDS 16

static void assert_near(double value, double wanted, double within)
{
	if (!(fabs(value - wanted) <= within))
		fail_msg("%.12g is not within %g of %.12g", value, within, wanted);
}

/* R: t.test(log(x / y)) of these has mean 0.1, sd 0.0816497, and the 95 % interval with 3 degrees
 * 0.1 -+ 3.182446 * 0.0816497 / 2. */
static const double four_x[] = { 1, 2, 4, 8 };
static double four_y[4];

static void make_four(void)
{
	static const double logs[] = { 0, 0.1, 0.1, 0.2 };
	for (size_t i = 0; i < 4; i++)
		four_y[i] = four_x[i] / exp(logs[i]);
}

static void test_pair(void **state)
{
	(void)state;
	make_four();
	struct comparison pair = compare_pairs(four_x, four_y, 4);
	assert_int_equal(pair.rounds, 4);
	assert_near(log(pair.ratio), 0.1, 1e-12);
	assert_near(sqrt(pair.variance), 0.0816497, 1e-6);
	assert_int_equal(compare_verdict(&pair), COMPARE_OBSERVED);
	compare_settle(&pair, 0, compare_reach(4, 1));
	assert_near(log(pair.interval.low), 0.1 - 3.182446 * 0.0816497 / 2, 1e-6);
	assert_near(log(pair.interval.high), 0.1 + 3.182446 * 0.0816497 / 2, 1e-6);
	assert_int_equal(compare_verdict(&pair), COMPARE_NOT_TOLD_APART);
	/* Its own variance is the larger one: nothing changes; a larger mean widens it. */
	struct comparison wider = pair;
	compare_settle(&wider, 0.001, compare_reach(4, 1));
	assert_near(wider.interval.low, pair.interval.low, 1e-12);
	compare_settle(&wider, 0.04, compare_reach(4, 1));
	assert_near(log(wider.interval.high), 0.1 + 3.182446 * 0.2 / 2, 1e-6);
	/* Bonferroni over 15: t exceeded with 0.05 / 30 at 3 degrees is 8.5752. */
	compare_settle(&wider, 0.04, compare_reach(4, 15));
	assert_near(log(wider.interval.high), 0.1 + 8.5752 * 0.2 / 2, 2e-4);
	struct comparison other = compare_inverse(&pair);
	assert_near(other.interval.low * pair.interval.high, 1, 1e-12);
	assert_near(other.ratio * pair.ratio, 1, 1e-12);
}

static void test_few_rounds(void **state)
{
	(void)state;
	make_four();
	for (size_t rounds = 0; rounds < COMPARE_ROUNDS_MIN; rounds++) {
		struct comparison pair = compare_pairs(four_x, four_y, rounds);
		assert_false(compare_tested(&pair));
		assert_int_equal(compare_verdict(&pair), COMPARE_OBSERVED);
		assert_int_equal(isnan(pair.ratio), rounds == 0);
		assert_int_equal(isnan(pair.variance), rounds < 2);
	}
}

/* The interval is exactly what the verdict follows from. */
static void test_verdict_is_the_interval(void **state)
{
	(void)state;
	static const struct {
		double low, high;
		enum compare_verdict verdict;
	} cases[] = {
		{ 0.9, 1.1, COMPARE_NOT_TOLD_APART }, { 1, 1.1, COMPARE_NOT_TOLD_APART },
		{ 0.9, 1, COMPARE_NOT_TOLD_APART },   { 1.0001, 2, COMPARE_DIFFERS },
		{ 0.5, 0.9999, COMPARE_DIFFERS },     { 1, 1, COMPARE_NOT_TOLD_APART },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct comparison pair = { .interval = { cases[i].low, cases[i].high, 0.95 } };
		assert_int_equal(compare_verdict(&pair), cases[i].verdict);
	}
}

/* ---- all against all ---- */

struct table {
	struct contestant contestants[4];
	int64_t rounds[4][ROUNDS];
	double rates[4][ROUNDS];
};

/* rates[case][round], 0 where it has none. */
static void set(struct table *table, size_t count, double rates[][ROUNDS])
{
	memset(table, 0, sizeof(*table));
	for (size_t i = 0; i < count; i++) {
		struct contestant *one = &table->contestants[i];
		one->rounds = table->rounds[i];
		one->rates = table->rates[i];
		one->ranked = true;
		for (int64_t round = 0; round < ROUNDS; round++) {
			if (rates[i][round] <= 0)
				continue;
			one->rounds[one->count] = round + 1;
			one->rates[one->count++] = rates[i][round];
		}
		one->median = statistics_median(one->rates, one->count);
	}
}

/* a ran in the fast half only; b is 10 % faster in each round that both have. */
static void test_fast_rounds_alone_win_nothing(void **state)
{
	(void)state;
	struct table table;
	struct contest contest;
	double rates[2][ROUNDS] = { { 0 } };
	for (size_t round = 0; round < ROUNDS; round++) {
		bool fast = round % 2;
		rates[0][round] = fast ? 10 + 0.01 * (double)round : 0;
		rates[1][round] = (fast ? 10 + 0.01 * (double)round : 4) * 1.1;
	}
	set(&table, 2, rates);
	assert_true(table.contestants[0].median > table.contestants[1].median);
	contest_make(&contest, table.contestants, 2);
	contest_settle(&contest, CONTEST_WINNER, 0);
	assert_int_equal(contest.order[0], 1);
	assert_true(contest.led);
	struct comparison pair = contest_pair(&contest, 1, 0);
	assert_int_equal(pair.rounds, 8);
	assert_near(pair.ratio, 1.1, 1e-9);
	assert_int_equal(compare_verdict(&pair), COMPARE_DIFFERS);
	contest_free(&contest);
}

/* Complete rounds: the order is that of the geometric means, whatever the medians are. */
static void test_order_of_geometric_means(void **state)
{
	(void)state;
	struct table table;
	struct contest contest;
	double rates[3][ROUNDS] = { { 10, 10, 2 }, { 9, 9, 9 }, { 1, 1, 1 } };
	set(&table, 3, rates);
	contest_make(&contest, table.contestants, 3);
	assert_int_equal(contest.ranked, 3);
	assert_int_equal(contest.order[0], 1);
	assert_int_equal(contest.order[1], 0);
	assert_int_equal(contest.order[2], 2);
	assert_near(contest_pair(&contest, 0, 2).ratio, cbrt(200), 1e-9);
	assert_near(contest_pair(&contest, 2, 0).ratio, 1 / cbrt(200), 1e-9);
	contest_free(&contest);
}

/* a beats b, b beats c, c beats a, each in rounds of their own. */
static void test_circle_has_no_leader(void **state)
{
	(void)state;
	struct table table;
	struct contest contest;
	double rates[3][ROUNDS] = { { 2, 0, 1 }, { 1, 2, 0 }, { 0, 1, 2 } };
	set(&table, 3, rates);
	contest_make(&contest, table.contestants, 3);
	assert_false(contest.led);
	assert_int_equal(contest.ranked, 3);
	contest_free(&contest);
}

/* Without a common round there are the medians, and nothing is told apart. */
static void test_nothing_in_common(void **state)
{
	(void)state;
	struct table table;
	struct contest contest;
	double rates[2][ROUNDS] = { { 1, 1, 1, 1 }, { 0, 0, 0, 0, 2, 2, 2, 2 } };
	set(&table, 2, rates);
	contest_make(&contest, table.contestants, 2);
	contest_settle(&contest, CONTEST_WINNER, 0);
	assert_int_equal(contest.order[0], 1);
	assert_int_equal(contest.family, 0);
	struct comparison pair = contest_pair(&contest, 1, 0);
	assert_int_equal(pair.rounds, 0);
	assert_int_equal(compare_verdict(&pair), COMPARE_OBSERVED);
	contest_free(&contest);
}

static void fill(double rates[4][ROUNDS])
{
	for (size_t i = 0; i < 4; i++)
		for (size_t round = 0; round < 6; round++)
			rates[i][round] =
				(double)(i + 1) * (1 + 0.01 * (double)((round * (i + 3)) % 5));
}

static void test_families(void **state)
{
	(void)state;
	static const struct {
		enum contest_choice choice;
		size_t family, reference;
	} cases[] = { { CONTEST_WINNER, 6, 3 }, { CONTEST_BASELINE, 3, 1 }, { CONTEST_ALL, 6, 3 } };
	struct table table;
	double rates[4][ROUNDS] = { { 0 } };
	double width[3];
	fill(rates);
	set(&table, 4, rates);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct contest contest;
		contest_make(&contest, table.contestants, 4);
		contest_settle(&contest, cases[i].choice, 1);
		assert_int_equal(contest.family, cases[i].family);
		assert_int_equal(contest.reference, cases[i].reference);
		struct comparison pair = contest_pair(&contest, 3, 1);
		width[i] = pair.interval.high / pair.interval.low;
		/* Pairs that nobody asked for get no interval. */
		struct comparison other = contest_pair(&contest, 0, 2);
		assert_int_equal(isnan(other.interval.low), cases[i].choice == CONTEST_BASELINE);
		contest_free(&contest);
	}
	assert_near(width[0], width[2], 1e-12);
	assert_true(width[1] < width[0]);
}

/* One that is compared without a place in the order. */
static void test_unranked_baseline(void **state)
{
	(void)state;
	struct table table;
	struct contest contest;
	double rates[4][ROUNDS] = { { 0 } };
	fill(rates);
	set(&table, 4, rates);
	table.contestants[3].ranked = false;
	contest_make(&contest, table.contestants, 4);
	contest_settle(&contest, CONTEST_BASELINE, 3);
	assert_int_equal(contest.ranked, 3);
	assert_int_equal(contest.order[0], 2);
	assert_int_equal(contest.reference, 3);
	assert_int_equal(contest.family, 3);
	contest_free(&contest);
}

/* What all cases of a round have in common is no noise. */
static void test_noise(void **state)
{
	(void)state;
	struct table table;
	struct contest contest;
	double rates[2][ROUNDS] = { { 0 } };
	for (size_t round = 0; round < ROUNDS; round++) {
		double drift = 1 + 0.1 * (double)round;
		double step = round % 2 ? 0.05 : -0.05;
		rates[0][round] = drift * exp(step);
		rates[1][round] = 3 * drift * exp(-step);
	}
	set(&table, 2, rates);
	contest_make(&contest, table.contestants, 2);
	/* Differences -+0.1: variance 0.01 * 16 / 15. */
	assert_near(contest_noise(&contest), sqrt(0.01 * 16 / 15), 1e-9);
	contest_free(&contest);
	contest_make(&contest, table.contestants, 1);
	assert_true(isnan(contest_noise(&contest)));
	contest_free(&contest);
	contest_make(&contest, table.contestants, 0);
	contest_settle(&contest, CONTEST_WINNER, 0);
	assert_int_equal(contest.ranked, 0);
	contest_free(&contest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pair),
		cmocka_unit_test(test_few_rounds),
		cmocka_unit_test(test_verdict_is_the_interval),
		cmocka_unit_test(test_fast_rounds_alone_win_nothing),
		cmocka_unit_test(test_order_of_geometric_means),
		cmocka_unit_test(test_circle_has_no_leader),
		cmocka_unit_test(test_nothing_in_common),
		cmocka_unit_test(test_families),
		cmocka_unit_test(test_unranked_baseline),
		cmocka_unit_test(test_noise),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
