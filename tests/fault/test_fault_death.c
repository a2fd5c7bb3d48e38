/* An agent or a worker dies in the middle of a run: that run is a failed row, and the study goes
 * on. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/cli/program.h"

#define SMALL "small-files:files=10,size=1KiB"

/* Endless in its first run, and a good tool from then on. */
static void add_victim(const struct bench *bench, const char *driver)
{
	bench_add_tool(bench, "victim",
		       "[tool]\ndriver = %s\nrun = %s\n  once %s/first mark %s/running\n"
		       "  once %s/second sleep 300\n  copy {src} {dst}\n[preserve]\nmode =\n",
		       driver, FAULT_TOOL, bench->files, bench->files, bench->files);
}

static void start_victims(struct bench *bench)
{
	PROGRAM_START_STUDY(bench, "-t", "victim", "-t", "tcp", "--dataset", SMALL, "--rounds",
			    "3");
	bench_await_file(bench, "running");
}

static void check_victims(struct bench *bench, const char *reason)
{
	program_wait(bench);
	ASSERT_EXIT(bench, 1);
	bench_check_clean(bench);
	bench_read_results(bench);
	assert_int_equal(bench->results.count, 6);
	const struct result *row = bench_row(bench, "victim", 1);
	ASSERT_ROW(row, STATUS_FAILED);
	ASSERT_HOLDS(row->error, reason);
	for (int round = 1; round <= 3; round++)
		ASSERT_ROW(bench_row(bench, "tcp", round), STATUS_OK);
	ASSERT_ROW(bench_row(bench, "victim", 2), STATUS_OK);
	ASSERT_ROW(bench_row(bench, "victim", 3), STATUS_OK);
}

static void kill_worker(struct bench *bench, const char *driver)
{
	pid_t pids[2];
	add_victim(bench, driver);
	start_victims(bench);
	assert_int_equal(bench_read_pids(bench, "running", pids, 2), 2);
	kill(pids[1], SIGKILL); /* the tool's parent */
	check_victims(bench, "killed by signal 9");
}

static void kill_of_source_worker(void **state)
{
	kill_worker(*state, "source");
}

static void kill_of_sink_worker(void **state)
{
	kill_worker(*state, "sink");
}

/* Of the end that only waits. */
static void kill_of_listening_worker(void **state)
{
	struct bench *bench = *state;
	add_victim(bench, "source");
	start_victims(bench);
	pid_t worker = process_child(bench_await_agent(bench, "sink"));
	assert_true(worker > 0);
	kill(worker, SIGKILL);
	check_victims(bench, "killed by signal 9");
}

static void kill_agent(struct bench *bench, const char *side)
{
	add_victim(bench, "source");
	start_victims(bench);
	kill(bench_await_agent(bench, side), SIGKILL);
	check_victims(bench, "agent died");
}

static void kill_of_source_agent(void **state)
{
	kill_agent(*state, "source");
}

static void kill_of_sink_agent(void **state)
{
	kill_agent(*state, "sink");
}

static void kill_of_both_agents(void **state)
{
	struct bench *bench = *state;
	add_victim(bench, "source");
	start_victims(bench);
	pid_t sink = bench_await_agent(bench, "sink");
	kill(bench_await_agent(bench, "source"), SIGKILL);
	kill(sink, SIGKILL);
	check_victims(bench, "agent died");
}

static void crash_costs_one_row(void **state)
{
	struct bench *bench = *state;
	PROGRAM_STUDY(bench, "-t", "null:crash=source", "-t", "null:crash=sink", "-t", "tcp",
		      "--dataset", SMALL, "--rounds", "2");
	ASSERT_EXIT(bench, 1);
	assert_int_equal(bench->results.count, 6);
	for (int round = 1; round <= 2; round++) {
		const char *const crashed[] = { "null:crash=source", "null:crash=sink" };
		for (size_t i = 0; i < 2; i++) {
			const struct result *row = bench_row(bench, crashed[i], round);
			ASSERT_ROW(row, STATUS_FAILED);
			ASSERT_HOLDS(row->error, "Aborted");
		}
		ASSERT_ROW(bench_row(bench, "tcp", round), STATUS_OK);
	}
	bench_check_clean(bench);
}

static void failure_at_every_step(void **state)
{
	static const char *const steps[] = { "null:fail=prepare", "null:fail=connect",
					     "null:fail=send", "null:fail=receive",
					     "null:fail=finish" };
	struct bench *bench = *state;
	PROGRAM_STUDY(bench, "-t", steps[0], "-t", steps[1], "-t", steps[2], "-t", steps[3], "-t",
		      steps[4], "--dataset", SMALL, "--rounds", "1");
	ASSERT_EXIT(bench, 1);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		const struct result *row = bench_row(bench, steps[i], 1);
		ASSERT_ROW(row, STATUS_FAILED);
		ASSERT_HOLDS(row->error, strchr(steps[i], '=') + 1);
	}
	bench_check_clean(bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(kill_of_source_worker),    BENCH_TEST(kill_of_sink_worker),
		BENCH_TEST(kill_of_listening_worker), BENCH_TEST(kill_of_source_agent),
		BENCH_TEST(kill_of_sink_agent),       BENCH_TEST(kill_of_both_agents),
		BENCH_TEST(crash_costs_one_row),      BENCH_TEST(failure_at_every_step),
	};
	cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
