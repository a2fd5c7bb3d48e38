/* Asks transports whether they work here, several at once, each in a process of its own: one that
 * hangs or dies is not usable, and hurts nobody else. */
#ifndef LINEFILL_SERVICES_PROBING_H
#define LINEFILL_SERVICES_PROBING_H

#include <sys/types.h>

#include "harness/api/program.h"
#include "harness/base/cancel.h"

/* Longer than any program takes to say its version, also a slow one on a busy machine. */
#define PROBING_LIMIT_S PROGRAM_LIMIT_S
#define PROBING_AT_ONCE 8

/* One question and its answer. */
struct probing {
	const struct transport *transport;
	struct probe probe; /* probe.side is asked for */
	struct error error; /* kind NONE: usable */
};

/* Asks them all. -1 only on CANCELLED, at once. What the probes left behind is ended: every other
 * child of this process but keep, which may be -1. */
int probing_run(struct probing *all, size_t count, pid_t keep, const struct cancel *cancel,
		struct error *err) MUST_CHECK;

#endif
