#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/standard.h"

/* In a child, whose standard descriptors are its own; true when check says so. */
static bool holds(bool (*check)(void))
{
	int status = 0;
	pid_t pid = fork();
	assert_return_code(pid, errno);
	if (pid == 0)
		_exit(check() ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool all_are_open(void)
{
	for (int number = 0; number <= 2; number++)
		if (fcntl(number, F_GETFD) != 0) /* and a program started inherits them */
			return false;
	return true;
}

static bool closed_become_null(void)
{
	char byte = 0;
	close(0);
	close(1);
	close(2);
	standard_start();
	int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return next > 2 && all_are_open() && read(0, &byte, 1) == 0 && write(2, "x", 1) == 1 &&
	       write(1, "x", 1) == -1 && errno == EBADF;
}

static bool open_ones_stay(void)
{
	int ends[2];
	char byte = 0;
	if (pipe(ends) < 0 || dup2(ends[1], 1) < 0)
		return false;
	close(2);
	standard_start();
	return write(1, "x", 1) == 1 && read(ends[0], &byte, 1) == 1 && all_are_open();
}

static bool writes_fail_and_do_not_kill(void)
{
	int ends[2];
	const struct rlimit none = { 0, 0 };
	standard_start();
	if (pipe(ends) < 0 || close(ends[0]) < 0)
		return false;
	if (write(ends[1], "x", 1) != -1 || errno != EPIPE)
		return false;
	AUTO_FD file = open("/tmp", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	return file >= 0 && setrlimit(RLIMIT_FSIZE, &none) == 0 && write(file, "x", 1) == -1 &&
	       errno == EFBIG;
}

/* Descriptors of an agent that a worker leaves: 0 and 1, and one above. */
static bool left_ones_become_null(void)
{
	int ends[2];
	if (pipe(ends) < 0 || dup2(ends[0], 0) < 0 || dup2(ends[1], 1) < 0)
		return false;
	const int own[] = { 0, 1, ends[1], -1 };
	standard_leave(own);
	char byte = 0;
	/* Nobody holds the pipe's other end: our 1 is /dev/null. */
	return all_are_open() && write(1, "x", 1) == 1 && read(0, &byte, 1) == 0 &&
	       fcntl(ends[1], F_GETFD) < 0 && read(ends[0], &byte, 1) == 0;
}

static void test_standard(void **state)
{
	(void)state;
	assert_true(holds(closed_become_null));
	assert_true(holds(open_ones_stay));
	assert_true(holds(writes_fail_and_do_not_kill));
	assert_true(holds(left_ones_become_null));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_standard) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
