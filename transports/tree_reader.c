#include "transports/tree_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/cleanup.h"

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

static int out_of_order(const struct tree_reader *reader, struct error *err)
{
	return error_set(err, ERROR_PEER, 0, "the peer sent a record of type %d out of order",
			 (int)reader->record.type);
}

/* Makes at least wanted bytes available at start; wanted is never more than the buffer holds. */
static int fill(struct tree_reader *reader, size_t wanted, struct error *err)
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

static int take_text(struct tree_reader *reader, char *text, size_t bytes, struct error *err)
{
	if (fill(reader, bytes, err) < 0)
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
	if (take_text(reader, why, reader->record.text_bytes, err) < 0)
		return -1;
	return error_set(err, wire_error_kind(reader->record.mode), 0, "source: %s", why);
}

/* The next record and its text. An ABORT is an error, with the source's own words. */
static int next(struct tree_reader *reader, struct error *err)
{
	if (fill(reader, WIRE_RECORD_BYTES, err) < 0)
		return -1;
	if (wire_record_decode(reader->buffer + reader->start, &reader->record, err) < 0)
		return -1;
	reader->start += WIRE_RECORD_BYTES;
	if (reader->record.type == WIRE_ABORT)
		return aborted(reader, err);
	if (!names_a_path(reader->record.type))
		return 0;
	if (take_text(reader, reader->path, reader->record.text_bytes, err) < 0)
		return -1;
	if (!wire_path_is_safe(reader->path, reader->record.text_bytes))
		return error_set(err, ERROR_PEER, 0,
				 "the peer sent a path that may leave the folder: %s",
				 reader->path);
	return 0;
}

static int take_link(struct tree_reader *reader, struct error *err)
{
	char target[WIRE_PATH_MAX + 1];
	uint64_t length = reader->record.size;
	if (length == 0 || length > WIRE_PATH_MAX)
		return error_set(err, ERROR_PEER, 0, "the peer sent a link target of %llu bytes",
				 (unsigned long long)length);
	if (take_text(reader, target, (size_t)length, err) < 0)
		return -1;
	if (strlen(target) != length)
		return error_set(err, ERROR_PEER, 0, "the peer sent a link target with a NUL");
	return tree_sink_link(&reader->sink, reader->path, target, err);
}

static int write_at(int fd, const unsigned char *bytes, size_t count, uint64_t offset,
		    struct error *err)
{
	for (size_t done = 0; done < count;) {
		ssize_t n = pwrite(fd, bytes + done, count - done, (off_t)(offset + done));
		if (n > 0)
			done += (size_t)n;
		else if (n < 0 && errno == ENOSPC)
			return error_set(err, ERROR_SYSTEM, ENOSPC, "no space left on device");
		else if (n < 0 && errno != EINTR)
			return error_system(err, "write");
	}
	return 0;
}

static void count(struct tree_reader *reader, uint64_t bytes)
{
	reader->counted += bytes;
	xfer_progress_add(reader->progress, bytes);
}

static int write_contents(struct tree_reader *reader, int fd, size_t bytes, uint64_t offset,
			  struct error *err)
{
	const unsigned char *contents = reader->buffer + reader->start;
	struct direct_io *direct = reader->sink.direct;
	return direct ? direct_io_write(direct, fd, contents, bytes, offset, err)
		      : write_at(fd, contents, bytes, offset, err);
}

/* What came already is written, the rest goes by way of the splice. */
static int take_spliced(struct tree_reader *reader, int fd, uint64_t offset, struct error *err)
{
	size_t have = reader->end - reader->start;
	if (have > reader->record.size)
		have = (size_t)reader->record.size;
	if (write_contents(reader, fd, have, offset, err) < 0)
		return -1;
	reader->start += have;
	count(reader, have);
	uint64_t rest = reader->record.size - have;
	uint64_t before = reader->splice->moved;
	reader->spliced = rest > 0;
	reader->broken = true;
	int result = splice_sink_move(reader->splice, reader->channel, fd, offset + have, rest,
				      reader->progress, err);
	reader->broken = result < 0;
	reader->counted += reader->splice->moved - before;
	return result;
}

