#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/child.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"

static const struct io_limit *within(double seconds)
{
	static struct io_limit limit;
	limit = (struct io_limit){ .deadline_ns = clock_deadline_ns(seconds) };
	return &limit;
}

static int capture(const char *const *argv, struct text *output, int *status, struct error *err)
{
	const struct child_spec spec = { .argv = argv, .input = -1 };
	return child_capture(&spec, within(20), 1000, output, status, err);
}

static void test_capture(void **state)
{
	(void)state;
	const char *const argv[] = { "sh", "-c", "echo out; echo err >&2; cat; exit 3", NULL };
	AUTO_TEXT output = { 0 };
	int status = 0;
	assert_int_equal(capture(argv, &output, &status, NULL), 0);
	assert_string_equal(text_string(&output), "out\nerr\n");
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

static void test_capture_keeps_the_beginning(void **state)
{
	(void)state;
	const char *const argv[] = { "seq", "1", "100000", NULL };
	AUTO_TEXT output = { 0 };
	int status = -1;
	assert_int_equal(capture(argv, &output, &status, NULL), 0);
	assert_int_equal(status, 0);
	assert_int_equal(output.length, 1000);
	assert_int_equal(strncmp(text_string(&output), "1\n2\n", 4), 0);
}

static void test_failed_starts(void **state)
{
	(void)state;
	static const struct {
		const char *program, *folder, *message;
		enum error_kind kind;
	} cases[] = {
		{ "no-such-program", NULL, "no-such-program: not found", ERROR_UNAVAILABLE },
		{ "/etc/passwd", NULL, "/etc/passwd: not executable", ERROR_UNAVAILABLE },
		{ "/etc", NULL, "/etc: not executable", ERROR_UNAVAILABLE },
		{ "true", "/no/such", "true: working folder /no/such: No such file or directory",
		  ERROR_SYSTEM },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *const argv[] = { cases[i].program, NULL };
		const struct child_spec spec = { .argv = argv,
						 .folder = cases[i].folder,
						 .input = -1,
						 .output = -1,
						 .error = -1 };
		struct child child = CHILD_NONE;
		struct error err = { 0 };
		assert_int_equal(child_start(&spec, &child, &err), -1);
		assert_int_equal(err.kind, cases[i].kind);
		assert_string_equal(err.message, cases[i].message);
		assert_int_equal(child.pid, -1);
	}
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nothing is left to reap */
}

static void test_surroundings(void **state)
{
	(void)state;
	const char *const argv[] = { "sh", "-c", "pwd; echo $A$HOME; ls /proc/self/fd", NULL };
	const char *const env[] = { "A=b", NULL };
	const struct child_spec spec = { .argv = argv, .env = env, .folder = "/usr", .input = -1 };
	AUTO_TEXT output = { 0 };
	int status = -1;
	AUTO_FD inherited = open("/dev/null", O_RDONLY);
	assert_true(inherited >= 0);
	assert_int_equal(child_capture(&spec, within(20), 1000, &output, &status, NULL), 0);
	assert_string_equal(text_string(&output), "/usr\nb\n0\n1\n2\n3\n");
}

static void test_signals_are_reset(void **state)
{
	(void)state;
	const char *const argv[] = { "grep", "-E", "^Sig(Blk|Ign):", "/proc/self/status", NULL };
	sigset_t block, before;
	sigemptyset(&block);
	sigaddset(&block, SIGTERM);
	sigprocmask(SIG_BLOCK, &block, &before);
	signal(SIGPIPE, SIG_IGN);
	AUTO_TEXT output = { 0 };
	int status = -1;
	assert_int_equal(capture(argv, &output, &status, NULL), 0);
	sigprocmask(SIG_SETMASK, &before, NULL);
	assert_string_equal(text_string(&output),
			    "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

/* A shell whose own child also sleeps; *pid is that one. */
static struct child start_family(pid_t *pid)
{
	int ends[2];
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	const char *const argv[] = { "sh", "-c", "sleep 100 & echo $!; wait", NULL };
	const struct child_spec spec = {
		.argv = argv, .input = -1, .output = ends[1], .error = -1
	};
	struct child child = CHILD_NONE;
	assert_int_equal(child_start(&spec, &child, NULL), 0);
	close(ends[1]);
	char text[32] = { 0 };
	assert_true(read(ends[0], text, sizeof(text) - 1) > 0);
	close(ends[0]);
	*pid = (pid_t)atoi(text);
	return child;
}

static bool is_gone(pid_t pid)
{
	for (int i = 0; i < 1000; i++) {
		if (kill(pid, 0) < 0 && errno == ESRCH)
			return true;
		/* Killed, but it takes whoever adopted it a moment to reap it. */
		usleep(5000);
	}
	return false;
}

static void test_wait_and_end(void **state)
{
	(void)state;
	pid_t grandchild = 0;
	struct child child = start_family(&grandchild);
	pid_t pid = child.pid;
	struct error err = { 0 };
	int status = 0;
	assert_int_equal(getpgid(pid), pid);
	assert_int_equal(getpgid(grandchild), pid);
	assert_int_equal(child_wait(&child, within(0.05), &status, &err), -1);
	assert_int_equal(err.kind, ERROR_TIMEOUT);
	assert_int_equal(kill(pid, 0), 0);
	child_end(&child);
	assert_int_equal(child.pid, -1);
	assert_true(is_gone(pid));
	assert_true(is_gone(grandchild));
	child_end(&child);
}

static void test_capture_deadline(void **state)
{
	(void)state;
	const char *const argv[] = { "sleep", "100", NULL };
	const struct child_spec spec = { .argv = argv, .input = -1 };
	AUTO_TEXT output = { 0 };
	struct error err = { 0 };
	int status = 0;
	assert_int_equal(child_capture(&spec, within(0.05), 10, &output, &status, &err), -1);
	assert_int_equal(err.kind, ERROR_TIMEOUT);
	assert_int_equal(strncmp(err.message, "sleep: ", 7), 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void test_status_text(void **state)
{
	(void)state;
	char text[64];
	assert_string_equal(child_status_text(3 << 8, text, sizeof(text)), "exit status 3");
	assert_string_equal(child_status_text(SIGKILL, text, sizeof(text)), "killed by SIGKILL");
}

static void test_find_program(void **state)
{
	(void)state;
	struct error err = { 0 };
	AUTO_FREE char *shell = child_find_program("sh", &err);
	assert_non_null(shell);
	assert_int_equal(shell[0], '/');
	assert_null(child_find_program("no-such-program", &err));
	assert_int_equal(err.kind, ERROR_UNAVAILABLE);
	assert_string_equal(err.message, "no-such-program: not found");
}

static void test_fork(void **state)
{
	(void)state;
	struct child child = CHILD_NONE;
	int side = child_fork(&child, NULL);
	if (side == 0)
		_exit(getpgrp() == getpid() ? 7 : 8);
	assert_int_equal(side, 1);
	int status = 0;
	assert_int_equal(child_wait(&child, within(20), &status, NULL), 0);
	assert_int_equal(WEXITSTATUS(status), 7);
}

struct thread_job {
	struct child child;
	int started, release; /* pipe ends: said once, waited for */
};

static void *start_in_thread(void *argument)
{
	struct thread_job *job = argument;
	const char *const argv[] = { "sleep", "100", NULL };
	/* It must not die with this thread. */
	const struct child_spec spec = {
		.argv = argv, .input = -1, .output = -1, .error = -1, .outlives_parent = true
	};
	char word = child_start(&spec, &job->child, NULL) == 0 ? 'y' : 'n';
	if (write(job->started, &word, 1) < 0 || read(job->release, &word, 1) < 0)
		return argument;
	return NULL;
}

static void test_strays(void **state)
{
	(void)state;
	pid_t grandchild = 0;
	struct child kept = start_family(&grandchild);
	int started[2];
	int release[2];
	assert_int_equal(pipe2(started, O_CLOEXEC), 0);
	assert_int_equal(pipe2(release, O_CLOEXEC), 0);
	struct thread_job job = { CHILD_NONE, started[1], release[0] };
	pthread_t thread;
	char word = 0;
	assert_int_equal(child_adopt_orphans(NULL), 0);
	assert_int_equal(pthread_create(&thread, NULL, start_in_thread, &job), 0);
	assert_int_equal(read(started[0], &word, 1), 1);
	assert_int_equal(word, 'y');
	pid_t doomed = job.child.pid;
	pid_t orphan_of = 0;
	struct child family = start_family(&orphan_of);
	/* One with a child of its own, one of another thread; what is kept stays. */
	child_end_strays(&kept.pid, 1);
	assert_int_equal(kill(kept.pid, 0), 0);
	assert_int_equal(kill(grandchild, 0), 0);
	assert_true(kill(doomed, 0) < 0 && errno == ESRCH);
	assert_true(kill(family.pid, 0) < 0 && errno == ESRCH);
	assert_true(kill(orphan_of, 0) < 0 && errno == ESRCH);
	child_end_strays(NULL, 0);
	assert_true(kill(kept.pid, 0) < 0 && errno == ESRCH);
	assert_true(kill(grandchild, 0) < 0 && errno == ESRCH);
	close(kept.fd);
	close(job.child.fd);
	close(family.fd);
	close(release[1]);
	pthread_join(thread, NULL);
	close(release[0]);
	close(started[0]);
	close(started[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_capture),
		cmocka_unit_test(test_capture_keeps_the_beginning),
		cmocka_unit_test(test_failed_starts),
		cmocka_unit_test(test_surroundings),
		cmocka_unit_test(test_signals_are_reset),
		cmocka_unit_test(test_wait_and_end),
		cmocka_unit_test(test_capture_deadline),
		cmocka_unit_test(test_status_text),
		cmocka_unit_test(test_find_program),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_strays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
