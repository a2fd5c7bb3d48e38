/* What workers start, use and leave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>

#include "harness/base/cleanup.h"
#include "tests/unit/agent/worker_script.h"

static pid_t start_burner(double seconds, bool new_session)
{
	pid_t pid = fork();
	if (pid != 0)
		return pid;
	if (new_session)
		setsid();
	processes_burn(seconds);
	_exit(0);
}

static int burn_myself(struct xfer *xfer, struct error *err)
{
	struct timespec before;
	(void)err;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
	processes_burn((double)before.tv_sec + (double)before.tv_nsec * 1e-9 +
		       script_of(xfer)->burn_s);
	return 0;
}

static int burn_in_a_child(struct xfer *xfer, struct error *err)
{
	(void)err;
	pid_t pid = start_burner(script_of(xfer)->burn_s, false);
	return waitpid(pid, NULL, 0) == pid ? 0 : -1;
}

/* A child's child burns, and its parent does not wait for it: the worker inherits it. Nobody says
 * when it is through but the end of a pipe. */
static int burn_in_an_orphan(struct xfer *xfer, struct error *err)
{
	int ends[2];
	char nothing;
	(void)err;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		sight->pids[0] = start_burner(script_of(xfer)->burn_s, true);
		_exit(0);
	}
	close(ends[1]);
	bool ended = waitpid(pid, NULL, 0) == pid && read(ends[0], &nothing, 1) == 0;
	close(ends[0]);
	return ended ? 0 : -1;
}

static int burn_by_a_tool(struct xfer *xfer, struct error *err)
{
	static const char *const argv[] = {
		"sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; times", NULL
	};
	const struct child_spec spec = { .argv = argv, .input = -1 };
	struct io_limit limit = xfer_limit(xfer);
	AUTO_TEXT output = { 0 };
	int status = 0;
	if (child_capture(&spec, &limit, sizeof(sight->text) - 1, &output, &status, err) < 0)
		return -1;
	text_copy(sight->text, sizeof(sight->text), text_string(&output));
	return status == 0 ? 0 : error_set(err, ERROR_TOOL, status, "sh failed");
}

static void assert_cpu(const struct worker *worker, double least_s, double most_s)
{
	double cpu_s = worker->usage.user_s + worker->usage.system_s;
	if (cpu_s < least_s || cpu_s > most_s)
		fail_msg("%.3f s of CPU, not %.3f to %.3f", cpu_s, least_s, most_s);
}

static void test_cpu(void **state)
{
	(void)state;
	static int (*const ways[])(struct xfer *, struct error *) = { burn_myself, burn_in_a_child,
								      burn_in_an_orphan };
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		const struct script script = { .act = ways[i], .burn_s = 0.5 };
		struct worker worker = start(&scripted, XFER_SOURCE, &script);
		run_to_end(&worker);
		assert_int_equal(worker.error.kind, ERROR_NONE);
		/* Nothing is lost; a fork costs a little, more under a sanitizer. */
		assert_cpu(&worker, 0.49, 0.75);
	}
}

static int burn_before(struct xfer *xfer, struct error *err)
{
	return burn_in_a_child(xfer, err);
}

static void test_cpu_of_prepare_does_not_count(void **state)
{
	(void)state;
	const struct script script = { .prepare = burn_before, .burn_s = 0.5 };
	struct worker worker = start(&scripted, XFER_SOURCE, &script);
	run_to_end(&worker);
	assert_int_equal(worker.error.kind, ERROR_NONE);
	assert_cpu(&worker, 0, 0.25);
}

/* The tool says itself, through "times", what it used. */
static void test_cpu_of_a_tool(void **state)
{
	(void)state;
	const struct script script = { .act = burn_by_a_tool };
	double user_m = 0, user_s = 0, system_m = 0, system_s = 0;
	struct worker worker = start(&scripted, XFER_SINK, &script);
	wait_stage(&worker, WORKER_ENDED);
	worker_end(&worker);
	assert_int_equal(worker.error.kind, ERROR_NONE);
	assert_int_equal(
		sscanf(sight->text, "%lfm%lfs %lfm%lfs", &user_m, &user_s, &system_m, &system_s),
		4);
	double tool_s = 60 * (user_m + system_m) + user_s + system_s;
	assert_cpu(&worker, tool_s - 0.03, tool_s + 0.25);
	assert_true(processes_none());
}

/* In groups and sessions of their own, deaf, with children: all are gone when the worker is. */
static int leave_a_family(struct xfer *xfer, struct error *err)
{
	(void)err;
	for (int i = 0; i < 4; i++) {
		pid_t pid = fork();
		if (pid != 0)
			continue;
		close_range(3, ~0U, 0); /* as a program that is executed loses them */
		signal(SIGTERM, SIG_IGN);
		if (i % 2)
			setsid();
		pid_t inner = fork();
		sight->pids[2 * i + (inner == 0)] = getpid();
		while (pause() < 0)
			;
	}
	for (size_t i = 0; i < ARRAY_SIZE(sight->pids); i++)
		while (!sight->pids[i])
			usleep(1000);
	return script_of(xfer)->burn_s > 0 ? abort_now(xfer, err) : 0;
}

