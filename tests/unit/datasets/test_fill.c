#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include <cmocka.h>

#include "datasets/fill.h"
#include "harness/base/cleanup.h"

#define WHOLE ((size_t)1024 * 1024)

static void test_golden_bytes(void **state)
{
	(void)state;
	static const struct {
		uint64_t seed, file;
		unsigned compressible;
		const char *hex;
	} cases[] = {
		{ 1, 0, 0, "c962230b4dc9f871b18c2402ece68105" },
		{ 1, 0, 50, "c0061199dd9ac35cc0061199dd9ac35c" },
		{ 1, 1, 0, "49cd0cc628c9ba6fb65764c197672d19" },
		{ 2, 0, 0, "348e2cdf72d04bc4f78dbba872b60779" },
		{ UINT64_MAX, UINT64_MAX, 90, "17b8fbeb03bd827317b8fbeb03bd8273" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		unsigned char bytes[16];
		char hex[2 * sizeof(bytes) + 1];
		struct fill fill = fill_for(cases[i].seed, cases[i].file, cases[i].compressible);
		fill_bytes(&fill, 5000, bytes, sizeof(bytes));
		for (size_t b = 0; b < sizeof(bytes); b++)
			snprintf(hex + 2 * b, 3, "%02x", bytes[b]);
		assert_string_equal(hex, cases[i].hex);
	}
}

/* Any part made alone is that part of the whole. */
static void test_parts(void **state)
{
	(void)state;
	static const size_t cases[][2] = {
		{ 0, 0 },        { 0, 1 },       { 1, 1 },       { 7, 9 },
		{ 0, 1024 },     { 1, 1024 },    { 1023, 2 },    { 1024, 1024 },
		{ 1000, 50000 }, { 5, 1 << 19 }, { 4096, 4096 }, { WHOLE - 1, 1 },
	};
	AUTO_FREE unsigned char *whole = malloc(WHOLE);
	AUTO_FREE unsigned char *part = malloc(WHOLE);
	for (unsigned compressible = 0; compressible <= FILL_COMPRESSIBLE_MAX; compressible += 45) {
		struct fill fill = fill_for(3, 4, compressible);
		fill_bytes(&fill, 0, whole, WHOLE);
		for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
			memset(part, 0, cases[i][1] + 1);
			fill_bytes(&fill, cases[i][0], part, cases[i][1]);
			assert_memory_equal(part, whole + cases[i][0], cases[i][1]);
			assert_int_equal(part[cases[i][1]], 0);
		}
	}
}

static void test_no_repeats(void **state)
{
	(void)state;
	unsigned char bytes[4][64];
	struct fill fills[4] = { fill_for(1, 1, 0), fill_for(1, 2, 0), fill_for(2, 1, 0),
				 fill_for(1, 1, 0) };
	for (size_t i = 0; i < 4; i++)
		fill_bytes(&fills[i], i == 3 ? UINT64_C(1) << 40 : 0, bytes[i], sizeof(bytes[i]));
	for (size_t i = 0; i < 4; i++)
		for (size_t j = 0; j < i; j++)
			assert_memory_not_equal(bytes[i], bytes[j], sizeof(bytes[i]));
}

/* Part in percent that zlib level 6 saves, on pieces of a file one after another. */
static double saved_pct(const struct fill *fill, size_t piece)
{
	AUTO_FREE unsigned char *bytes = malloc(WHOLE);
	AUTO_FREE unsigned char *small = malloc(compressBound(WHOLE));
	uLongf total = 0;
	fill_bytes(fill, 0, bytes, WHOLE);
	for (size_t at = 0; at < WHOLE; at += piece) {
		uLongf length = compressBound(WHOLE);
		assert_int_equal(compress2(small, &length, bytes + at, piece, 6), Z_OK);
		total += length;
	}
	return 100.0 * (1 - (double)total / (double)WHOLE);
}

static void test_compressible(void **state)
{
	(void)state;
	static const unsigned wanted[] = { 0, 1, 10, 33, 50, 77, 90 };
	static const size_t pieces[] = { WHOLE, 64 * 1024, 8 * 1024 };
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		for (size_t p = 0; p < ARRAY_SIZE(pieces); p++) {
			struct fill fill = fill_for(5, i, wanted[i]);
			double saved = saved_pct(&fill, pieces[p]);
			double off = saved - wanted[i];
			if (off < -2 || off > 2)
				fail_msg("%u %% asked, %.2f %% saved in pieces of %zu bytes",
					 wanted[i], saved, pieces[p]);
		}
	}
}

/* All bytes are about equally frequent where contents are incompressible. */
static void test_bytes_are_even(void **state)
{
	(void)state;
	size_t counts[256] = { 0 };
	AUTO_FREE unsigned char *bytes = malloc(WHOLE);
	struct fill fill = fill_for(6, 0, 0);
	fill_bytes(&fill, 0, bytes, WHOLE);
	for (size_t i = 0; i < WHOLE; i++)
		counts[bytes[i]]++;
	for (size_t value = 0; value < 256; value++) /* 4096 +- 6 standard deviations */
		assert_in_range(counts[value], 4096 - 384, 4096 + 384);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden_bytes),   cmocka_unit_test(test_parts),
		cmocka_unit_test(test_no_repeats),     cmocka_unit_test(test_compressible),
		cmocka_unit_test(test_bytes_are_even),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
