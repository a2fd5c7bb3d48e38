/* Between the tree reader's own files only, from the bottom up: tree_reader_records.c, _contents.c,
 * _units.c and tree_reader.c. Errors of what the peer sent are PEER. */
#ifndef LINEFILL_TRANSPORTS_WIRE_TREE_READER_PRIVATE_H
#define LINEFILL_TRANSPORTS_WIRE_TREE_READER_PRIVATE_H

#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"
#include "transports/wire/split_files.h"
#include "transports/wire/tree_reader.h"

/* ---- records ---- */

/* Makes at least wanted bytes available at start; wanted is never more than the buffer holds. */
int tree_reader_fill(struct tree_reader *reader, size_t wanted, struct error *err) MUST_CHECK;
/* The next bytes, and a NUL after them: text has room for bytes + 1. */
int tree_reader_text(struct tree_reader *reader, char *text, size_t bytes,
		     struct error *err) MUST_CHECK;
/* The next record and its text. An ABORT is an error, with the source's own words. */
int tree_reader_next(struct tree_reader *reader, struct error *err) MUST_CHECK;
/* The current record has no business here. Always -1. */
int tree_reader_out_of_order(const struct tree_reader *reader, struct error *err);

/* ---- contents ---- */

/* Bytes of the current file are here: progress. */
void tree_reader_count(struct tree_reader *reader, uint64_t bytes);
void tree_reader_count_unsent(struct tree_reader *reader, uint64_t bytes);
/* DATA, PACKED and HOLE records until the part is whole. */
int tree_reader_contents(struct tree_reader *reader, int fd, const struct split_part *part,
			 struct error *err) MUST_CHECK;

/* ---- units ---- */

/* All that belongs to the current FILE record. */
int tree_reader_file(struct tree_reader *reader, struct error *err) MUST_CHECK;

#endif
