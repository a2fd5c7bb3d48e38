/* A TCP proxy that misbehaves on purpose: a process of its own between the two ends of a run. */
#ifndef LINEFILL_TESTS_UNIT_TRANSPORTS_PROXY_H
#define LINEFILL_TESTS_UNIT_TRANSPORTS_PROXY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/api/xfer.h"

/* Shared with the proxy's process. Bytes are those of one connection in one direction. */
struct proxy {
	uint64_t cut_after; /* a connection that carried more is cut, cuts times */
	_Atomic int cuts;
	bool dies;         /* with the first cut: cuts all, and takes no other */
	uint64_t flip_at;  /* the byte there is damaged, flips times; before connection flip_from */
	_Atomic int flips; /* none is */
	unsigned flip_from;
	_Atomic uint64_t bytes; /* carried so far, both directions */
	_Atomic unsigned connections;
	_Atomic bool dead;
	uint16_t port, target;
	pid_t pid;
};

/* In shared memory; the caller calls proxy_stop. Fails the program. */
struct proxy *proxy_start(const struct proxy *plan);
/* A pair's when_known: sends it through the proxy, which is the context. */
void proxy_enter(struct endpoint *endpoint, void *proxy);
void proxy_stop(struct proxy *proxy);

#endif
