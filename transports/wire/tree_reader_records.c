/* Records and the text that follows them, out of the reader's buffer. */
#include <string.h>

#include "transports/wire/tree_reader_private.h"

int tree_reader_out_of_order(const struct tree_reader *reader, struct error *err)
{
	return error_set(err, ERROR_PEER, 0, "the peer sent a record of type %d out of order",
			 (int)reader->record.type);
}

int tree_reader_fill(struct tree_reader *reader, size_t wanted, struct error *err)
{
	size_t have = reader->end - reader->start;
	if (have >= wanted)
		return 0;
	if (have == 0)
		reader->start = reader->end = 0;
	if (reader->start + wanted > reader->size) {
		memmove(reader->buffer, reader->buffer + reader->start, have);
		reader->start = 0;
		reader->end = have;
	}
	/* What a splice can take must stay in the socket. */
	size_t most = reader->spliced ? wanted - have : reader->size - reader->end;
	reader->spliced = false;
	ssize_t n = reader->channel->read(reader->channel, reader->buffer + reader->end,
					  wanted - have, most, err);
	reader->broken = n < (ssize_t)(wanted - have);
	if (n < 0)
		return -1;
	reader->end += (size_t)n;
	if (reader->broken)
		return error_set(err, ERROR_PEER, 0,
				 "the source closed the connection before the end");
	return 0;
}

int tree_reader_text(struct tree_reader *reader, char *text, size_t bytes, struct error *err)
{
	if (tree_reader_fill(reader, bytes, err) < 0)
		return -1;
	memcpy(text, reader->buffer + reader->start, bytes);
	text[bytes] = '\0';
	reader->start += bytes;
	return 0;
}

static bool names_a_path(enum wire_type type)
{
	return type == WIRE_FOLDER || type == WIRE_LINK || type == WIRE_FILE || type == WIRE_MODE;
}

static int aborted(struct tree_reader *reader, struct error *err)
{
	char why[WIRE_ERROR_MAX + 1];
	if (tree_reader_text(reader, why, reader->record.text_bytes, err) < 0)
		return -1;
	return error_set(err, wire_error_kind(reader->record.mode), 0, "source: %s", why);
}

int tree_reader_next(struct tree_reader *reader, struct error *err)
{
	if (tree_reader_fill(reader, WIRE_RECORD_BYTES, err) < 0)
		return -1;
	if (wire_record_decode(reader->buffer + reader->start, &reader->record, err) < 0)
		return -1;
	reader->start += WIRE_RECORD_BYTES;
	if (reader->record.type == WIRE_ABORT)
		return aborted(reader, err);
	if (!names_a_path(reader->record.type))
		return 0;
	if (tree_reader_text(reader, reader->path, reader->record.text_bytes, err) < 0)
		return -1;
	if (!wire_path_is_safe(reader->path, reader->record.text_bytes))
		return error_set(err, ERROR_PEER, 0,
				 "the peer sent a path that may leave the folder: %s",
				 reader->path);
	return 0;
}
