/* The contents of one file or part: as they are, packed, by way of a splice, or a hole. */
#include <unistd.h>

#include "harness/base/io.h"
#include "transports/wire/tree_reader_private.h"

static void begin_turn(const struct tree_reader *reader)
{
	if (reader->turn)
		pthread_mutex_lock(reader->turn);
}

static void end_turn(const struct tree_reader *reader)
{
	if (reader->turn)
		pthread_mutex_unlock(reader->turn);
}

void tree_reader_count(struct tree_reader *reader, uint64_t bytes)
{
	reader->counted += bytes;
	xfer_progress_add(reader->progress, bytes);
}

void tree_reader_count_unsent(struct tree_reader *reader, uint64_t bytes)
{
	reader->counted += bytes;
	reader->unsent += bytes;
	xfer_progress_add_unsent(reader->progress, bytes);
}

static int write_contents(struct tree_reader *reader, int fd, size_t bytes, uint64_t offset,
			  struct error *err)
{
	const unsigned char *contents = reader->buffer + reader->start;
	struct direct_io *direct = reader->sink.direct;
	begin_turn(reader);
	int result = direct ? direct_io_write(direct, fd, contents, bytes, offset, err)
			    : io_write_at(fd, contents, bytes, offset, err);
	end_turn(reader);
	return result;
}

/* What came already is written, the rest goes by way of the splice. What the file system does not
 * take that way is left, for the buffer. */
static int take_spliced(struct tree_reader *reader, int fd, uint64_t *offset, uint64_t *left,
			struct error *err)
{
	struct splice_sink *splice = reader->splice;
	size_t have = reader->end - reader->start;
	if (have > *left)
		have = (size_t)*left;
	if (write_contents(reader, fd, have, *offset, err) < 0)
		return -1;
	reader->start += have;
	tree_reader_count(reader, have);
	*offset += have;
	*left -= have;
	uint64_t before = splice->moved;
	reader->spliced = *left > 0;
	splice->turn = reader->turn;
	reader->broken = true;
	int result = splice_sink_move(splice, reader->channel, fd, *offset, *left, reader->progress,
				      err);
	reader->broken = result < 0;
	uint64_t moved = splice->moved - before;
	reader->counted += moved;
	*left -= moved;
	if (result == 0 || splice->in >= 0 || moved > 0 || err->kind != ERROR_UNSUPPORTED)
		return result;
	reader->broken = reader->spliced = false;
	reader->splice = NULL;
	return 0;
}

/* The bytes of a DATA record go to the file at offset. */
static int take_data(struct tree_reader *reader, int fd, uint64_t offset, struct error *err)
{
	if (reader->bytes == 0) {
		/* On a slow line a whole block comes much later than its first byte. */
		if (tree_reader_fill(reader, 1, err) < 0)
			return -1;
		xfer_progress_mark(reader->progress);
	}
	uint64_t left = reader->record.size;
	if (reader->splice && left >= SPLICE_LEAST_BYTES &&
	    take_spliced(reader, fd, &offset, &left, err) < 0)
		return -1;
	while (left > 0) {
		/* Another record follows for sure: to ask for it too saves a read. */
		size_t most = reader->size - WIRE_RECORD_BYTES;
		size_t wanted = left < most ? (size_t)left : most;
		if (tree_reader_fill(reader, wanted + WIRE_RECORD_BYTES, err) < 0)
			return -1;
		const unsigned char *bytes = reader->buffer + reader->start;
		unit_coder_contents(reader->coder, bytes, wanted);
		if (write_contents(reader, fd, wanted, offset, err) < 0)
			return -1;
		tree_reader_count(reader, wanted);
		reader->start += wanted;
		offset += wanted;
		left -= wanted;
	}
	return 0;
}

/* The same for a PACKED record. What cannot be unpacked is left for the sum to find. */
static int take_packed(struct tree_reader *reader, int fd, uint64_t offset, struct error *err)
{
	const struct wire_record record = reader->record;
	if (unit_coder_check_packed(reader->coder, &record, err) < 0 ||
	    tree_reader_fill(reader, record.extra + WIRE_RECORD_BYTES, err) < 0)
		return -1;
	const unsigned char *bytes = reader->buffer + reader->start;
	bool fine = unit_coder_unpack(reader->coder, bytes, &record);
	reader->start += record.extra;
	tree_reader_count(reader, record.size);
	if (!fine)
		return unit_coder_checks(reader->coder)
			       ? 0
			       : error_set(err, ERROR_PEER, 0,
					   "the peer sent contents that cannot be unpacked");
	const unsigned char *contents = unit_coder_room(reader->coder);
	unit_coder_contents(reader->coder, contents, record.size);
	begin_turn(reader);
	int result = io_write_at(fd, contents, record.size, offset, err);
	end_turn(reader);
	return result;
}

static int take_extent(struct tree_reader *reader, int fd, uint64_t offset, struct error *err)
{
	switch (reader->record.type) {
	case WIRE_DATA:
		return take_data(reader, fd, offset, err);
	case WIRE_PACKED:
		return take_packed(reader, fd, offset, err);
	case WIRE_HOLE:
		unit_coder_record(reader->coder, &reader->record);
		tree_reader_count_unsent(reader, reader->record.size);
		return 0;
	default:
		return tree_reader_out_of_order(reader, err);
	}
}

int tree_reader_contents(struct tree_reader *reader, int fd, const struct split_part *part,
			 struct error *err)
{
	bool hole = false;
	uint64_t at = part->offset;
	const uint64_t end = part->offset + part->length;
	while (at < end) {
		if (tree_reader_next(reader, err) < 0)
			return -1;
		const struct wire_record record = reader->record;
		hole = record.type == WIRE_HOLE;
		if (!hole && record.type != WIRE_DATA && record.type != WIRE_PACKED)
			return tree_reader_out_of_order(reader, err);
		if (record.size == 0 || record.size > end - at)
			return error_set(err, ERROR_PEER, 0,
					 "the peer sent more than it announced");
		if (take_extent(reader, fd, at, err) < 0)
			return -1;
		at += record.size;
	}
	/* Nothing was written in a hole at the end: the file is still too short. */
	if (hole && end == part->file_size && ftruncate(fd, (off_t)end) < 0)
		return error_system(err, "set size");
	return 0;
}
