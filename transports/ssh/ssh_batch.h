/* The socket of a libssh2 session, below the library: while packets are batched, what it sends is
 * collected and goes out in few large writes, and it is spared a read before each packet when there
 * was nothing to read a moment ago. One thread. */
#ifndef LINEFILL_TRANSPORTS_SSH_SSH_BATCH_H
#define LINEFILL_TRANSPORTS_SSH_SSH_BATCH_H

#include <libssh2.h>
#include <stdbool.h>

#include "harness/base/io.h"

struct ssh_batch {
	int fd;     /* non-blocking */
	bool on;    /* between begin and end */
	bool quiet; /* nothing came when the library read last */
	unsigned char *bytes;
	size_t start, end; /* bytes[start, end) waits to be sent */
};

/* The session's abstract pointer must be batch. */
void ssh_batch_attach(struct ssh_batch *batch, LIBSSH2_SESSION *session);
void ssh_batch_free(struct ssh_batch *batch);
/* Begins to collect; once the library said EAGAIN, wait before it is called again. */
void ssh_batch_begin(struct ssh_batch *batch);
/* Sends what was collected, then waits for events (of poll(2)), those that the library waits for.
 */
int ssh_batch_wait(struct ssh_batch *batch, short events, const struct io_limit *limit,
		   struct error *err) MUST_CHECK;
/* Sends all that was collected, and no longer collects. */
int ssh_batch_end(struct ssh_batch *batch, const struct io_limit *limit,
		  struct error *err) MUST_CHECK;

#endif
