/* Runs one end of a transfer in a process of its own, as the harness does: tools end every
 * descendant of the process that runs them. */
#ifndef LINEFILL_TESTS_UNIT_TRANSPORTS_TOOL_WORKER_H
#define LINEFILL_TESTS_UNIT_TRANSPORTS_TOOL_WORKER_H

#include "harness/api/transport.h"
#include "harness/base/error.h"
#include "harness/base/usage.h"

struct tool_outcome {
	int result; /* 0 or -1 */
	struct error err;
	struct xfer_report report;
	struct usage usage; /* of the worker and all it waited for, after cleanup */
	int64_t drive_ns;   /* how long connect, send or receive, and finish took */
};

/* prepare, connect (when endpoint is not NULL), send or receive, finish, cleanup. */
struct tool_outcome tool_worker_drive(const struct xfer *xfer, const struct endpoint *endpoint);

#endif
