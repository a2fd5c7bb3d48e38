/* What tests of processes share: deadlines, and the proof that no process is left behind. */
#ifndef LINEFILL_TESTS_UNIT_PROCESSES_H
#define LINEFILL_TESTS_UNIT_PROCESSES_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/base/child.h"
#include "harness/base/clock.h"
#include "harness/base/io.h"

static inline const struct io_limit *within(double seconds)
{
	static struct io_limit limit;
	limit = (struct io_limit){ .deadline_ns = clock_deadline_ns(seconds) };
	return &limit;
}

/* cmocka's group setup: orphans come to the test, which then sees them. */
static inline int processes_adopt(void **state)
{
	(void)state;
	return child_adopt_orphans(NULL);
}

/* True if this process has no child, dead or alive, not even an adopted one. */
static inline bool processes_none(void)
{
	siginfo_t info;
	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
}

/* The same as a teardown: what a test leaves behind is its failure. */
static inline int processes_check(void **state)
{
	(void)state;
	return processes_none() ? 0 : -1;
}

/* Waits until the process is gone; zombies that came to us are reaped. */
static inline bool processes_gone(pid_t pid)
{
	for (int i = 0; i < 4000; i++) {
		waitpid(pid, NULL, WNOHANG);
		if (kill(pid, 0) < 0 && errno == ESRCH)
			return true;
		usleep(5000);
	}
	return false;
}

/* Uses up that much of the processor, user time by and large. */
static inline void processes_burn(double seconds)
{
	struct timespec now;
	do {
		for (volatile int spin = 0; spin < 100000; spin++)
			;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	} while ((double)now.tv_sec + (double)now.tv_nsec * 1e-9 < seconds);
}

#endif
