#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "harness/agent/job.h"
#include "harness/base/cancel.h"
#include "harness/base/cleanup.h"
#include "tests/unit/processes.h"

/* Where a job tells the test who it is. */
static pid_t *job_pid;

static int add(const void *argument, void *result, const struct io_limit *limit, struct error *err)
{
	(void)limit;
	(void)err;
	*(int *)result += *(const int *)argument; /* it starts as zero */
	return 0;
}

static int fail_well(const void *argument, void *result, const struct io_limit *limit,
		     struct error *err)
{
	(void)argument;
	(void)limit;
	*(int *)result = 7;
	return error_set(err, ERROR_INTEGRITY, 42, "a byte is wrong");
}

static int fail_silently(const void *argument, void *result, const struct io_limit *limit,
			 struct error *err)
{
	(void)argument;
	(void)result;
	(void)limit;
	(void)err;
	return -1;
}

/* An error that was overcome is none. */
static int succeed_after_all(const void *argument, void *result, const struct io_limit *limit,
			     struct error *err)
{
	(void)argument;
	(void)limit;
	*(int *)result = 5;
	error_set(err, ERROR_TOOL, 1, "the first try");
	return 0;
}

static int crash(const void *argument, void *result, const struct io_limit *limit,
		 struct error *err)
{
	(void)result;
	(void)limit;
	(void)err;
	raise(*(const int *)argument);
	return 0;
}

static int stop_at(const void *argument, void *result, const struct io_limit *limit,
		   struct error *err)
{
	(void)result;
	raise(*(const int *)argument);
	return io_wait(-1, POLLIN, limit, err);
}

static int leave(const void *argument, void *result, const struct io_limit *limit,
		 struct error *err)
{
	(void)result;
	(void)limit;
	(void)err;
	_exit(*(const int *)argument);
	return 0;
}

static int fill(const void *argument, void *result, const struct io_limit *limit, struct error *err)
{
	(void)limit;
	(void)err;
	memset(result, 0x5a, *(const size_t *)argument);
	return 0;
}

static int hang(const void *argument, void *result, const struct io_limit *limit, struct error *err)
{
	(void)argument;
	(void)result;
	(void)limit;
	(void)err;
	signal(SIGTERM, SIG_IGN);
	*job_pid = getpid();
	while (pause() < 0)
		;
	return 0;
}

static int see_limit(const void *argument, void *result, const struct io_limit *limit,
		     struct error *err)
{
	(void)argument;
	(void)err;
	*(int64_t *)result = limit->deadline_ns;
	return limit->cancel ? 0 : -1;
}

static int run(job_function *function, const void *argument, void *result, size_t size,
	       struct error *err)
{
	const struct job job = {
		.name = "test", .function = function, .argument = argument, .result_size = size
	};
	return job_run(&job, result, within(60), err);
}

static void test_results(void **state)
{
	(void)state;
	const int four = 4;
	int sum = 100;
	struct error err = { 0 };
	assert_int_equal(run(add, &four, &sum, sizeof(sum), &err), 0);
	assert_int_equal(sum, 4);
	assert_int_equal(run(succeed_after_all, NULL, &sum, sizeof(sum), &err), 0);
	assert_int_equal(sum, 5);
	assert_int_equal(err.kind, ERROR_NONE);
	int64_t deadline_ns = 0;
	assert_int_equal(run(see_limit, NULL, &deadline_ns, sizeof(deadline_ns), &err), 0);
	assert_true(deadline_ns > clock_now_ns());
}

/* More than a pipe holds. */
static void test_large_result(void **state)
{
	(void)state;
	size_t size = 1 << 20;
	AUTO_FREE unsigned char *result = calloc(1, size);
	assert_int_equal(run(fill, &size, result, size, NULL), 0);
	for (size_t i = 0; i < size; i++)
		assert_int_equal(result[i], 0x5a);
}

static void test_no_result(void **state)
{
	(void)state;
	const int status = 0;
	struct error err = { 0 };
	size_t nothing = 0;
	assert_int_equal(run(fill, &nothing, NULL, 0, &err), 0);
	/* Leaving without a word is no success, whatever the status says. */
	assert_int_equal(run(leave, &status, NULL, 0, &err), -1);
	assert_string_equal(err.message, "test: the process died: exit status 0");
}

