/* Programs that use the CPUs beside a study are noticed. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/base/cleanup.h"
#include "tests/cli/program.h"

#define BURNERS_MAX 64

static pid_t burn(void)
{
	pid_t pid = fork();
	assert_return_code(pid, errno);
	if (pid > 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		;
}

/* One busy loop a CPU: whoever copies beside them gets half of it at most. */
static void busy_loops_are_noticed(void **state)
{
	static const char says[] =
		"n 2 of 2 runs of null:copy=yes,receive_s=1 other processes used";
	struct bench *bench = *state;
	pid_t burners[BURNERS_MAX];
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int count = cpus < BURNERS_MAX ? (int)cpus : BURNERS_MAX;
	for (int i = 0; i < count; i++)
		burners[i] = burn();
	PROGRAM_STUDY(bench, "-t", "null:copy=yes,receive_s=1", "--dataset", "single:bytes=1KiB",
		      "--rounds", "2");
	for (int i = 0; i < count; i++) {
		kill(burners[i], SIGKILL);
		waitpid(burners[i], NULL, 0);
	}
	ASSERT_EXIT(bench, 0);
	for (size_t i = 0; i < bench->results.count; i++) {
		const struct result *row = &bench->results.rows[i];
		ASSERT_ROW(row, STATUS_OK);
		assert_true(row->cpu_source_other_pct > 50 && row->cpu_sink_other_pct > 50);
		assert_true(row->cpu_sink_steal_pct >= 0 && row->cpu_source_steal_pct >= 0);
	}
	ASSERT_HOLDS(bench->output, says);
	AUTO_FREE char *report = bench_read_out(bench, "report.html");
	ASSERT_HOLDS(report, says);
	bench_check_clean(bench);
}

/* What the copy itself burns is not others'. */
static void own_work_is_no_noise(void **state)
{
	struct bench *bench = *state;
	PROGRAM_STUDY(bench, "-t", "null:copy=yes,burn_source_s=1,burn_sink_s=1", "--dataset",
		      "single:bytes=1KiB", "--rounds", "1");
	const struct result *row = &bench->results.rows[0];
	ASSERT_ROW(row, STATUS_OK);
	/* Other programs may run, but not on the CPU that the copy had. */
	double cpu_s = row->total_s * (double)sysconf(_SC_NPROCESSORS_ONLN);
	double own_pct = 100 * (row->cpu_source_s + row->cpu_sink_s) / cpu_s;
	assert_true(row->cpu_source_s + row->cpu_sink_s >= 2);
	assert_true(row->cpu_sink_other_pct <= 110 - own_pct);
}

/* Ticks say nothing about a moment. */
static void short_runs_are_unknown(void **state)
{
	struct bench *bench = *state;
	PROGRAM_STUDY(bench, "-t", "null:copy=yes", "--dataset", "single:bytes=1KiB", "--rounds",
		      "5");
	for (size_t i = 0; i < bench->results.count; i++) {
		const struct result *row = &bench->results.rows[i];
		ASSERT_ROW(row, STATUS_OK);
		if (row->total_s < 0.25)
			assert_true(isnan(row->cpu_sink_other_pct) &&
				    isnan(row->cpu_source_steal_pct));
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(busy_loops_are_noticed),
		BENCH_TEST(own_work_is_no_noise),
		BENCH_TEST(short_runs_are_unknown),
	};
	cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
