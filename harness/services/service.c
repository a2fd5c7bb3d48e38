#include "harness/services/service.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/callers.h"
#include "harness/base/child.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/log.h"
#include "harness/base/net.h"
#include "harness/base/standard.h"

/* More connections at once than any run makes. */
#define SESSIONS_MAX 512

struct keeper {
	const struct service_spec *spec;
	int listener, agent, signals;
	struct callers *callers;
	pid_t sessions[SESSIONS_MAX]; /* that run */
	size_t count;
	int64_t drain_deadline_ns; /* CLOCK_NEVER: nobody waits for the sessions to end */
};

static void start_session(struct keeper *keeper, int connection)
{
	AUTO_FD log = open(keeper->spec->log_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	struct error err = { 0 };
	struct child child = CHILD_NONE;
	struct child_spec spec = {
		.argv = keeper->spec->argv, .input = connection, .output = connection, .error = log
	};
	if (child_start(&spec, &child, &err) < 0) {
		log_line(LOG_WARNING, "%s: %s", keeper->spec->name, err.message);
		return;
	}
	close(child.fd); /* reaped by pid */
	keeper->sessions[keeper->count++] = child.pid;
}

static bool is_client(const struct keeper *keeper, const char *hello)
{
	const char *opening = keeper->spec->opening;
	return !opening || memcmp(hello, opening, strlen(opening)) == 0;
}

/* Servers expect a descriptor that blocks. */
static int make_blocking(int fd)
{
	return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
}

static void hear_callers(struct keeper *keeper, const struct pollfd *polled)
{
	char hello[CALLERS_HELLO_BYTES];
	struct error err = { 0 };
	int caller;
	if (callers_hear(keeper->callers, polled, &err) < 0) {
		int64_t pause_ns = CLOCK_PAUSE_MAX_NS;
		log_line(LOG_WARNING, "%s: %s", keeper->spec->name, err.message);
		clock_rest(&pause_ns); /* the listener stays ready */
	}
	while ((caller = callers_take(keeper->callers, hello)) >= 0) {
		AUTO_FD connection = caller;
		if (is_client(keeper, hello) && keeper->count < SESSIONS_MAX &&
		    make_blocking(connection) == 0)
			start_session(keeper, connection);
	}
}

static void tell(struct keeper *keeper)
{
	struct usage usage = usage_of_process();
	keeper->drain_deadline_ns = CLOCK_NEVER;
	if (send(keeper->agent, &usage, sizeof(usage), MSG_NOSIGNAL) < 0)
		_exit(1);
}

static bool has_children(void)
{
	siginfo_t none = { 0 };
	return waitid(P_ALL, 0, &none, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

static void forget_session(struct keeper *keeper, pid_t pid)
{
	for (size_t i = 0; i < keeper->count; i++)
		if (keeper->sessions[i] == pid) {
			keeper->sessions[i] = keeper->sessions[--keeper->count];
			return;
		}
}

/* Orphans that sessions left count as sessions until they end too. */
static void reap_sessions(struct keeper *keeper)
{
	struct signalfd_siginfo info;
	while (read(keeper->signals, &info, sizeof(info)) > 0)
		;
	for (pid_t pid; (pid = waitpid(-1, NULL, WNOHANG)) > 0;)
		forget_session(keeper, pid);
	if (has_children())
		return;
	keeper->count = 0;
	if (keeper->drain_deadline_ns != CLOCK_NEVER)
		tell(keeper);
}

static void end_sessions(struct keeper *keeper)
{
	child_end_strays(NULL, 0);
	keeper->count = 0;
}

/* All who came by now. As many as the backlog holds: newcomers without end are strangers. */
static void hear_waiting(struct keeper *keeper)
{
	struct pollfd polled[CALLERS_WATCHED];
	for (int i = 0; i < NET_BACKLOG; i++) {
		if (poll(polled, callers_watch(keeper->callers, polled), 0) <= 0)
			return;
		hear_callers(keeper, polled);
	}
}

static void hear_agent(struct keeper *keeper)
{
	char ask = 0;
	if (recv(keeper->agent, &ask, 1, 0) <= 0) {
		end_sessions(keeper);
		_exit(0);
	}
	/* Whoever connected before the agent asked is one to wait for: it may still write. */
	hear_waiting(keeper);
	if (!has_children())
		tell(keeper);
	else
		keeper->drain_deadline_ns = clock_deadline_ns(SERVICE_PATIENCE_S);
}

_Noreturn static void keeper_main(struct keeper *keeper)
{
	sigset_t watched;
	sigemptyset(&watched);
	sigaddset(&watched, SIGCHLD);
	sigprocmask(SIG_BLOCK, &watched, NULL);
	keeper->signals = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
	if (keeper->signals < 0 || child_adopt_orphans(NULL) < 0)
		_exit(126);
	const char *opening = keeper->spec->opening;
	keeper->callers = callers_open(keeper->listener, opening ? strlen(opening) : 0, true);
	struct pollfd polled[CALLERS_WATCHED + 2] = { { .fd = keeper->agent, .events = POLLIN },
						      { .fd = keeper->signals, .events = POLLIN } };
	for (;;) {
		size_t count = callers_watch(keeper->callers, polled + 2) + 2;
		int ready = poll(polled, count, clock_poll_ms(keeper->drain_deadline_ns));
		if (ready < 0 && errno != EINTR)
			_exit(126);
		if (ready < 0)
			continue;
		if (ready == 0) {
			log_line(LOG_WARNING, "%s: a session outlived its run and was killed",
				 keeper->spec->name);
			end_sessions(keeper);
			tell(keeper);
			continue;
		}
		if (polled[1].revents)
			reap_sessions(keeper);
		hear_callers(keeper, polled + 2);
		if (polled[0].revents)
			hear_agent(keeper);
	}
}

int service_start(struct service_keeper *keeper, const struct service_spec *spec,
		  const int *close_fds, struct error *err)
{
	AUTO_FD listener = net_listen(spec->host, &keeper->port, err);
	if (listener < 0)
		return error_wrap(err, "%s", spec->name);
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_system(err, "socketpair");
	int side = child_fork(&keeper->child, err);
	if (side == 0) {
		close(ends[0]);
		standard_leave(close_fds);
		struct keeper own = { .spec = spec,
				      .listener = listener,
				      .agent = ends[1],
				      .drain_deadline_ns = CLOCK_NEVER };
		keeper_main(&own);
	}
	close(ends[1]);
	keeper->fd = ends[0];
	return side < 0 ? -1 : io_set_nonblocking(keeper->fd, err);
}

int service_check(const struct service_keeper *keeper, struct error *err)
{
	siginfo_t info = { 0 };
	char name[32];
	if (waitid(P_PID, (id_t)keeper->child.pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	    info.si_pid == 0)
		return 0;
	if (info.si_code == CLD_EXITED)
		return error_set(err, ERROR_SYSTEM, 0,
				 "the keeper of the private server died: exit status %d",
				 info.si_status);
	return error_set(err, ERROR_SYSTEM, 0,
			 "the keeper of the private server died: killed by %s",
			 child_signal_name(info.si_status, name, sizeof(name)));
}

int service_drain(struct service_keeper *keeper, struct usage *usage, const struct io_limit *limit,
		  struct error *err)
{
	const char byte = 'd'; /* whatever it is */
	struct usage old;
	/* An answer that nobody waited for any more is not the one to this. */
	while (recv(keeper->fd, &old, sizeof(old), MSG_DONTWAIT) > 0)
		;
	if (send(keeper->fd, &byte, 1, MSG_NOSIGNAL) != 1 ||
	    io_read_full(keeper->fd, usage, sizeof(*usage), limit, err) < 0) {
		if (service_check(keeper, err) < 0)
			return -1;
		return error_wrap(err, "the keeper of the server");
	}
	return 0;
}

void service_stop(struct service_keeper *keeper)
{
	const struct io_limit patience = { .deadline_ns = clock_deadline_ns(SERVICE_PATIENCE_S) };
	int status = 0;
	if (keeper->fd >= 0)
		close(keeper->fd); /* end of file: it ends its sessions and itself */
	if (keeper->child.pid > 0 && child_wait(&keeper->child, &patience, &status, NULL) < 0)
		child_end(&keeper->child);
	*keeper = SERVICE_NONE;
}