static void test_failures(void **state)
{
	(void)state;
	static const int abort_signal = SIGABRT, kill_signal = SIGKILL, seven = 7;
	static const int term_signal = SIGTERM, user_signal = SIGUSR1;
	static const struct {
		job_function *function;
		const void *argument;
		enum error_kind kind;
		int code;
		const char *message;
	} cases[] = {
		{ fail_well, NULL, ERROR_INTEGRITY, 42, "a byte is wrong" },
		{ fail_silently, NULL, ERROR_SYSTEM, 0, "test: failed without saying why" },
		{ crash, &abort_signal, ERROR_SYSTEM, 0,
		  "test: the process died: killed by SIGABRT" },
		{ crash, &kill_signal, ERROR_SYSTEM, 0,
		  "test: the process died: killed by SIGKILL" },
		/* A stranger's wish is not the user's. */
		{ stop_at, &term_signal, ERROR_SYSTEM, 0,
		  "test: the process was killed by SIGTERM" },
		{ crash, &user_signal, ERROR_SYSTEM, 0,
		  "test: the process died: killed by SIGUSR1" },
		{ leave, &seven, ERROR_SYSTEM, 0, "test: the process died: exit status 7" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int result = 0;
		struct error err = { 0 };
		assert_int_equal(
			run(cases[i].function, cases[i].argument, &result, sizeof(result), &err),
			-1);
		assert_int_equal(err.kind, cases[i].kind);
		assert_int_equal(err.code, cases[i].code);
		assert_string_equal(err.message, cases[i].message);
		assert_true(processes_none());
	}
}

static void test_timeout(void **state)
{
	(void)state;
	const struct job job = { .name = "test", .function = hang };
	struct error err = { 0 };
	*job_pid = 0;
	assert_int_equal(job_run(&job, NULL, within(0.2), &err), -1);
	assert_int_equal(err.kind, ERROR_TIMEOUT);
	assert_true(*job_pid == 0 || processes_gone(*job_pid));
}

static void test_cancel(void **state)
{
	(void)state;
	const struct job job = { .name = "test", .function = hang };
	struct error err = { 0 };
	struct cancel cancel;
	assert_int_equal(cancel_open(&cancel, NULL), 0);
	*job_pid = 0;
	pid_t canceller = fork();
	if (canceller == 0) {
		while (!*(volatile pid_t *)job_pid)
			usleep(1000);
		cancel_request(&cancel); /* its descriptor is shared with ours */
		_exit(0);
	}
	const struct io_limit limit = { .deadline_ns = clock_deadline_ns(60), .cancel = &cancel };
	assert_int_equal(job_run(&job, NULL, &limit, &err), -1);
	assert_int_equal(err.kind, ERROR_CANCELLED);
	assert_true(*job_pid > 0 && processes_gone(*job_pid));
	assert_int_equal(waitpid(canceller, NULL, 0), canceller);
	cancel_close(&cancel);
}

static void test_nothing_leaks(void **state)
{
	(void)state;
	const int abort_signal = SIGABRT;
	AUTO_FD before = open("/dev/null", O_RDONLY);
	for (int i = 0; i < 20; i++) {
		int result = 0;
		assert_int_equal(run(crash, &abort_signal, &result, sizeof(result), NULL), -1);
		assert_int_equal(run(add, &abort_signal, &result, sizeof(result), NULL), 0);
	}
	AUTO_FD after = open("/dev/null", O_RDONLY);
	assert_int_equal(after, before + 1);
	assert_true(processes_none());
}

static int share_memory(void **state)
{
	job_pid = mmap(NULL, sizeof(*job_pid), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	return job_pid == MAP_FAILED ? -1 : processes_adopt(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_results),       cmocka_unit_test(test_large_result),
		cmocka_unit_test(test_no_result),     cmocka_unit_test(test_failures),
		cmocka_unit_test(test_timeout),       cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_nothing_leaks),
	};
	return cmocka_run_group_tests(tests, share_memory, processes_check);
}