/* The bytes of a DATA record go to the file at offset. */
static int take_data(struct tree_reader *reader, int fd, uint64_t offset, struct error *err)
{
	if (reader->bytes == 0) {
		/* On a slow line a whole block comes much later than its first byte. */
		if (fill(reader, 1, err) < 0)
			return -1;
		xfer_progress_mark(reader->progress);
	}
	if (reader->splice && reader->record.size >= SPLICE_LEAST_BYTES)
		return take_spliced(reader, fd, offset, err);
	for (uint64_t left = reader->record.size; left > 0;) {
		/* Another record follows for sure: to ask for it too saves a read. */
		size_t most = reader->size - WIRE_RECORD_BYTES;
		size_t wanted = left < most ? (size_t)left : most;
		if (fill(reader, wanted + WIRE_RECORD_BYTES, err) < 0)
			return -1;
		const unsigned char *bytes = reader->buffer + reader->start;
		unit_coder_contents(reader->coder, bytes, wanted);
		if (write_contents(reader, fd, wanted, offset, err) < 0)
			return -1;
		count(reader, wanted);
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
	    fill(reader, record.extra + WIRE_RECORD_BYTES, err) < 0)
		return -1;
	const unsigned char *bytes = reader->buffer + reader->start;
	bool fine = unit_coder_unpack(reader->coder, bytes, &record);
	reader->start += record.extra;
	count(reader, record.size);
	if (!fine)
		return unit_coder_checks(reader->coder)
			       ? 0
			       : error_set(err, ERROR_PEER, 0,
					   "the peer sent contents that cannot be unpacked");
	const unsigned char *contents = unit_coder_room(reader->coder);
	unit_coder_contents(reader->coder, contents, record.size);
	return write_at(fd, contents, record.size, offset, err);
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
		count(reader, reader->record.size);
		return 0;
	default:
		return out_of_order(reader, err);
	}
}

/* DATA, PACKED and HOLE records until the part is whole. */
static int take_contents(struct tree_reader *reader, int fd, const struct split_part *part,
			 struct error *err)
{
	bool hole = false;
	uint64_t at = part->offset;
	const uint64_t end = part->offset + part->length;
	while (at < end) {
		if (next(reader, err) < 0)
			return -1;
		const struct wire_record record = reader->record;
		hole = record.type == WIRE_HOLE;
		if (!hole && record.type != WIRE_DATA && record.type != WIRE_PACKED)
			return out_of_order(reader, err);
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

/* Reads the PART record; an unsplit file is one part. */
static int take_cut(struct tree_reader *reader, struct split_part *part, struct error *err)
{
	if (!reader->splits)
		return error_set(err, ERROR_PEER, 0, "the peer sent a part of a file");
	if (next(reader, err) < 0)
		return -1;
	if (reader->record.type != WIRE_PART)
		return out_of_order(reader, err);
	part->length = reader->record.size;
	part->offset = reader->record.extra;
	if (part->length == 0 || part->length > part->file_size ||
	    part->offset > part->file_size - part->length)
		return error_set(err, ERROR_PEER, 0, "the peer sent a part outside its file");
	unit_coder_record(reader->coder, &reader->record);
	return 0;
}

/* Is the unit what its CHECK says? Always, where there are no sums. */
static int take_check(struct tree_reader *reader, bool *good, struct error *err)
{
	*good = true;
	if (!unit_coder_checks(reader->coder))
		return 0;
	uint64_t sum = unit_coder_sum(reader->coder);
	if (next(reader, err) < 0)
		return -1;
	if (reader->record.type != WIRE_CHECK)
		return out_of_order(reader, err);
	*good = reader->record.size == sum;
	return 0;
}

/* Nothing of a file or part that is not good stays: neither bytes nor what was counted. */
static int drop_unit(struct tree_reader *reader, int fd, const struct split_part *part, bool split,
		     struct error *err)
{
	atomic_fetch_sub_explicit(&reader->progress->bytes, reader->counted, memory_order_relaxed);
	reader->counted = 0;
	if (!split)
		return tree_sink_remove(&reader->sink, reader->path, err);
	/* A hole that comes for this part must be one. */
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)part->offset,
		      (off_t)part->length) < 0)
		return error_system(err, "clear a bad part");
	return 0;
}

