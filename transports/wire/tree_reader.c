#include "transports/wire/tree_reader.h"

#include <stdlib.h>
#include <string.h>

#include "transports/wire/tree_reader_private.h"

#define PAGE_BYTES 4096u

int tree_reader_init(struct tree_reader *reader, size_t block, struct error *err)
{
	*reader = (struct tree_reader){ .sink.beneath = BENEATH_CLOSED };
	/* Room for a full DATA record, the record after it, and the longest text. */
	size_t least = block + 2 * WIRE_RECORD_BYTES + WIRE_PATH_MAX;
	reader->size = (least / PAGE_BYTES + 1) * PAGE_BYTES;
	/* Contents that fill it lie on a page's start: that copies faster. */
	reader->buffer = aligned_alloc(PAGE_BYTES, reader->size);
	if (!reader->buffer)
		return error_set(err, ERROR_SYSTEM, 0, "no memory for a block of %zu bytes", block);
	/* Touched now: page faults are not part of the transfer. */
	memset(reader->buffer, 0, reader->size);
	return 0;
}

int tree_reader_start(struct tree_reader *reader, const struct xfer *xfer,
		      const struct channel *channel, struct error *err)
{
	reader->channel = channel;
	reader->progress = xfer->progress;
	return tree_sink_open(&reader->sink, xfer->root, xfer->preserve, err);
}

void tree_reader_free(struct tree_reader *reader)
{
	if (!reader->buffer)
		return;
	tree_sink_close(&reader->sink);
	free(reader->buffer);
	reader->buffer = NULL;
}

static int take_link(struct tree_reader *reader, struct error *err)
{
	char target[WIRE_PATH_MAX + 1];
	uint64_t length = reader->record.size;
	if (length == 0 || length > WIRE_PATH_MAX)
		return error_set(err, ERROR_PEER, 0, "the peer sent a link target of %llu bytes",
				 (unsigned long long)length);
	if (tree_reader_text(reader, target, (size_t)length, err) < 0)
		return -1;
	if (strlen(target) != length)
		return error_set(err, ERROR_PEER, 0, "the peer sent a link target with a NUL");
	return tree_sink_link(&reader->sink, reader->path, target, err);
}

int tree_reader_check_totals(const struct tree_reader *reader, struct error *err)
{
	if (reader->record.size == reader->bytes && reader->record.extra == reader->files)
		return 0;
	return error_set(
		err, ERROR_PEER, 0, "the source sent %llu bytes in %llu records, %llu in %llu came",
		(unsigned long long)reader->record.size, (unsigned long long)reader->record.extra,
		(unsigned long long)reader->bytes, (unsigned long long)reader->files);
}

/* One record that makes something. */
static int take_one(struct tree_reader *reader, struct error *err)
{
	const struct wire_record *record = &reader->record;
	switch (record->type) {
	case WIRE_FOLDER:
		return tree_sink_folder(&reader->sink, reader->path, record->mode, err);
	case WIRE_LINK:
		return take_link(reader, err);
	case WIRE_FILE:
		if (tree_reader_file(reader, err) < 0)
			return error_wrap(err, "%s", reader->path);
		return 0;
	case WIRE_MODE:
		return tree_sink_folder_mode(&reader->sink, reader->path, record->mode, err);
	default:
		return tree_reader_out_of_order(reader, err);
	}
}

static int take(struct tree_reader *reader, struct error *err)
{
	if (take_one(reader, err) < 0)
		return -1;
	reader->done++;
	return 0;
}

int tree_reader_next_stop(struct tree_reader *reader, struct error *err)
{
	for (;;) {
		if (tree_reader_next(reader, err) < 0)
			return -1;
		enum wire_type type = reader->record.type;
		if (type == WIRE_READY || type == WIRE_ROUND || type == WIRE_END)
			return 0;
		if (take(reader, err) < 0)
			return -1;
	}
}

void tree_reader_restart(struct tree_reader *reader)
{
	reader->start = reader->end = 0;
	reader->broken = false;
}

int tree_reader_run(struct tree_reader *reader, enum wire_type last, struct error *err)
{
	for (;;) {
		if (tree_reader_next(reader, err) < 0)
			return -1;
		if (reader->record.type == last)
			return last == WIRE_END ? tree_reader_check_totals(reader, err) : 0;
		if (take(reader, err) < 0)
			return -1;
	}
}

int tree_reader_close_tree(struct tree_reader *reader, struct error *err)
{
	for (;;) {
		if (tree_reader_next(reader, err) < 0)
			return -1;
		if (reader->record.type == WIRE_END)
			return 0;
		if (reader->record.type != WIRE_MODE)
			return tree_reader_out_of_order(reader, err);
		if (take(reader, err) < 0)
			return -1;
	}
}
