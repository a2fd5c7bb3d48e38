/* The last step of reading a tool file: every placeholder is known and fits where it stands, and
 * nothing that was declared goes unused. */
#ifndef LINEFILL_TRANSPORTS_TOOL_TOOL_CHECK_H
#define LINEFILL_TRANSPORTS_TOOL_TOOL_CHECK_H

#include "harness/base/error.h"
#include "transports/tool/tool_file.h"
#include "transports/tool/tool_raw.h"

/* CONFIG with path:line. */
int tool_check(const char *path, const struct tool_raw *raw, const struct tool_file *file,
	       struct error *err) MUST_CHECK;

#endif
