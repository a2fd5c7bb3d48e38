/* A tree copied on one machine by plain reads and writes, as `cp` does it without its short cuts:
 * no connection, one process, one thread. */
#ifndef LINEFILL_TRANSPORTS_WIRE_LOCAL_COPY_H
#define LINEFILL_TRANSPORTS_WIRE_LOCAL_COPY_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/api/xfer.h"

/* What must be spoilt, once each, at the first file that allows it: verification must notice. */
struct local_copy_spoil {
	bool flip, truncate, lose;
};

struct local_copy {
	unsigned char *buffer;
	size_t block;
	struct local_copy_spoil spoil;
};

/* Allocates and touches the buffer. block: bytes that a read or write moves at most. */
void local_copy_init(struct local_copy *copy, size_t block);
/* xfer's files from its source_root to its root. Holes stay holes. */
int local_copy_run(struct local_copy *copy, const struct xfer *xfer, struct error *err) MUST_CHECK;
/* Safe on a zeroed object. */
void local_copy_free(struct local_copy *copy);

#endif
