#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "harness/base/clock.h"

static void test_now_moves_forward(void **state)
{
	(void)state;
	int64_t before = clock_now_ns();
	const struct timespec nap = { .tv_nsec = 2 * NS_PER_MS };
	nanosleep(&nap, NULL);
	int64_t passed = clock_now_ns() - before;
	assert_true(passed >= 2 * NS_PER_MS && passed < 60 * NS_PER_S);
}

static void test_deadlines(void **state)
{
	(void)state;
	int64_t now = clock_now_ns();
	int64_t deadline = clock_deadline_ns(1.5);
	assert_true(deadline >= now + 3 * NS_PER_S / 2);
	assert_true(deadline < now + 60 * NS_PER_S);
	assert_true(clock_deadline_ns(1e9) == CLOCK_NEVER);
	assert_true(clock_deadline_ns(1e300) == CLOCK_NEVER);
}

static void test_poll_time(void **state)
{
	(void)state;
	int64_t now = clock_now_ns();
	assert_int_equal(clock_poll_ms(CLOCK_NEVER), -1);
	assert_int_equal(clock_poll_ms(now), 0);
	assert_int_equal(clock_poll_ms(0), 0);
	/* Rounded up: a wait never ends before its deadline. */
	assert_int_equal(clock_poll_ms(clock_now_ns() + 10 * NS_PER_S + 1) >= 9000, 1);
	assert_true(clock_poll_ms(clock_now_ns() + NS_PER_MS / 2) <= 1);
	assert_int_equal(clock_poll_ms(now + INT64_C(40) * 86400 * NS_PER_S), INT_MAX);
}

static void test_utc(void **state)
{
	(void)state;
	char text[CLOCK_UTC_SIZE];
	int part[6];
	clock_utc_text(text);
	assert_int_equal(strlen(text), 20);
	assert_int_equal(sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2dZ", &part[0], &part[1], &part[2],
				&part[3], &part[4], &part[5]),
			 6);
	assert_true(part[0] >= 2024 && part[1] <= 12 && part[5] <= 60);
	clock_utc_compact(text);
	assert_int_equal(strlen(text), 16);
	assert_int_equal(strspn(text, "0123456789TZ"), 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_now_moves_forward),
		cmocka_unit_test(test_deadlines),
		cmocka_unit_test(test_poll_time),
		cmocka_unit_test(test_utc),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
