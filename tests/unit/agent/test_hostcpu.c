#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>

#include "harness/agent/hostcpu.h"
#include "harness/base/cleanup.h"
#include "tests/unit/processes.h"

static void test_parse(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint64_t busy, total, work, steal;
	} cases[] = {
		/* user nice system idle iowait irq softirq steal guest guest_nice: guest times are
		 * in user and nice, waiting and stolen time is not busy. */
		{ "cpu  1 20 300 4000 50000 600000 7000000 80000000 9 9\ncpu0 1 1 1 1 1 1 1 1\n",
		  7600321, 87654321, 321, 80000000 },
		{ "cpu  10 0 5 85 0 0 0 0 0 0\n", 15, 100, 15, 0 },
		{ "cpu 10 0 5 85 0 0 0\n", 15, 100, 15, 0 }, /* kernels without steal */
		{ "cpu 18446744073709 0 0 1 0 0 0 0", UINT64_C(18446744073709),
		  UINT64_C(18446744073710), UINT64_C(18446744073709), 0 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct hostcpu now = { 0 };
		assert_int_equal(hostcpu_parse(cases[i].text, &now, NULL), 0);
		assert_int_equal(now.busy, cases[i].busy);
		assert_int_equal(now.total, cases[i].total);
		assert_int_equal(now.work, cases[i].work);
		assert_int_equal(now.steal, cases[i].steal);
	}
}

static void test_parse_nonsense(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"", "cpu", "cpu 1 2 3 4 5 6\n", "x", "intr 1 2 3 4 5 6 7 8", "cpu a b c d e f g h"
	};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct hostcpu now;
		struct error err = { 0 };
		assert_int_equal(hostcpu_parse(texts[i], &now, &err), -1);
		assert_int_equal(err.kind, ERROR_SYSTEM);
	}
}

static void test_span(void **state)
{
	(void)state;
	static const struct hostcpu before = {
		.total = 1000, .work = 100, .steal = 10, .own_s = 1
	};
	static const struct {
		struct hostcpu after;
		double seconds;
		bool known;
	} cases[] = {
		{ { .total = 1200, .work = 150, .steal = 30, .own_s = 1.5 }, 1, true },
		{ { .total = 1050, .work = 150, .steal = 30, .own_s = 1.5 }, 0.25, true },
		{ { .total = 1200, .work = 150, .steal = 30, .own_s = 1.5 }, 0.24, false },
		{ { .total = 1049, .work = 149, .steal = 30, .own_s = 1.5 }, 1, false },
		{ { .total = 1200, .work = 99, .steal = 30, .own_s = 1.5 }, 1, false },
		{ { .total = 1200, .work = 150, .steal = 9, .own_s = 1.5 }, 1, false },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct hostcpu_span span = hostcpu_span(before, cases[i].after, cases[i].seconds);
		assert_int_equal(isnan(span.total_s), !cases[i].known);
		assert_int_equal(isnan(span.work_s) || isnan(span.steal_s), !cases[i].known);
		if (!cases[i].known)
			continue;
		assert_true(fabs(span.total_s - (double)(cases[i].after.total - 1000) / 100) <
			    1e-9);
		assert_true(fabs(span.work_s - 0.5) < 1e-9);
		assert_true(fabs(span.steal_s - 0.2) < 1e-9);
		assert_true(fabs(span.own_s - 0.5) < 1e-9);
	}
}

#define AT(busy_, total_)                      \
	{                                      \
		.busy = busy_, .total = total_ \
	}
static void test_busy(void **state)
{
	(void)state;
	static const struct {
		struct hostcpu before, after;
		double pct;
	} cases[] = {
		{ AT(0, 0), AT(50, 100), 50 },
		{ AT(1000, 2000), AT(1000, 2100), 0 },
		{ AT(10, 20), AT(110, 120), 100 },
		{ AT(10, 20), AT(10, 20), NAN },
		{ AT(10, 20), AT(11, 19), NAN },
		/* The kernel takes waiting time back now and then. */
		{ AT(10, 20), AT(20, 29), 100 },
		{ AT(10, 20), AT(9, 30), NAN },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		double pct = hostcpu_busy_pct(cases[i].before, cases[i].after);
		assert_true(isnan(cases[i].pct) ? isnan(pct) : pct == cases[i].pct);
	}
}

static void test_this_host(void **state)
{
	(void)state;
	struct hostcpu before, after;
	struct error err = { 0 };
	assert_int_equal(hostcpu_read(&before, &err), 0);
	processes_burn(0.3);
	assert_int_equal(hostcpu_read(&after, &err), 0);
	assert_true(after.total > before.total);
	assert_true(after.busy >= before.busy + 20); /* ticks of 10 ms */
	double pct = hostcpu_busy_pct(before, after);
	assert_true(pct > 0 && pct <= 100);
	/* This process is the one that burnt. */
	assert_true(after.own_s >= before.own_s + 0.25);
	assert_true(after.work >= before.work + 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),     cmocka_unit_test(test_parse_nonsense),
		cmocka_unit_test(test_span),      cmocka_unit_test(test_busy),
		cmocka_unit_test(test_this_host),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
