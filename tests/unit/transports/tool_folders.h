/* From the text of a tool file to what it did, in folders of a test's own. What goes wrong on the
 * way to a run ends the program. */
#ifndef LINEFILL_TESTS_UNIT_TRANSPORTS_TOOL_FOLDERS_H
#define LINEFILL_TESTS_UNIT_TRANSPORTS_TOOL_FOLDERS_H

#include "harness/api/transport.h"
#include "tests/unit/transports/tool_worker.h"

struct tool_folders {
	char *base;
	char *scratch, *from, *to; /* in it: for the tool's own files, the source, the copy */
};

/* Empty folders, whose paths are owned by *folders. */
void tool_folders_make(struct tool_folders *folders);
/* With all that is in them; -1 where that fails. */
int tool_folders_drop(struct tool_folders *folders);
/* A file that a tool wrote to its copy; the caller frees it. */
char *tool_folders_read(const struct tool_folders *folders, const char *name);

/* To be freed with tool_free. */
struct transport *tool_of(const char *text);
/* The transport's options as the string sets them; the caller frees them. */
void *tool_options_of(const struct transport *transport, const char *options);
/* One end in the folders on the loopback, with 30 s for it: the rest is the caller's. */
struct xfer tool_xfer(const struct tool_folders *folders, const struct transport *transport);
/* tool_worker_drive with these options and without an endpoint. */
struct tool_outcome tool_drive(const struct xfer *xfer, const char *options);

#endif
