/* ^C, SIGTERM, SIGHUP and SIGKILL in the middle of a run. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "tests/cli/program.h"

#define SMALL "small-files:files=10,size=1KiB"

/* tcp is quick; the tool says that it runs and then never ends. Some rows come before, some after:
 * the tool's first run is the one that is stopped. */
static void start_long_study(struct bench *bench)
{
	bench_add_tool(bench, "endless",
		       "[tool]\nneeds = sshd\nrun = ssh -F {ssh_config} {host}\n  %s linger 300\n"
		       "  mark %s/running hang {src} {dst}\n[preserve]\nmode =\n",
		       FAULT_TOOL, bench->files);
	PROGRAM_START_STUDY(bench, "-t", "tcp", "-t", "endless", "--dataset", SMALL, "--rounds",
			    "3");
	bench_await_file(bench, "running");
}

/* Every planned run is a row: what had ended is kept, the rest was cancelled. */
static void check_rows(struct bench *bench)
{
	size_t cancelled = 0;
	bench_read_results(bench);
	assert_int_equal(bench->results.count, 6);
	for (size_t i = 0; i < bench->results.count; i++) {
		const struct result *row = &bench->results.rows[i];
		cancelled += row->status == STATUS_CANCELLED;
		if (row->status != STATUS_CANCELLED)
			ASSERT_ROW(row, STATUS_OK);
	}
	ASSERT_ROW(bench_row(bench, "endless", 1), STATUS_CANCELLED);
	ASSERT_ROW(bench_row(bench, "tcp", 2), STATUS_CANCELLED);
	ASSERT_ROW(bench_row(bench, "tcp", 3), STATUS_CANCELLED);
	assert_true(cancelled == 5 || cancelled == 6);
}

static void stop(struct bench *bench, pid_t target, int number)
{
	start_long_study(bench);
	assert_int_equal(kill(target ? target : bench->pid, number), 0);
	assert_int_equal(program_wait(bench), 130);
	bench_check_clean(bench);
	check_rows(bench);
	assert_true(bench_has(bench, "out/study.json"));
	assert_true(bench_has(bench, "out/report.html"));
}

static void interrupt_of_the_controller(void **state)
{
	stop(*state, 0, SIGINT);
}

static void terminate(void **state)
{
	stop(*state, 0, SIGTERM);
}

/* The terminal is closed. */
static void hang_up(void **state)
{
	stop(*state, 0, SIGHUP);
}

/* Started by nohup, it goes on. */
static void hang_up_under_nohup(void **state)
{
	struct bench *bench = *state;
	signal(SIGHUP, SIG_IGN);
	PROGRAM_START_STUDY(bench, "-t", "null:copy=yes,send_s=2", "--dataset", SMALL, "--rounds",
			    "1");
	signal(SIGHUP, SIG_DFL);
	bench_await_agent(bench, "sink");
	assert_int_equal(kill(bench->pid, SIGHUP), 0);
	assert_int_equal(program_wait(bench), 0);
	bench_read_results(bench);
	assert_int_equal(bench->results.count, 1);
	ASSERT_ROW(&bench->results.rows[0], STATUS_OK);
}

/* As a terminal does: to all in the foreground group. */
static void interrupt_of_the_group(void **state)
{
	struct bench *bench = *state;
	start_long_study(bench);
	assert_int_equal(kill(-bench->pid, SIGINT), 0);
	assert_int_equal(program_wait(bench), 130);
	bench_check_clean(bench);
	check_rows(bench);
}

/* A user in a hurry presses it again. */
static void interrupt_many_times(void **state)
{
	struct bench *bench = *state;
	start_long_study(bench);
	for (int i = 0; i < 20; i++) {
		kill(-bench->pid, i % 2 ? SIGTERM : SIGINT);
		rest_s(0.02);
	}
	assert_int_equal(program_wait(bench), 130);
	bench_check_clean(bench);
	check_rows(bench);
}

/* Before anything ran: at whatever point of the start it hits. */
static void interrupt_of_the_start(void **state)
{
	static const double after_s[] = { 0.02, 0.1, 0.2, 0.4 };
	struct bench *bench = *state;
	for (size_t i = 0; i < sizeof(after_s) / sizeof(after_s[0]); i++) {
		bench->out[strlen(bench->root) + strlen("/out")] = '\0';
		strncat(bench->out, (char[]){ (char)('a' + i), '\0' }, 2);
		PROGRAM_START_STUDY(bench, "-t", "null:copy=yes,send_s=60", "--dataset",
				    "small-files:files=2000", "--rounds", "2");
		bench_await_agent(bench, "source");
		rest_s(after_s[i]);
		kill(bench->pid, SIGINT);
		assert_int_equal(program_wait(bench), 130);
		bench_check_clean(bench);
		bench_read_results(bench);
		assert_int_equal(bench->results.count, 2);
		ASSERT_ROW(&bench->results.rows[0], STATUS_CANCELLED);
		ASSERT_ROW(&bench->results.rows[1], STATUS_CANCELLED);
	}
}

