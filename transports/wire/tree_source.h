/* Reading the source's files: only what the manifest lists, only as long as it is what the manifest
 * says. A file that is gone, unreadable, shorter or longer is an error (SYSTEM) that names it. One
 * thread an object. */
#ifndef LINEFILL_TRANSPORTS_WIRE_TREE_SOURCE_H
#define LINEFILL_TRANSPORTS_WIRE_TREE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/api/manifest.h"
#include "transports/wire/beneath.h"
#include "transports/wire/direct_io.h"

/* A file, or a part of one, being read. */
struct source_file {
	const struct manifest_entry *entry;
	int fd;
	uint64_t at, end;  /* offsets: next byte, and where the part ends */
	uint64_t data_end; /* no hole begins before this offset, as far as asked */
	bool sparse;
	struct direct_io *direct; /* the page cache is bypassed; or NULL */
};

/* What tree_source_read found at the old file->at: data bytes in the buffer, or a hole. */
struct source_extent {
	uint64_t hole_bytes;
	size_t data_bytes;
};

/* Opens entry for [offset, offset + length). */
int tree_source_open_file(struct beneath *source, const struct manifest_entry *entry,
			  uint64_t offset, uint64_t length, struct source_file *file,
			  struct error *err) MUST_CHECK;
/* From now on this file bypasses the page cache. */
int tree_source_direct(struct source_file *file, struct direct_io *direct,
		       struct error *err) MUST_CHECK;
/* The next extent: a hole, or at most room bytes of data (room > 0; the buffer has room + 1 bytes,
 * so that a file that grew is seen). Call while file->at < file->end. */
int tree_source_read(struct source_file *file, void *buffer, size_t room,
		     struct source_extent *extent, struct error *err) MUST_CHECK;
void tree_source_close_file(struct source_file *file);

#endif
