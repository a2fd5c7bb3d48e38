/* What is known of a tool in one run. */
#ifndef LINEFILL_TRANSPORTS_TOOL_TOOL_SESSION_H
#define LINEFILL_TRANSPORTS_TOOL_TOOL_SESSION_H

#include <regex.h>

#include "harness/api/transport.h"
#include "transports/tool/tool_expand.h"
#include "transports/tool/tool_file.h"
#include "transports/wire/server_process.h"

/* The transport comes first: a pointer to it is one to the whole. */
struct tool {
	struct transport transport;
	struct tool_file *file;
	regex_t version, counted;
	bool has_version, has_counted;
};

/* xfer->private, from prepare to cleanup. */
struct tool_session {
	struct server_process server;
	char *folder, *log;
	char secret[2 * XFER_TOKEN_BYTES + 1]; /* {token}: not to be seen in what programs say */
	struct endpoint peer;                  /* what connect was told; port 0 before */
	bool failed;
};

const struct tool *tool_session_tool(const struct transport *transport);
/* What the placeholders of this end's commands stand for, as far as it is known by now. */
struct tool_view tool_session_view(const struct xfer *xfer);

#endif
