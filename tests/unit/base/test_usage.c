#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/base/usage.h"
#include "tests/unit/processes.h"

static void test_arithmetic(void **state)
{
	(void)state;
	const struct usage a = { 1.5, 0.25, 10, 3, 100, 7, 5000 };
	const struct usage b = { 0.5, 0.75, 4, 1, 20, 2, 9000 };
	struct usage sum = usage_sum(a, b);
	struct usage rest = usage_since(sum, b);
	assert_true(sum.user_s == 2 && sum.system_s == 1);
	assert_int_equal(sum.voluntary, 14);
	assert_int_equal(sum.involuntary, 4);
	assert_int_equal(sum.minor_faults, 120);
	assert_int_equal(sum.major_faults, 9);
	assert_int_equal(sum.maxrss_bytes, 9000);
	assert_true(rest.user_s == a.user_s && rest.system_s == a.system_s);
	assert_int_equal(rest.voluntary, a.voluntary);
	assert_int_equal(rest.involuntary, a.involuntary);
	assert_int_equal(rest.minor_faults, a.minor_faults);
	assert_int_equal(rest.major_faults, a.major_faults);
	assert_int_equal(rest.maxrss_bytes, 9000);
}

static double burnt_since(struct usage before)
{
	struct usage used = usage_since(usage_of_process(), before);
	return used.user_s + used.system_s;
}

/* A child counts once it is waited for, and not before. */
static void test_children_count_when_waited_for(void **state)
{
	(void)state;
	struct usage before = usage_of_process();
	siginfo_t info;
	pid_t pid = fork();
	if (pid == 0) {
		processes_burn(0.3);
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_true(burnt_since(before) < 0.2);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	double burnt = burnt_since(before);
	assert_true(burnt > 0.29 && burnt < 0.6);
}

static void test_context_switches(void **state)
{
	(void)state;
	struct usage before = usage_of_process();
	for (int i = 0; i < 20; i++)
		usleep(1000);
	assert_true(usage_since(usage_of_process(), before).voluntary >= 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arithmetic),
		cmocka_unit_test(test_children_count_when_waited_for),
		cmocka_unit_test(test_context_switches),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
