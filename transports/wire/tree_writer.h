/* Source: puts a tree on a channel in the format of wire.h. Records and contents are packed in one
 * buffer, so that many small files cost few writes. One thread an object. */
#ifndef LINEFILL_TRANSPORTS_WIRE_TREE_WRITER_H
#define LINEFILL_TRANSPORTS_WIRE_TREE_WRITER_H

#include "harness/api/xfer.h"
#include "transports/wire/tree_source.h"
#include "transports/wire/unit_coder.h"
#include "transports/wire/wire.h"

struct tree_writer {
	const struct channel *channel;
	struct xfer_progress *progress;
	struct beneath source;
	struct unit_coder *coder;        /* NULL: no sums, nothing packed */
	struct direct_io *direct;        /* source files bypass the page cache; or NULL */
	unsigned char *storage, *buffer; /* allocated; where records begin */
	size_t block, size, used;
	uint64_t bytes, files; /* of FILE records so far */
	uint64_t complete;     /* files whose last byte was put */
	bool broken;           /* the channel failed: nothing more fits on it */
};

/* A part of a file: the whole of it, or one of several. */
struct tree_part {
	const struct manifest_entry *entry;
	uint64_t offset, length;
};

/* block: bytes of contents a write may carry. Touches the buffer, opens no file. */
int tree_writer_init(struct tree_writer *writer, size_t block, struct error *err) MUST_CHECK;
/* Opens the source's root, and says where to write and count. Both must outlive the writer. */
int tree_writer_start(struct tree_writer *writer, const char *root, const struct channel *channel,
		      struct xfer_progress *progress, struct error *err) MUST_CHECK;
/* Safe on a zeroed object whose init was never called. */
void tree_writer_free(struct tree_writer *writer);

/* A folder or a link, by its type. */
int tree_writer_entry(struct tree_writer *writer, const struct manifest_entry *entry,
		      struct error *err) MUST_CHECK;
int tree_writer_part(struct tree_writer *writer, const struct tree_part *part,
		     struct error *err) MUST_CHECK;
/* Asks whether the sink has this part, instead of sending it. Needs a coder that resumes. */
int tree_writer_offer(struct tree_writer *writer, const struct tree_part *part,
		      struct error *err) MUST_CHECK;
/* Ends a round of records, of which that many were sent on this stream so far, and flushes. */
int tree_writer_round(struct tree_writer *writer, uint64_t records, struct error *err) MUST_CHECK;
/* Writes to another connection from now on; what was not flushed is dropped. */
void tree_writer_restart(struct tree_writer *writer);
int tree_writer_ready(struct tree_writer *writer, struct error *err) MUST_CHECK;
/* The modes that had to wait, innermost folders first. */
int tree_writer_modes(struct tree_writer *writer, const struct manifest *files,
		      enum preserve preserve, struct error *err) MUST_CHECK;
/* Ends with the totals so far, and flushes. */
int tree_writer_end(struct tree_writer *writer, struct error *err) MUST_CHECK;
/* Ends with given totals: those of several streams. */
int tree_writer_end_with(struct tree_writer *writer, uint64_t bytes, uint64_t files,
			 struct error *err) MUST_CHECK;
/* After a failure: tells the sink why nothing more comes. If it was the sink that stopped, *why
 * becomes its own words. Best effort. */
void tree_writer_fail(struct tree_writer *writer, struct error *why);
/* All of a manifest, in its order, to the END. */
int tree_writer_all(struct tree_writer *writer, const struct manifest *files,
		    enum preserve preserve, struct error *err) MUST_CHECK;

#endif
