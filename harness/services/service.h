/* A server of the study's own ("sshd") at the listening end. A keeper process accepts connections
 * on the run's own address and starts one real server process for each (sshd -i on the accepted
 * socket), so that no port can be taken in between, no burst is dropped, and the CPU of every
 * session that ended is known exactly from wait4(2). */
#ifndef LINEFILL_SERVICES_SERVICE_H
#define LINEFILL_SERVICES_SERVICE_H

#include <stdint.h>

#include "harness/base/child.h"
#include "harness/base/error.h"
#include "harness/base/io.h"
#include "harness/base/usage.h"

/* What one connection is served by. */
struct service_spec {
	const char *name;
	const char *host;        /* literal address to listen on */
	const char *const *argv; /* started with the connection as 0 and 1; ends with NULL */
	const char *log_file;    /* gets its standard error, appended */
	/* What every client says first: nothing is started for callers who say nothing, or
	 * something else; the server reads it. NULL: nothing is waited for. */
	const char *opening;
};

struct service_keeper {
	struct child child;
	int fd; /* to the keeper; -1: none */
	uint16_t port;
};

#define SERVICE_NONE ((struct service_keeper){ .child = CHILD_NONE, .fd = -1 })

/* close_fds: the agent's descriptors that the keeper has no business with, ends with -1. */
int service_start(struct service_keeper *keeper, const struct service_spec *spec,
		  const int *close_fds, struct error *err) MUST_CHECK;
/* CPU of the keeper and of all sessions, once none runs any more: those that do not end within
 * SERVICE_PATIENCE_S are killed. */
#define SERVICE_PATIENCE_S 5
int service_drain(struct service_keeper *keeper, struct usage *usage, const struct io_limit *limit,
		  struct error *err) MUST_CHECK;
/* SYSTEM, with how it died, when the keeper is no more. */
int service_check(const struct service_keeper *keeper, struct error *err) MUST_CHECK;
/* Kills the sessions, then the keeper, and reaps. */
void service_stop(struct service_keeper *keeper);

#endif
