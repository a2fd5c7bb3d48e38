/* An agent or a worker dies in the middle of a run: that run is a failed row, and the study goes
 * on. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Sends the signal to the tool (0) or to its parent, the worker (1). */
static void kill_driving(struct bench *bench, const char *driver, int whom, int signal,
			 const char *reason)
{
	pid_t pids[2];
	add_victim(bench, driver);
	start_victims(bench);
	assert_int_equal(bench_read_pids(bench, "running", pids, 2), 2);
	kill(pids[whom], signal);
	check_victims(bench, reason);
}

static void kill_of_source_worker(void **state)
{
	kill_driving(*state, "source", 1, SIGKILL, "source died: killed by SIGKILL");
}

static void kill_of_sink_worker(void **state)
{
	kill_driving(*state, "sink", 1, SIGKILL, "sink died: killed by SIGKILL");
}

/* What asks politely is no less a stranger: the user did not stop anything. */
static void term_of_source_worker(void **state)
{
	kill_driving(*state, "source", 1, SIGTERM, "source was killed by SIGTERM");
}

static void term_of_sink_worker(void **state)
{
	kill_driving(*state, "sink", 1, SIGTERM, "sink was killed by SIGTERM");
}

static void hangup_of_source_worker(void **state)
{
	kill_driving(*state, "source", 1, SIGHUP, "source was killed by SIGHUP");
}

static void term_of_tool(void **state)
{
	kill_driving(*state, "source", 0, SIGTERM, "fault_tool: killed by SIGTERM");
}

/* Of the end that only waits. */
static void kill_listening(struct bench *bench, int signal, const char *reason)
{
	add_victim(bench, "source");
	start_victims(bench);
	pid_t worker = process_child(bench_await_agent(bench, "sink"));
	assert_true(worker > 0);
	kill(worker, signal);
	check_victims(bench, reason);
}

static void kill_of_listening_worker(void **state)
{
	kill_listening(*state, SIGKILL, "sink died: killed by SIGKILL");
}

static void term_of_listening_worker(void **state)
{
	kill_listening(*state, SIGTERM, "sink was killed by SIGTERM");
}

/* The private server is the sink agent's first child. */
static void term_of_server(void **state)
{
	struct bench *bench = *state;
	bench_add_tool(bench, "victim",
		       "[tool]\nneeds = sshd\nrun = ssh -F {ssh_config} {host}\n"
		       "  %s once %s/first mark %s/running\n  once %s/second sleep 300\n"
		       "  copy {src} {dst}\n[preserve]\nmode =\n",
		       FAULT_TOOL, bench->files, bench->files, bench->files);
	start_victims(bench);
	pid_t keeper = process_child(bench_await_agent(bench, "sink"));
	assert_true(keeper > 0);
	kill(keeper, SIGTERM);
	check_victims(bench, "the keeper of the private server died: killed by SIGTERM");
}

/* What was started again is told where people look. */
static void check_notes(const struct bench *bench, const char *side, const char *death)
{
	char again[64];
	char *record = bench_read_out(bench, "study.json");
	char *report = bench_read_out(bench, "report.html");
	snprintf(again, sizeof(again), "the %s agent was started again", side);
	const char *const texts[] = { bench->error, record, report };
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		ASSERT_HOLDS(texts[i], death);
		ASSERT_HOLDS(texts[i], again);
	}
	free(record);
	free(report);
}

static void kill_agent(struct bench *bench, const char *side, int signal, const char *reason)
{
	add_victim(bench, "source");
	start_victims(bench);
	kill(bench_await_agent(bench, side), signal);
	check_victims(bench, reason);
	check_notes(bench, side, reason);
}

static void kill_of_source_agent(void **state)
{
	kill_agent(*state, "source", SIGKILL, "the source agent died: killed by SIGKILL");
}

static void kill_of_sink_agent(void **state)
{
	kill_agent(*state, "sink", SIGKILL, "the sink agent died: killed by SIGKILL");
}

