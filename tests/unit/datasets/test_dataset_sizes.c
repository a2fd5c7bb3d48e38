#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "datasets/linux_repo.h"
#include "datasets/sizes.h"
#include "harness/base/cleanup.h"

static void test_arithmetic(void **state)
{
	(void)state;
	for (double x = -600; x < 600; x += 0.37)
		assert_true(fabs(sizes_exp(x) / exp(x) - 1) < 1e-14);
	for (double x = 1e-200; x < 1e200; x *= 1.9)
		assert_true(fabs(sizes_log(x) - log(x)) < 1e-14 * fmax(1, fabs(log(x))));
	assert_true(sizes_exp(0) == 1);
	assert_true(sizes_log(1) == 0);
	/* From a printed table of the normal distribution. */
	static const double normal[][2] = {
		{ 0.5, 0 },       { 0.8413447, 1 },     { 0.9772499, 2 },
		{ 0.9986501, 3 }, { 0.025, -1.959964 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(normal); i++)
		assert_true(fabs(sizes_normal(normal[i][0]) - normal[i][1]) < 4.5e-4);
}

static uint64_t sum(const uint64_t *sizes, size_t count)
{
	uint64_t total = 0;
	for (size_t i = 0; i < count; i++)
		total += sizes[i];
	return total;
}

static void test_fit(void **state)
{
	(void)state;
	static const struct sizes_goal goals[] = {
		{ 4, 4, 1 },
		{ 4, 1000, 1000 },
		{ 4, 1000, 300 },
		{ 4, 1001, 251 },
		{ 4, 5, 5 },
		{ 4, 1000000007, 999999999 },
		{ 1, 77, 77 },
		{ 4, SIZES_BYTES_MAX, SIZES_BYTES_MAX },
		{ 4, SIZES_BYTES_MAX - 1, SIZES_BYTES_MAX / 3 },
	};
	static const double weights[] = { 1, 10, 100, 1000 };
	for (size_t i = 0; i < ARRAY_SIZE(goals); i++) {
		uint64_t sizes[4];
		size_t count = goals[i].files;
		sizes_fit(&goals[i], weights, sizes);
		assert_int_equal(sum(sizes, count), goals[i].bytes);
		for (size_t k = 0; k < count; k++) {
			assert_in_range(sizes[k], 1, goals[i].cap);
			assert_true(k == 0 || sizes[k] >= sizes[k - 1]);
		}
	}
	uint64_t sizes[4];
	sizes_fit(&(struct sizes_goal){ 4, 1111004, 1111004 }, weights, sizes);
	assert_int_equal(sizes[0], 1001);
	assert_int_equal(sizes[3], 1000001);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static void test_shuffle(void **state)
{
	(void)state;
	uint64_t lists[3][100];
	static const uint64_t seeds[] = { 1, 2, 1 };
	for (size_t l = 0; l < 3; l++) {
		for (uint64_t i = 0; i < 100; i++)
			lists[l][i] = i;
		sizes_shuffle(seeds[l], lists[l], 100);
	}
	assert_memory_equal(lists[0], lists[2], sizeof(lists[0]));
	assert_memory_not_equal(lists[0], lists[1], sizeof(lists[0]));
	qsort(lists[0], 100, sizeof(uint64_t), by_value);
	for (uint64_t i = 0; i < 100; i++)
		assert_int_equal(lists[0][i], i);
}

static uint64_t *repo_sizes(uint64_t files, uint64_t bytes)
{
	uint64_t *sizes = calloc(files, sizeof(*sizes));
	struct error error = { 0 };
	assert_non_null(sizes);
	if (linux_repo_sizes(files, bytes, sizes, &error) < 0)
		fail_msg("%s", error.message);
	return sizes;
}

static void test_repo_quantiles(void **state)
{
	(void)state;
	static const double table[][2] = {
		{ 1e-9, 880 },
		{ 0.01, 1152 },
		{ 0.5, 59164 },
		{ 0.9, 1453428 },
		{ 0.99, 21958880 },
		{ 0.999, 170769960 },
		{ 1 - 1e-12, 1535845016 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		assert_true(fabs(linux_repo_quantile(table[i][0]) / table[i][1] - 1) < 1e-4);
	/* Halfway between two rows lies their geometric mean. */
	assert_true(fabs(linux_repo_quantile(0.45) / sqrt(36356.0 * 59164.0) - 1) < 1e-9);
}

/* The published study: about 8 GB in about 5,000 files, mean 1.6 MB. Compared with the 63,440
 * packages that the table comes from, all sizes may move by the factor that makes the total exact.
 */
static void test_repo_unscaled(void **state)
{
	(void)state;
	static const struct {
		size_t percent;
		double bytes;
	} table[] = {
		{ 5, 5132 },    { 10, 7824 },   { 20, 13772 },   { 30, 22640 },   { 50, 59164 },
		{ 70, 203352 }, { 80, 455436 }, { 90, 1453428 }, { 95, 3871604 }, { 99, 21958880 },
	};
	AUTO_FREE uint64_t *sizes = repo_sizes(5000, 8000000000);
	assert_int_equal(sum(sizes, 5000), 8000000000);
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		double ratio = (double)sizes[50 * table[i].percent] / table[i].bytes;
		if (ratio < 0.85 || ratio > 1.15)
			fail_msg("%zu %%: %.3f of the table", table[i].percent, ratio);
	}
	assert_in_range(sizes[4999], 700000000, 800000000);
}

/* Fewer bytes: the same shape, never a file of more than a tenth. */
static void test_repo_scaled(void **state)
{
	(void)state;
	static const struct {
		uint64_t files, bytes;
	} cases[] = {
		{ 2500, 4000000000 }, { 671, 1073741824 }, { 168, 268435456 },
		{ 100, 100000000 },   { 5000, 50000000 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t n = cases[i].files;
		AUTO_FREE uint64_t *sizes = repo_sizes(n, cases[i].bytes);
		assert_int_equal(sum(sizes, n), cases[i].bytes);
		assert_true(sizes[n - 1] <= cases[i].bytes / 10);
		/* Quartiles keep their ratios: 17,661 and 303,942 bytes around 59,164 in the table.
		 */
		double low = (double)sizes[n / 2] / (double)sizes[n / 4];
		double high = (double)sizes[n * 3 / 4] / (double)sizes[n / 2];
		if (low < 2.8 || low > 3.9 || high < 4.4 || high > 6.0)
			fail_msg("%zu files: quartile ratios %.2f and %.2f", n, low, high);
	}
}

static void test_repo_tiny(void **state)
{
	(void)state;
	static const struct {
		uint64_t files, bytes;
	} cases[] = {
		{ 1, 1 },         { 1, 1000000 }, { 2, 2 },        { 2, 1000 },    { 3, 4 },
		{ 9, 100 },       { 10, 10 },     { 11, 1000003 }, { 19, 20 },     { 19, 32000000 },
		{ 20, 32000000 }, { 21, 25 },     { 5000, 5000 },  { 5000, 5001 }, { 5000, 9999 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE uint64_t *sizes = repo_sizes(cases[i].files, cases[i].bytes);
		assert_int_equal(sum(sizes, cases[i].files), cases[i].bytes);
		assert_true(sizes[0] >= 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arithmetic),    cmocka_unit_test(test_fit),
		cmocka_unit_test(test_shuffle),       cmocka_unit_test(test_repo_quantiles),
		cmocka_unit_test(test_repo_unscaled), cmocka_unit_test(test_repo_scaled),
		cmocka_unit_test(test_repo_tiny),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
