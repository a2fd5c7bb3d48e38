/* An agent that hangs is as good as dead once all patience with it is used up: slow, so not for
 * every day. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/cli/program.h"

static void stopped_agent_is_given_up(void **state)
{
	struct bench *bench = *state;
	bench_add_tool(bench, "victim",
		       "[tool]\nrun = %s\n  once %s/first mark %s/running\n"
		       "  once %s/second sleep 300\n  copy {src} {dst}\n[preserve]\nmode =\n",
		       FAULT_TOOL, bench->files, bench->files, bench->files);
	PROGRAM_START_STUDY(bench, "-t", "victim", "--dataset", "small-files:files=10,size=1KiB",
			    "--rounds", "2", "--set", "study.timeout=1");
	bench_await_file(bench, "running");
	kill(bench_await_agent(bench, "sink"), SIGSTOP);
	program_wait(bench);
	ASSERT_EXIT(bench, 1);
	bench_check_clean(bench);
	bench_read_results(bench);
	assert_int_equal(bench->results.count, 2);
	assert_int_not_equal(bench_row(bench, "victim", 1)->status, STATUS_OK);
	ASSERT_HOLDS(bench_row(bench, "victim", 1)->error, "the sink agent");
	ASSERT_ROW(bench_row(bench, "victim", 2), STATUS_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = { BENCH_TEST(stopped_agent_is_given_up) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
