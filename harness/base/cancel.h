/* "Stop now", seen by loops as a flag and by poll(2) as a readable descriptor. One writer, any
 * readers. */
#ifndef LINEFILL_BASE_CANCEL_H
#define LINEFILL_BASE_CANCEL_H

#include <stdatomic.h>
#include <stdbool.h>

#include "harness/base/error.h"

struct cancel {
	atomic_bool requested;
	atomic_int signal; /* the first one that requested it; 0: none did */
	int fd; /* readable once requested: an eventfd, or any descriptor that says so by being
		 * readable; -1 where there is none */
};

/* A cancel that nobody can request: for calls that need one but have nobody to stop them. */
#define CANCEL_NONE ((struct cancel){ .fd = -1 })

int cancel_open(struct cancel *cancel, struct error *err) MUST_CHECK;
void cancel_close(struct cancel *cancel);
/* Async-signal-safe. */
void cancel_request(struct cancel *cancel);
static inline bool cancel_requested(const struct cancel *cancel)
{
	return cancel && atomic_load_explicit(&cancel->requested, memory_order_relaxed);
}
/* The signal that requested it, or 0: in a process that is not the user's, it came from a stranger
 * unless its parent sent it. */
static inline int cancel_signal(const struct cancel *cancel)
{
	return atomic_load_explicit(&cancel->signal, memory_order_relaxed);
}
/* Makes SIGINT, SIGTERM and SIGHUP request this cancel; one per process, it must outlive the
 * process's main loop. The second signal changes nothing; a SIGHUP that is ignored already, as by
 * nohup, stays so; SIGPIPE becomes EPIPE. */
int cancel_on_signals(struct cancel *cancel, struct error *err) MUST_CHECK;

#endif
