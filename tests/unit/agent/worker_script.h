/* Workers whose transport does what a test tells it to, and tells what was done of it. */
#ifndef LINEFILL_TESTS_UNIT_AGENT_WORKER_SCRIPT_H
#define LINEFILL_TESTS_UNIT_AGENT_WORKER_SCRIPT_H

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/agent/worker.h"
#include "tests/unit/processes.h"

/* What a transport that is driven by these tests does, and what it tells of itself through memory
 * that all its processes share. */
struct script {
	int (*act)(struct xfer *xfer, struct error *err); /* in send or receive */
	int (*prepare)(struct xfer *xfer, struct error *err);
	double burn_s;
};

struct sight {
	_Atomic int prepared, connected, moved, finished, cleaned;
	_Atomic pid_t pids[8]; /* of processes that act started */
	struct endpoint seen;
	char text[64];
};

static struct sight *sight;

static inline const struct script *script_of(const struct xfer *xfer)
{
	return xfer->options;
}

static inline int script_prepare(struct xfer *xfer, struct error *err)
{
	sight->prepared++;
	return script_of(xfer)->prepare ? script_of(xfer)->prepare(xfer, err) : 0;
}

static inline int script_listen(struct xfer *xfer, struct endpoint *endpoint, struct error *err)
{
	(void)xfer;
	(void)err;
	*endpoint = (struct endpoint){ .host = "127.0.0.1", .port = 4711 };
	return 0;
}

static inline int script_connect(struct xfer *xfer, const struct endpoint *endpoint,
				 struct error *err)
{
	(void)xfer;
	(void)err;
	sight->seen = *endpoint;
	sight->connected++;
	return 0;
}

static inline int script_move(struct xfer *xfer, struct error *err)
{
	sight->moved++;
	return script_of(xfer)->act ? script_of(xfer)->act(xfer, err) : 0;
}

static inline int script_finish(struct xfer *xfer, struct error *err)
{
	(void)err;
	xfer->report->streams = 3;
	text_copy(xfer->report->cipher, sizeof(xfer->report->cipher), "rot13");
	sight->finished++;
	return 0;
}

static inline void script_cleanup(struct xfer *xfer)
{
	(void)xfer;
	sight->cleaned++;
}

static const struct transport scripted = {
	.name = "scripted",
	.summary = "does what a test tells it to",
	.driver = XFER_SOURCE,
	.prepare = script_prepare,
	.listen = script_listen,
	.connect = script_connect,
	.send = script_move,
	.receive = script_move,
	.finish = script_finish,
	.cleanup = script_cleanup,
};

/* The sink's end is a server's. */
static const struct transport served = {
	.name = "served",
	.summary = "a server does the sink's end",
	.driver = XFER_SOURCE,
	.prepare = script_prepare,
	.send = script_move,
	.cleanup = script_cleanup,
};

static struct xfer_progress progress;

static inline struct worker start(const struct transport *transport, enum xfer_side side,
				  const struct script *script)
{
	struct worker worker = WORKER_NONE;
	struct error err = { 0 };
	const struct xfer xfer = {
		.transport = transport,
		.side = side,
		.options = script,
		.deadline_ns = clock_deadline_ns(120),
		.progress = &progress,
	};
	memset(sight, 0, sizeof(*sight));
	worker.endpoint = (struct endpoint){ .host = "127.0.0.9", .port = 99 };
	if (worker_start(&worker, &xfer, NULL, &err) < 0)
		fail_msg("%s", err.message);
	return worker;
}

static inline void wait_stage(struct worker *worker, enum worker_stage stage)
{
	int64_t end_ns = clock_deadline_ns(60);
	while (worker->stage < stage) {
		struct pollfd polled = { .fd = worker->fd, .events = POLLIN };
		if (poll(&polled, 1, clock_poll_ms(end_ns)) <= 0)
			fail_msg("the worker did not get to stage %d", stage);
		worker_listen(worker);
	}
}

/* From go to the end, which must leave nothing behind. */
static inline void run_to_end(struct worker *worker)
{
	wait_stage(worker, WORKER_READY);
	if (worker->stage == WORKER_READY)
		assert_int_equal(worker_go(worker, NULL), 0);
	wait_stage(worker, WORKER_ENDED);
	worker_end(worker);
	assert_int_equal(worker->fd, -1);
	assert_true(processes_none());
}

static inline int abort_now(struct xfer *xfer, struct error *err)
{
	(void)xfer;
	(void)err;
	raise(SIGABRT);
	return 0;
}

static inline int hang(struct xfer *xfer, struct error *err)
{
	sigset_t all;
	(void)xfer;
	(void)err;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	sight->pids[0] = getpid();
	while (pause() < 0)
		;
	return 0;
}

static inline int group_setup(void **state)
{
	sight = mmap(NULL, sizeof(*sight), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	return sight == MAP_FAILED ? -1 : processes_adopt(state);
}

#endif
