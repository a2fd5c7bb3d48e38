/* The source, looked at again: what was copied must be what it still holds, else no tool is to
 * blame. Files are read again only where their size, times or inode leave doubt. */
#ifndef LINEFILL_AGENT_SOURCE_H
#define LINEFILL_AGENT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/api/manifest.h"
#include "harness/base/error.h"
#include "harness/base/io.h"

/* How each file of a manifest looked when its contents were known: 8 bytes a file, in memory that
 * the agent shares with its jobs. All zero is none. */
struct source_marks {
	uint64_t *marks;
	size_t count;
};

/* So many, all unknown. */
int source_marks_make(struct source_marks *marks, size_t count, struct error *err) MUST_CHECK;
void source_marks_drop(struct source_marks *marks);
/* From now on all files are in doubt. */
void source_marks_forget(const struct source_marks *marks);

struct source_tree {
	const struct manifest *wanted;
	const char *root;
	uint64_t *marks; /* one an entry */
	enum preserve preserve;
};

/* Takes what is there for what belongs there, as far as that can be seen without reading files. */
int source_take(const struct source_tree *tree, const struct io_limit *limit,
		struct error *err) MUST_CHECK;
/* INTEGRITY when it changed; what cannot be read is an error of its kind. The message says that it
 * is the source. Afterwards its marks mean nothing. */
int source_look(const struct source_tree *tree, const struct io_limit *limit,
		struct error *err) MUST_CHECK;

#endif
