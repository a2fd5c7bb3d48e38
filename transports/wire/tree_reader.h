/* Sink: takes a tree from a channel in the format of wire.h and writes it beneath a folder. Trusts
 * nothing that comes: every length, path and order is checked, and memory does not depend on what
 * the peer says. One thread an object. */
#ifndef LINEFILL_TRANSPORTS_WIRE_TREE_READER_H
#define LINEFILL_TRANSPORTS_WIRE_TREE_READER_H

#include <pthread.h>

#include "harness/api/xfer.h"
#include "transports/wire/splice_sink.h"
#include "transports/wire/split_files.h"
#include "transports/wire/tree_sink.h"
#include "transports/wire/unit_coder.h"
#include "transports/wire/wire.h"

struct tree_reader {
	const struct channel *channel;
	struct xfer_progress *progress;
	struct tree_sink sink;
	struct split_files *splits; /* NULL: parts of files are an error */
	struct unit_coder *coder;   /* NULL: no sums, nothing packed, nothing that is there */
	struct splice_sink *splice; /* NULL: contents are read and written */
	pthread_mutex_t *turn;      /* of the current file if it is split, see split_files.h */
	unsigned char *buffer;
	size_t size, start, end;      /* buffer[start, end) came and is not used yet */
	uint64_t bytes, files;        /* of FILE records so far */
	uint64_t complete;            /* files that were completed here */
	uint64_t done;                /* FOLDER, LINK and FILE records taken to their end */
	uint64_t counted, unsent;     /* of the current file: bytes counted as progress, and of
					 them those that were not sent */
	bool broken;                  /* the channel failed, or ended too early */
	bool spliced;                 /* the last bytes did not come through the buffer */
	struct wire_record record;    /* the current one, */
	char path[WIRE_PATH_MAX + 1]; /* and its text */
};

/* block: bytes of contents a read may bring. Touches the buffer, opens nothing. */
int tree_reader_init(struct tree_reader *reader, size_t block, struct error *err) MUST_CHECK;
/* Opens the sink's root, and says where to read and count. Both must outlive the reader. */
int tree_reader_start(struct tree_reader *reader, const struct xfer *xfer,
		      const struct channel *channel, struct error *err) MUST_CHECK;
/* Safe on a zeroed object whose init was never called. */
void tree_reader_free(struct tree_reader *reader);

/* Takes records up to and including the first of type last: WIRE_READY or WIRE_END. The totals of
 * an END must be those of this stream. */
int tree_reader_run(struct tree_reader *reader, enum wire_type last, struct error *err) MUST_CHECK;
/* Takes records up to and including the first READY, ROUND or END, which is in reader->record. */
int tree_reader_next_stop(struct tree_reader *reader, struct error *err) MUST_CHECK;
/* Reads from another connection from now on; what the old one brought of a record is dropped. */
void tree_reader_restart(struct tree_reader *reader);
/* An END whose totals are not those of this stream is an error. */
int tree_reader_check_totals(const struct tree_reader *reader, struct error *err) MUST_CHECK;
/* Takes the records that close a tree of several streams: late modes, and an END with the totals of
 * all, which the caller checks in reader->record. */
int tree_reader_close_tree(struct tree_reader *reader, struct error *err) MUST_CHECK;

#endif
