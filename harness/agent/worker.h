/* One half of one transfer, in a process of its own: the only caller of transport operations. The
 * worker is the leader of a process group and adopts orphans, so that it can be killed with all
 * that it started, and its CPU is all that this end's half used. */
#ifndef LINEFILL_AGENT_WORKER_H
#define LINEFILL_AGENT_WORKER_H

#include <stdbool.h>

#include "harness/api/transport.h"
#include "harness/base/child.h"
#include "harness/base/usage.h"

/* What the worker says to its agent, each at most once and in this order. */
enum worker_stage {
	WORKER_STARTED,
	WORKER_READY, /* prepared; the endpoint is published */
	WORKER_DONE,  /* its part is complete, or failed: error says so */
	WORKER_ENDED, /* cleaned up, all descendants are reaped; usage and report are final */
};

struct worker {
	enum xfer_side side;
	struct child child;
	int fd; /* to the worker; readable when it says something or died; -1: none */
	enum worker_stage stage;
	struct error error; /* kind NONE: fine so far */
	bool stopping;      /* by worker_stop */
	int64_t done_ns;    /* when DONE was heard, CLOCK_MONOTONIC */
	struct endpoint endpoint;
	struct usage usage; /* from READY to ENDED */
	struct xfer_report report;
};

#define WORKER_NONE ((struct worker){ .child = CHILD_NONE, .fd = -1, .stage = WORKER_ENDED })

/* Forks; the worker starts to prepare at once. xfer must be complete but for cancel and report, and
 * stays the caller's (the worker has a copy). close_fds: descriptors of the agent's that the worker
 * has no business with, ends with -1. */
int worker_start(struct worker *worker, const struct xfer *xfer, const int *close_fds,
		 struct error *err) MUST_CHECK;
/* The driving end's workers wait for this after READY; at the listening end it says that the driver
 * is done, for workers that have nothing to move. */
int worker_go(struct worker *worker, struct error *err) MUST_CHECK;
/* Call when fd or child.fd is readable: takes what the worker says; a worker that died becomes
 * ENDED with an error. One that stopped although it was not asked to was killed by a signal of a
 * stranger's, and says so. */
void worker_listen(struct worker *worker);
/* Asks it to stop (SIGTERM to the worker only). */
void worker_stop(struct worker *worker);
/* Kills the group, reaps, closes. */
void worker_end(struct worker *worker);

#endif
