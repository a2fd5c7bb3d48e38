/* What the placeholders of a tool file stand for in one run. */
#ifndef LINEFILL_TRANSPORTS_TOOL_TOOL_EXPAND_H
#define LINEFILL_TRANSPORTS_TOOL_TOOL_EXPAND_H

#include <stdio.h>

#include "harness/api/xfer.h"
#include "harness/base/error.h"
#include "harness/base/text.h"
#include "transports/tool/tool_file.h"
#include "transports/tool/tool_template.h"

struct tool_view {
	const struct tool_file *file;
	const struct xfer *xfer;
	const char *host; /* the other end for a driver, the own address for a server */
	uint16_t port;
	const char *scratch;                /* the folder of this worker's own files */
	const struct manifest_entry *entry; /* what {file} means; NULL: the tree's only file */
	bool in_text;                       /* a file is written, which has a syntax of its own */
};

/* Adds the words of a command. UNSUPPORTED when a remote shell would misread the other end's
 * folder.
 */
int tool_expand(const struct tool_view *view, char **command, struct tool_words *out,
		struct error *err) MUST_CHECK;
/* Writes the lines of a [file NAME], which may have one for each of a million files. UNSUPPORTED
 * when a name could be misread in it. */
int tool_expand_text(const struct tool_view *view, const struct tool_text *text, FILE *out,
		     struct error *err) MUST_CHECK;
/* Adds NAME=value words: the clean environment, then the file's own, which win. */
int tool_expand_environment(const struct tool_view *view, struct tool_words *out,
			    struct error *err) MUST_CHECK;
/* The environment of a probe, which knows no run. */
int tool_probe_environment(struct tool_words *out, struct error *err) MUST_CHECK;

#endif
