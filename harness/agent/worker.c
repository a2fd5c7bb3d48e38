#include "harness/agent/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/standard.h"

/* Both ends are this very program: the struct itself is the message, one per packet. */
struct note {
	enum worker_stage stage;
	struct error error;
	int signal; /* that told it to stop; 0: none */
	struct endpoint endpoint;
	struct usage usage;
	struct xfer_report report;
};

static bool is_driver(const struct xfer *xfer)
{
	return xfer->transport->driver == xfer->side;
}

static int say(int fd, const struct note *note)
{
	return send(fd, note, sizeof(*note), MSG_NOSIGNAL) == (ssize_t)sizeof(*note) ? 0 : -1;
}

static int wait_for_word(int fd, const struct xfer *xfer, struct error *err)
{
	char word = 0;
	struct io_limit limit = xfer_limit(xfer);
	return io_read_full(fd, &word, 1, &limit, err);
}

static int move_data(int fd, struct xfer *xfer, const struct endpoint *endpoint, struct error *err)
{
	const struct transport *transport = xfer->transport;
	if (is_driver(xfer) && transport->connect && transport->connect(xfer, endpoint, err) < 0)
		return -1;
	int (*move)(struct xfer *, struct error *) =
		xfer->side == XFER_SOURCE ? transport->send : transport->receive;
	/* Where a server does this end, there is nothing to do but to keep it until the driver is
	 * done. */
	if (!move && !is_driver(xfer))
		return wait_for_word(fd, xfer, err);
	if (move && move(xfer, err) < 0)
		return -1;
	return transport->finish ? transport->finish(xfer, err) : 0;
}

/* prepare to finish, with what the agent must hear on the way. */
static int live(int fd, struct xfer *xfer, const struct endpoint *peer, struct note *note)
{
	struct error *err = &note->error;
	if (xfer->transport->prepare(xfer, err) < 0)
		return -1;
	if (!is_driver(xfer) && xfer->transport->listen &&
	    xfer->transport->listen(xfer, &note->endpoint, err) < 0)
		return -1;
	note->stage = WORKER_READY;
	note->usage = usage_of_process();
	if (say(fd, note) < 0)
		return error_system(err, "the agent is gone");
	if (is_driver(xfer) && wait_for_word(fd, xfer, err) < 0)
		return -1;
	return move_data(fd, xfer, peer, err);
}

_Noreturn static void worker_main(int fd, struct xfer *xfer, const struct endpoint *peer)
{
	static struct cancel cancel; /* a signal handler knows it */
	struct xfer_report report = { 0 };
	struct note note = { .stage = WORKER_STARTED };
	xfer->cancel = &cancel;
	xfer->report = &report;
	if (cancel_open(&cancel, &note.error) < 0 || cancel_on_signals(&cancel, &note.error) < 0 ||
	    child_adopt_orphans(&note.error) < 0) {
		say(fd, &note);
		_exit(1);
	}
	if (live(fd, xfer, peer, &note) == 0)
		note.error = (struct error){ 0 };
	else if (note.error.kind == ERROR_NONE)
		error_set(&note.error, ERROR_SYSTEM, 0, "%s failed without saying why",
			  xfer->transport->name);
	struct usage baseline = note.usage;
	note.stage = WORKER_DONE;
	note.signal = cancel_signal(&cancel);
	note.report = report;
	say(fd, &note);
	xfer->transport->cleanup(xfer);
	child_end_strays(NULL, 0);
	note.stage = WORKER_ENDED;
	note.report = report;
	note.usage = usage_since(usage_of_process(), baseline);
	say(fd, &note);
	_exit(0);
}

int worker_start(struct worker *worker, const struct xfer *xfer, const int *close_fds,
		 struct error *err)
{
	int ends[2];
	/* Packets keep notes whole. */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
		return error_system(err, "socketpair");
	struct endpoint peer = worker->endpoint;
	*worker = (struct worker){
		.side = xfer->side, .child = CHILD_NONE, .fd = ends[0], .endpoint = peer
	};
	int side = child_fork(&worker->child, err);
	if (side == 0) {
		close(ends[0]);
		standard_leave(close_fds);
		struct xfer mine = *xfer;
		worker_main(ends[1], &mine, &peer);
	}
	close(ends[1]);
	return side < 0 ? -1 : 0;
}

int worker_go(struct worker *worker, struct error *err)
{
	if (send(worker->fd, "G", 1, MSG_NOSIGNAL) != 1)
		return error_system(err, "the worker is gone");
	return 0;
}

static const char *end_name(const struct worker *worker)
{
	return worker->side == XFER_SOURCE ? "source" : "sink";
}

/* The user's wish to stop comes from the agent, which asks. What else stops a worker is a signal of
 * a stranger's, or the other end's word that it stopped. */
static void take_error(struct worker *worker, const struct note *note)
{
	char name[32];
	worker->error = note->error;
	if (worker->stopping || note->error.kind == ERROR_NONE)
		return;
	if (note->signal)
		error_set(&worker->error, ERROR_SYSTEM, 0,
			  "the worker process at the %s was killed by %s", end_name(worker),
			  child_signal_name(note->signal, name, sizeof(name)));
	else if (note->error.kind == ERROR_CANCELLED)
		worker->error.kind = ERROR_PEER;
}

static void worker_died(struct worker *worker)
{
	char text[64];
	int status = 0;
	pid_t pid = worker->child.pid;
	const struct io_limit never = { .deadline_ns = CLOCK_NEVER };
	kill(-pid, SIGKILL); /* with what it started; its number is free once it is reaped */
	if (child_wait(&worker->child, &never, &status, NULL) < 0)
		child_end(&worker->child);
	if (worker->error.kind == ERROR_NONE)
		error_set(&worker->error, ERROR_SYSTEM, 0, "the worker process at the %s died: %s",
			  end_name(worker), child_status_text(status, text, sizeof(text)));
	if (worker->stage < WORKER_DONE)
		worker->done_ns = clock_now_ns();
	worker->stage = WORKER_ENDED;
}

/* Said by the kernel: something that the worker forked may keep its end of the socket open. */
static bool has_ended(const struct worker *worker)
{
	struct pollfd polled = { .fd = worker->child.fd, .events = POLLIN };
	return poll(&polled, 1, 0) > 0;
}

void worker_listen(struct worker *worker)
{
	struct note note;
	ssize_t n = recv(worker->fd, &note, sizeof(note), 0);
	/* A worker that ended without reading our last word resets the connection; its own last
	 * words are still there to be read. */
	if (n < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNRESET)) {
		if (errno == EAGAIN && has_ended(worker))
			worker_died(worker);
		return;
	}
	if (n != (ssize_t)sizeof(note)) {
		worker_died(worker);
		return;
	}
	if (note.stage == WORKER_DONE)
		worker->done_ns = clock_now_ns();
	worker->stage = note.stage;
	take_error(worker, &note);
	worker->endpoint = note.endpoint;
	worker->usage = note.usage;
	worker->report = note.report;
}

void worker_stop(struct worker *worker)
{
	worker->stopping = true;
	if (worker->child.pid > 0)
		kill(worker->child.pid, SIGTERM);
}

void worker_end(struct worker *worker)
{
	child_end(&worker->child);
	if (worker->fd >= 0)
		close(worker->fd);
	worker->fd = -1;
}