/* While the copy is compared with the original. */
static void interrupt_between_runs(void **state)
{
	struct bench *bench = *state;
	PROGRAM_START_STUDY(bench, "-t", "tcp", "--dataset", "small-files:files=500", "--rounds",
			    "300");
	bench_await_agent(bench, "sink");
	rest_s(2);
	kill(bench->pid, SIGINT);
	assert_int_equal(program_wait(bench), 130);
	bench_check_clean(bench);
	bench_read_results(bench);
	assert_int_equal(bench->results.count, 300);
	for (size_t i = 0; i < bench->results.count; i++)
		if (bench->results.rows[i].status != STATUS_CANCELLED)
			ASSERT_ROW(&bench->results.rows[i], STATUS_OK);
	ASSERT_ROW(&bench->results.rows[299], STATUS_CANCELLED);
}

static void kill_controller(struct bench *bench)
{
	kill(bench->pid, SIGKILL);
	assert_int_equal(program_wait(bench), 128 + SIGKILL);
}

/* The rows so far are in the file, whole; agents notice and clean up by themselves. */
static void kill_of_the_controller(void **state)
{
	struct bench *bench = *state;
	start_long_study(bench);
	kill_controller(bench);
	bench_check_clean_within(bench, 30);
	bench_read_results(bench);
	for (size_t i = 0; i < bench->results.count; i++)
		ASSERT_ROW(&bench->results.rows[i], STATUS_OK);
	assert_true(bench->results.count <= 1);
	assert_true(bench_has(bench, "out/study.json"));
}

/* Then nobody is left to clean up but the next start. */
static void kill_of_all(void **state)
{
	struct bench *bench = *state;
	start_long_study(bench);
	pid_t agents[] = { bench_await_agent(bench, "source"), bench_await_agent(bench, "sink") };
	kill(bench->pid, SIGKILL);
	kill(agents[0], SIGKILL);
	kill(agents[1], SIGKILL);
	assert_int_equal(program_wait(bench), 128 + SIGKILL);
	/* The agents became our children. */
	waitpid(agents[0], NULL, 0);
	waitpid(agents[1], NULL, 0);
	strncat(bench->out, "2", 2);
	PROGRAM_STUDY(bench, "-t", "tcp", "--dataset", SMALL, "--rounds", "1");
	ASSERT_EXIT(bench, 0);
	bench_check_clean(bench);
}

/* A start must leave alone what belongs to a study that lives. */
static void start_spares_the_living(void **state)
{
	struct bench *bench = *state;
	start_long_study(bench);
	pid_t living = bench->pid;
	char out[sizeof(bench->out)];
	strncpy(out, bench->out, sizeof(out));
	strncat(bench->out, "2", 2);
	PROGRAM_STUDY(bench, "-t", "tcp", "--dataset", SMALL, "--rounds", "1");
	ASSERT_EXIT(bench, 0);
	bench->pid = living;
	strncpy(bench->out, out, sizeof(out));
	kill(living, SIGINT);
	assert_int_equal(program_wait(bench), 130);
	check_rows(bench);
	bench_check_clean(bench);
}

static void make_old(const char *folder, const char *name)
{
	const struct timespec long_ago[] = { { .tv_sec = 1000000 }, { .tv_sec = 1000000 } };
	AUTO_FREE char *path = path_join(folder, name);
	assert_return_code(utimensat(AT_FDCWD, path, long_ago, 0), errno);
}

/* Also when data lies among the temporary files, and has not changed for long. */
static void start_spares_old_data(void **state)
{
	struct bench *bench = *state;
	char set[128];
	size_t folders = 0;
	snprintf(set, sizeof(set), "dataset.location=%s", bench->tmp);
	bench_add_tool(bench, "waits",
		       "[tool]\nrun = %s mark %s/running\n  sleep 2 copy {src} {dst}\n"
		       "[preserve]\nmode =\n",
		       FAULT_TOOL, bench->files);
	PROGRAM_START_STUDY(bench, "-t", "waits", "--dataset", SMALL, "--rounds", "1", "--set",
			    set);
	bench_await_file(bench, "running");
	AUTO_DIR folder = opendir(bench->tmp);
	for (struct dirent *item; (item = readdir(folder));) {
		if (item->d_name[0] == '.')
			continue;
		make_old(bench->tmp, item->d_name);
		folders++;
	}
	assert_int_equal(folders, 4);
	pid_t living = bench->pid;
	PROGRAM_RUN(bench, "run", "-t", "null", "--dataset", SMALL, "--out", "other", "--rounds",
		    "1");
	ASSERT_EXIT(bench, 0);
	bench->pid = living;
	program_wait(bench);
	ASSERT_EXIT(bench, 0);
	bench_read_results(bench);
	ASSERT_ROW(bench_row(bench, "waits", 1), STATUS_OK);
	bench_check_clean(bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(interrupt_of_the_controller),
		BENCH_TEST(terminate),
		BENCH_TEST(hang_up),
		BENCH_TEST(hang_up_under_nohup),
		BENCH_TEST(interrupt_of_the_group),
		BENCH_TEST(interrupt_many_times),
		BENCH_TEST(interrupt_of_the_start),
		BENCH_TEST(interrupt_between_runs),
		BENCH_TEST(kill_of_the_controller),
		BENCH_TEST(kill_of_all),
		BENCH_TEST(start_spares_the_living),
		BENCH_TEST(start_spares_old_data),
	};
	cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
