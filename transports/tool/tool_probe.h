/* Finds a tool's program and its version on this machine. */
#ifndef LINEFILL_TRANSPORTS_TOOL_TOOL_PROBE_H
#define LINEFILL_TRANSPORTS_TOOL_TOOL_PROBE_H

#include <regex.h>

#include "harness/api/transport.h"
#include "harness/base/error.h"
#include "transports/tool/tool_file.h"

/* pattern is the compiled file->version, or NULL. UNAVAILABLE says what is missing. */
int tool_probe(const struct tool_file *file, const regex_t *pattern, struct probe *probe,
	       struct error *err) MUST_CHECK;

#endif
