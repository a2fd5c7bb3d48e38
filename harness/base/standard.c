#include "harness/base/standard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

/* The lowest free number is taken, which is the one we want once those below are. */
static void open_null(int number, int flags)
{
	if (open("/dev/null", flags) != number)
		abort();
}

void standard_start(void)
{
	static const int flags[] = { O_RDONLY, O_RDONLY, O_WRONLY };
	for (int number = 0; number <= 2; number++)
		if (fcntl(number, F_GETFD) < 0 && errno == EBADF)
			open_null(number, flags[number]);
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	if (sigaction(SIGPIPE, &ignore, NULL) < 0 || sigaction(SIGXFSZ, &ignore, NULL) < 0)
		abort();
}

void standard_leave(const int *fds)
{
	for (; fds && *fds >= 0; fds++)
		close(*fds);
	for (int number = 0; number <= 2; number++)
		if (fcntl(number, F_GETFD) < 0 && errno == EBADF)
			open_null(number, O_RDWR);
}