static int finish_unit(struct tree_reader *reader, int fd, const struct wire_record *file,
		       const struct split_part *part, struct error *err)
{
	bool complete = true;
	reader->bytes += part->length;
	reader->files++;
	if (file->flags & WIRE_FLAG_SPLIT &&
	    split_files_written(reader->splits, part, &complete, err) < 0)
		return -1;
	if (complete &&
	    tree_sink_file_done(&reader->sink, fd, file->mode, (int64_t)file->extra, err) < 0)
		return -1;
	reader->complete += complete;
	atomic_fetch_add_explicit(&reader->progress->files, complete, memory_order_relaxed);
	return 0;
}

/* Does the file hold what the SAME record says? */
static int compare_contents(struct tree_reader *reader, int fd, const struct split_part *part,
			    bool *same, struct error *err)
{
	if (next(reader, err) < 0)
		return -1;
	if (reader->record.type != WIRE_SAME)
		return out_of_order(reader, err);
	*same = false;
	return fd < 0 ? 0 : unit_coder_compare(reader->coder, fd, part, &reader->record, same, err);
}

/* The source asks whether we have this already: if not, it will send it. */
static int take_offer(struct tree_reader *reader, const struct wire_record *file,
		      const struct split_part *part, struct error *err)
{
	const bool split = file->flags & WIRE_FLAG_SPLIT;
	bool same = false;
	AUTO_FD fd = -1;
	int opened =
		split ? split_files_open(reader->splits, &reader->sink, part, &fd, err)
		      : tree_sink_existing(&reader->sink, part->path, part->file_size, &fd, err);
	if (opened < 0 || compare_contents(reader, fd, part, &same, err) < 0)
		return -1;
	if (same) {
		count(reader, part->length);
		return finish_unit(reader, fd, file, part, err);
	}
	if (drop_unit(reader, fd, part, split, err) < 0)
		return -1;
	return unit_coder_fault(reader->coder, reader->done, err);
}

static int take_unit(struct tree_reader *reader, const struct wire_record *file,
		     const struct split_part *part, struct error *err)
{
	const bool split = file->flags & WIRE_FLAG_SPLIT;
	bool good = true;
	AUTO_FD fd = -1;
	int opened = split ? split_files_open(reader->splits, &reader->sink, part, &fd, err)
			   : tree_sink_file(&reader->sink, reader->path, &fd, err);
	if (opened < 0)
		return -1;
	if (take_contents(reader, fd, part, err) < 0 || take_check(reader, &good, err) < 0) {
		/* The rest may come on another connection, and a part of a file is no file. */
		if (reader->broken && drop_unit(reader, fd, part, split, NULL) < 0)
			reader->broken = false;
		return -1;
	}
	if (!good)
		return drop_unit(reader, fd, part, split, err) < 0
			       ? -1
			       : unit_coder_fault(reader->coder, reader->done, err);
	if (finish_unit(reader, fd, file, part, err) < 0)
		return -1;
	if (close(take_fd(&fd)) < 0)
		return error_system(err, "close");
	return 0;
}

static int take_file(struct tree_reader *reader, struct error *err)
{
	const struct wire_record file = reader->record;
	struct split_part part = { .path = reader->path, .file_size = file.size };
	part.length = file.size;
	reader->counted = 0;
	if (file.size > INT64_MAX)
		return error_set(err, ERROR_PEER, 0, "the peer sent a file size out of range");
	unit_coder_begin(reader->coder, &file, reader->path);
	if (file.flags & WIRE_FLAG_SPLIT && take_cut(reader, &part, err) < 0)
		return -1;
	if (!(file.flags & WIRE_FLAG_SAME))
		return take_unit(reader, &file, &part, err);
	if (!unit_coder_resumes(reader->coder))
		return error_set(err, ERROR_PEER, 0, "the peer asked what is here");
	return take_offer(reader, &file, &part, err);
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
		if (take_file(reader, err) < 0)
			return error_wrap(err, "%s", reader->path);
		return 0;
	case WIRE_MODE:
		return tree_sink_folder_mode(&reader->sink, reader->path, record->mode, err);
	default:
		return out_of_order(reader, err);
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
		if (next(reader, err) < 0)
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
		if (next(reader, err) < 0)
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
		if (next(reader, err) < 0)
			return -1;
		if (reader->record.type == WIRE_END)
			return 0;
		if (reader->record.type != WIRE_MODE)
			return out_of_order(reader, err);
		if (take(reader, err) < 0)
			return -1;
	}
}