static void test_what_is_left_is_ended(void **state)
{
	(void)state;
	const struct script script = { .act = leave_a_family };
	struct worker worker = start(&scripted, XFER_SOURCE, &script);
	run_to_end(&worker);
	assert_int_equal(worker.error.kind, ERROR_NONE);
	for (size_t i = 0; i < ARRAY_SIZE(sight->pids); i++)
		assert_true(sight->pids[i] > 0 && processes_gone(sight->pids[i]));
}

/* A worker that crashes cannot tidy up: its group goes with it, the rest is its agent's to end. */
static void test_what_a_crash_leaves(void **state)
{
	(void)state;
	const struct script script = { .act = leave_a_family, .burn_s = 1 };
	struct worker worker = start(&scripted, XFER_SOURCE, &script);
	wait_stage(&worker, WORKER_READY);
	assert_int_equal(worker_go(&worker, NULL), 0);
	wait_stage(&worker, WORKER_ENDED);
	worker_end(&worker);
	for (size_t i = 0; i < ARRAY_SIZE(sight->pids); i++)
		if (i % 4 < 2)
			assert_true(processes_gone(sight->pids[i]));
	child_end_strays(NULL, 0);
	for (size_t i = 0; i < ARRAY_SIZE(sight->pids); i++)
		assert_true(processes_gone(sight->pids[i]));
	assert_true(processes_none());
}

static int is_program_there(struct xfer *xfer, struct error *err)
{
	static const char *const argv[] = { "no-such-program", NULL };
	const struct child_spec spec = { .argv = argv, .input = -1, .output = -1, .error = -1 };
	struct child child = CHILD_NONE;
	(void)xfer;
	return child_start(&spec, &child, err);
}

static void test_missing_tool(void **state)
{
	(void)state;
	const struct script script = { .act = is_program_there };
	struct worker worker = start(&scripted, XFER_SOURCE, &script);
	run_to_end(&worker);
	assert_int_equal(worker.error.kind, ERROR_UNAVAILABLE);
	assert_string_equal(worker.error.message, "no-such-program: not found");
}

/* A worker lives no longer than who started it. */
static void test_agent_dies(void **state)
{
	(void)state;
	const struct script script = { .act = hang };
	memset(sight, 0, sizeof(*sight)); /* before anybody writes to it */
	pid_t agent = fork();
	if (agent == 0) {
		const struct xfer xfer = { .transport = &scripted,
					   .side = XFER_SINK,
					   .options = &script,
					   .deadline_ns = CLOCK_NEVER,
					   .progress = &progress };
		struct worker worker = WORKER_NONE;
		if (worker_start(&worker, &xfer, NULL, NULL) < 0)
			_exit(1);
		while (!sight->pids[0])
			usleep(1000);
		_exit(0);
	}
	int status = -1;
	assert_int_equal(waitpid(agent, &status, 0), agent);
	assert_int_equal(status, 0);
	assert_true(processes_gone(sight->pids[0]));
}

static int look_for_fd(struct xfer *xfer, struct error *err)
{
	int fd = (int)script_of(xfer)->burn_s;
	struct stat status;
	/* The number may be in use again, but not for a device. */
	return fstat(fd, &status) < 0 || !S_ISCHR(status.st_mode)
		       ? 0
		       : error_set(err, ERROR_SYSTEM, 0, "it is open");
}

static void test_closed_descriptors(void **state)
{
	(void)state;
	AUTO_FD fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	const struct script script = { .act = look_for_fd, .burn_s = fd };
	const struct xfer xfer = { .transport = &scripted,
				   .side = XFER_SINK,
				   .options = &script,
				   .deadline_ns = clock_deadline_ns(60),
				   .progress = &progress };
	for (int closed = 0; closed < 2; closed++) {
		const int fds[] = { closed ? fd : -1, -1 };
		struct worker worker = WORKER_NONE;
		assert_int_equal(worker_start(&worker, &xfer, fds, NULL), 0);
		wait_stage(&worker, WORKER_ENDED);
		worker_end(&worker);
		assert_int_equal(worker.error.kind, closed ? ERROR_NONE : ERROR_SYSTEM);
	}
	assert_true(fcntl(fd, F_GETFD) >= 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cpu),
		cmocka_unit_test(test_cpu_of_prepare_does_not_count),
		cmocka_unit_test(test_cpu_of_a_tool),
		cmocka_unit_test(test_what_is_left_is_ended),
		cmocka_unit_test(test_what_a_crash_leaves),
		cmocka_unit_test(test_missing_tool),
		cmocka_unit_test(test_agent_dies),
		cmocka_unit_test(test_closed_descriptors),
	};
	return cmocka_run_group_tests(tests, group_setup, processes_check);
}
