/* How much arrived, as a tool that moves memory says. */
#ifndef LINEFILL_TRANSPORTS_TOOL_TOOL_COUNT_H
#define LINEFILL_TRANSPORTS_TOOL_TOOL_COUNT_H

#include "harness/api/xfer.h"
#include "harness/base/error.h"
#include "transports/tool/tool_session.h"

/* Finds the amount in what the sink's end said and reports it in xfer->report. TOOL when it is not
 * there, INTEGRITY when it is less than what was to be sent. */
int tool_count(const struct tool *tool, const struct xfer *xfer, const char *said,
	       struct error *err) MUST_CHECK;
/* The same with what a server wrote into its log. */
int tool_count_log(const struct tool *tool, const struct xfer *xfer, const char *path,
		   struct error *err) MUST_CHECK;

#endif