static void term_of_source_agent(void **state)
{
	kill_agent(*state, "source", SIGTERM, "the source agent died: killed by SIGTERM");
}

static void term_of_sink_agent(void **state)
{
	kill_agent(*state, "sink", SIGTERM, "the sink agent died: killed by SIGTERM");
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

/* An agent that cannot begin says why where people look, not in its log alone. */
static void last_words_are_told(void **state)
{
	static const char reason[] = "agent died: exit status 1: linefill: make folder "
				     "/lf-nowhere/";
	struct bench *bench = *state;
	char kept[sizeof(bench->tmp)];
	memcpy(kept, bench->tmp, sizeof(kept));
	snprintf(bench->tmp, sizeof(bench->tmp), "/lf-nowhere");
	PROGRAM_STUDY(bench, "-t", "null", "--dataset", SMALL, "--rounds", "1");
	memcpy(bench->tmp, kept, sizeof(kept));
	ASSERT_EXIT(bench, 1);
	ASSERT_ROW(&bench->results.rows[0], STATUS_FAILED);
	ASSERT_HOLDS(bench->results.rows[0].error, reason);
	ASSERT_HOLDS(bench->results.rows[0].error, "No such file or directory");
	ASSERT_HOLDS(bench->error, reason);
	bench_check_clean(bench);
}

/* The server process of a run: a child of one of the agent's children, with this among its
 * arguments, which the same program does not have when it is asked for its version. 0 while there
 * is none. */
static pid_t find_server(pid_t agent, const char *argument)
{
	char path[64], line[4096];
	pid_t server = process_child(process_child(agent));
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)server);
	FILE *file = server > 0 ? fopen(path, "re") : NULL;
	size_t length = file ? fread(line, 1, sizeof(line), file) : 0;
	if (file)
		fclose(file);
	return length && memmem(line, length, argument, strlen(argument) + 1) ? server : 0;
}

/* Both ends fail of it: the row has the one that says more than that the other gave up. */
static void term_of_http_server(void **state)
{
	struct bench *bench = *state;
	pid_t server = 0;
	PROGRAM_START_STUDY(bench, "-t", "http", "-t", "tcp", "--dataset", "single:bytes=512MiB",
			    "--rounds", "1");
	pid_t agent = bench_await_agent(bench, "source");
	for (int i = 0; i < 20000 && !server; i++) {
		server = find_server(agent, "nginx.conf");
		rest_s(0.001);
	}
	if (!server) {
		program_wait(bench);
		print_message("no nginx was seen: not installed, or gone too soon\n");
		skip();
	}
	kill(server, SIGTERM);
	program_wait(bench);
	ASSERT_EXIT(bench, 1);
	bench_read_results(bench);
	ASSERT_ROW(bench_row(bench, "http", 1), STATUS_FAILED);
	ASSERT_LACKS(bench_row(bench, "http", 1)->error, "gave up");
	ASSERT_ROW(bench_row(bench, "tcp", 1), STATUS_OK);
	bench_check_clean(bench);
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
			ASSERT_HOLDS(row->error, "SIGABRT");
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
		BENCH_TEST(term_of_source_worker),    BENCH_TEST(term_of_sink_worker),
		BENCH_TEST(hangup_of_source_worker),  BENCH_TEST(term_of_tool),
		BENCH_TEST(term_of_listening_worker), BENCH_TEST(term_of_server),
		BENCH_TEST(term_of_http_server),      BENCH_TEST(term_of_source_agent),
		BENCH_TEST(term_of_sink_agent),       BENCH_TEST(kill_of_listening_worker),
		BENCH_TEST(kill_of_source_agent),     BENCH_TEST(kill_of_sink_agent),
		BENCH_TEST(kill_of_both_agents),      BENCH_TEST(last_words_are_told),
		BENCH_TEST(crash_costs_one_row),      BENCH_TEST(failure_at_every_step),
	};
	cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
