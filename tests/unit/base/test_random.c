#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/random.h"

/* splitmix64 and xoshiro256** as published: seed 0 and the first outputs, computed from the
 * authors' reference code. */
static void test_known_values(void **state)
{
	(void)state;
	struct random random;
	random_seed(&random, 0);
	assert_true(random.state[0] == UINT64_C(0xe220a8397b1dcdaf));
	assert_true(random.state[1] == UINT64_C(0x6e789e6aa1b965f4));
	assert_true(random.state[2] == UINT64_C(0x06c45d188009454f));
	assert_true(random.state[3] == UINT64_C(0xf88bb8a8724c81ec));
	assert_true(random_next(&random) == UINT64_C(0x99ec5f36cb75f2b4));
	assert_true(random_next(&random) == UINT64_C(0xbf6e1f784956452a));
}

static void test_same_seed_same_numbers(void **state)
{
	(void)state;
	struct random a, b, c;
	random_seed(&a, 42);
	random_seed(&b, 42);
	random_seed(&c, 43);
	int different = 0;
	for (int i = 0; i < 1000; i++) {
		uint64_t number = random_next(&a);
		assert_true(number == random_next(&b));
		different += number != random_next(&c);
	}
	assert_int_equal(different, 1000);
}

static void test_below(void **state)
{
	(void)state;
	static const uint64_t limits[] = { 1, 2, 3, 1000, UINT64_C(1) << 63, UINT64_MAX };
	struct random random;
	random_seed(&random, 1);
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		for (int j = 0; j < 1000; j++)
			assert_true(random_below(&random, limits[i]) < limits[i]);
	int seen[6] = { 0 };
	for (int i = 0; i < 60000; i++)
		seen[random_below(&random, 6)]++;
	for (int i = 0; i < 6; i++)
		assert_in_range(seen[i], 9500, 10500); /* 5 standard deviations */
}

static void test_unit(void **state)
{
	(void)state;
	struct random random;
	random_seed(&random, 2);
	double sum = 0;
	for (int i = 0; i < 100000; i++) {
		double x = random_unit(&random);
		assert_true(x > 0 && x < 1);
		sum += x;
	}
	assert_true(sum > 49500 && sum < 50500);
}

static void test_mix_depends_on_both(void **state)
{
	(void)state;
	assert_true(random_mix(1, 2) == random_mix(1, 2));
	assert_true(random_mix(1, 2) != random_mix(2, 1));
	assert_true(random_mix(0, 0) != random_mix(0, 1));
	assert_true(random_mix(0, 0) != random_mix(1, 0));
}

static void test_shuffle(void **state)
{
	(void)state;
	size_t items[100];
	bool seen[100] = { false };
	struct random random;
	random_seed(&random, 3);
	for (size_t i = 0; i < 100; i++)
		items[i] = i;
	random_shuffle(&random, items, 100);
	size_t moved = 0;
	for (size_t i = 0; i < 100; i++) {
		assert_false(seen[items[i]]);
		seen[items[i]] = true;
		moved += items[i] != i;
	}
	assert_true(moved > 80);
	random_shuffle(&random, items, 0);
	random_shuffle(&random, items, 1);
	/* Each of the six orders of three comes up about as often. */
	int orders[27] = { 0 };
	for (int i = 0; i < 6000; i++) {
		size_t three[3] = { 0, 1, 2 };
		random_shuffle(&random, three, 3);
		orders[three[0] * 9 + three[1] * 3 + three[2]]++;
	}
	int kinds = 0;
	for (int i = 0; i < 27; i++) {
		kinds += orders[i] > 0;
		assert_true(orders[i] == 0 || (orders[i] > 850 && orders[i] < 1150));
	}
	assert_int_equal(kinds, 6);
}

static void test_secrets(void **state)
{
	(void)state;
	char a[33], b[33];
	random_secret_hex(a, 16);
	random_secret_hex(b, 16);
	assert_int_equal(strlen(a), 32);
	assert_int_equal(strspn(a, "0123456789abcdef"), 32);
	assert_string_not_equal(a, b);
	unsigned char big[1024] = { 0 };
	random_secret(big, sizeof(big));
	size_t zeros = 0;
	for (size_t i = 0; i < sizeof(big); i++)
		zeros += big[i] == 0;
	assert_true(zeros < 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_values),
		cmocka_unit_test(test_same_seed_same_numbers),
		cmocka_unit_test(test_below),
		cmocka_unit_test(test_unit),
		cmocka_unit_test(test_mix_depends_on_both),
		cmocka_unit_test(test_shuffle),
		cmocka_unit_test(test_secrets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
