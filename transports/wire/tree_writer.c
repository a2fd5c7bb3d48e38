#include "transports/wire/tree_writer.h"

#include <stdlib.h>
#include <string.h>

/* The longest run of bytes that may not be cut: a link's record, path and target. */
#define SLACK_BYTES (2u * WIRE_RECORD_BYTES + 2u * WIRE_PATH_MAX)
/* Less room than this is not worth another read of a large file. */
#define WORTH_BYTES (64u << 10)
#define PAGE_BYTES  4096u

int tree_writer_init(struct tree_writer *writer, size_t block, struct error *err)
{
	*writer = (struct tree_writer){ .source = BENEATH_CLOSED };
	writer->block = block;
	writer->size = block + SLACK_BYTES;
	/* One byte more, see tree_source_read. */
	size_t pages = (writer->size + 1) / PAGE_BYTES + 2;
	writer->storage = aligned_alloc(PAGE_BYTES, pages * PAGE_BYTES);
	if (!writer->storage)
		return error_set(err, ERROR_SYSTEM, 0, "no memory for a block of %zu bytes", block);
	/* Touched now: page faults are not part of the transfer. */
	memset(writer->storage, 0, pages * PAGE_BYTES);
	/* Contents behind the first record lie on a page's start: that copies faster. */
	writer->buffer = writer->storage + PAGE_BYTES - WIRE_RECORD_BYTES;
	return 0;
}

int tree_writer_start(struct tree_writer *writer, const char *root, const struct channel *channel,
		      struct xfer_progress *progress, struct error *err)
{
	writer->channel = channel;
	writer->progress = progress;
	return beneath_open(&writer->source, root, err);
}

void tree_writer_free(struct tree_writer *writer)
{
	if (!writer->buffer)
		return;
	beneath_close(&writer->source);
	free(writer->storage);
	writer->storage = writer->buffer = NULL;
}

static int flush(struct tree_writer *writer, struct error *err)
{
	size_t used = writer->used;
	writer->used = 0;
	if (writer->channel->write(writer->channel, writer->buffer, used, err) == 0)
		return 0;
	writer->broken = true;
	return -1;
}

static int reserve(struct tree_writer *writer, size_t bytes, struct error *err)
{
	if (writer->size - writer->used >= bytes)
		return 0;
	return flush(writer, err);
}

static void put_bytes(struct tree_writer *writer, const void *bytes, size_t count)
{
	memcpy(writer->buffer + writer->used, bytes, count);
	writer->used += count;
}

/* A record with its text; the caller has checked that it fits in SLACK_BYTES. */
static int put_record(struct tree_writer *writer, struct wire_record record, const char *text,
		      struct error *err)
{
	if (reserve(writer, SLACK_BYTES, err) < 0)
		return -1;
	wire_record_encode(writer->buffer + writer->used, &record);
	writer->used += WIRE_RECORD_BYTES;
	put_bytes(writer, text, record.text_bytes);
	return 0;
}

static int path_bytes(const struct manifest_entry *entry, uint32_t *bytes, struct error *err)
{
	size_t length = strlen(entry->path);
	size_t target = entry->target ? strlen(entry->target) : 0;
	if (length > WIRE_PATH_MAX || target > WIRE_PATH_MAX)
		return error_set(err, ERROR_UNSUPPORTED, 0, "a path of %zu bytes is too long",
				 length > target ? length : target);
	*bytes = (uint32_t)length;
	return 0;
}

int tree_writer_entry(struct tree_writer *writer, const struct manifest_entry *entry,
		      struct error *err)
{
	struct wire_record record = { .type = WIRE_FOLDER, .mode = entry->mode };
	if (path_bytes(entry, &record.text_bytes, err) < 0)
		return -1;
	if (entry->type == MANIFEST_LINK) {
		record.type = WIRE_LINK;
		record.size = strlen(entry->target);
	}
	if (put_record(writer, record, entry->path, err) < 0)
		return -1;
	if (entry->type == MANIFEST_LINK)
		put_bytes(writer, entry->target, record.size);
	return 0;
}

static int put_file(struct tree_writer *writer, const struct tree_part *part, uint32_t flags,
		    struct error *err)
{
	const struct manifest_entry *entry = part->entry;
	bool split = part->length != entry->size_bytes;
	struct wire_record record = {
		.type = WIRE_FILE,
		.flags = flags | (split ? WIRE_FLAG_SPLIT : 0),
		.mode = entry->mode,
		.size = entry->size_bytes,
		.extra = (uint64_t)entry->mtime_s,
	};
	if (path_bytes(entry, &record.text_bytes, err) < 0 ||
	    put_record(writer, record, entry->path, err) < 0)
		return -1;
	unit_coder_begin(writer->coder, &record, entry->path);
	if (!split)
		return 0;
	struct wire_record cut = { .type = WIRE_PART, .size = part->length, .extra = part->offset };
	unit_coder_record(writer->coder, &cut);
	return put_record(writer, cut, "", err);
}

/* How much of the file to read next: at most a block, and up to a page's end if there is more, so
 * that the sink writes whole pages. */
static size_t next_bytes(const struct tree_writer *writer, const struct source_file *file)
{
	uint64_t left = file->end - file->at;
	size_t room = writer->size - writer->used - WIRE_RECORD_BYTES;
	size_t most = room < writer->block ? room : writer->block;
	if (left <= most)
		return (size_t)left;
	size_t beyond = (size_t)((file->at + most) % PAGE_BYTES);
	return most > beyond ? most - beyond : most;
}

/* The next piece of the file: its bytes are read into the buffer behind their record. */
static int put_extent(struct tree_writer *writer, struct source_file *file, struct error *err)
{
	uint64_t left = file->end - file->at;
	size_t worth = left < WORTH_BYTES ? (size_t)left : WORTH_BYTES;
	if (reserve(writer, WIRE_RECORD_BYTES + worth, err) < 0)
		return -1;
	unsigned char *record = writer->buffer + writer->used;
	struct source_extent extent;
	if (tree_source_read(file, record + WIRE_RECORD_BYTES, next_bytes(writer, file), &extent,
			     err) < 0)
		return -1;
	struct wire_record header = { .type = WIRE_HOLE, .size = extent.hole_bytes };
	size_t bytes = 0;
	if (extent.hole_bytes > 0) {
		unit_coder_record(writer->coder, &header);
	} else {
		unit_coder_contents(writer->coder, record + WIRE_RECORD_BYTES, extent.data_bytes);
		bytes = unit_coder_pack(writer->coder, record + WIRE_RECORD_BYTES,
					extent.data_bytes, &header);
	}
	wire_record_encode(record, &header);
	writer->used += WIRE_RECORD_BYTES + bytes;
	writer->bytes += header.size;
	xfer_progress_add(writer->progress, header.size);
	return 0;
}

static void count_complete(struct tree_writer *writer, const struct tree_part *part)
{
	if (part->offset + part->length != part->entry->size_bytes)
		return;
	writer->complete++;
	atomic_fetch_add_explicit(&writer->progress->files, 1, memory_order_relaxed);
}

static int put_check(struct tree_writer *writer, struct error *err)
{
	struct wire_record check = { .type = WIRE_CHECK, .size = unit_coder_sum(writer->coder) };
	return put_record(writer, check, "", err);
}

int tree_writer_part(struct tree_writer *writer, const struct tree_part *part, struct error *err)
{
	struct source_file file;
	if (tree_source_open_file(&writer->source, part->entry, part->offset, part->length, &file,
				  err) < 0)
		return -1;
	int result = writer->direct ? tree_source_direct(&file, writer->direct, err) : 0;
	if (result == 0)
		result = put_file(writer, part, 0, err);
	while (result == 0 && file.at < file.end)
		result = put_extent(writer, &file, err);
	if (result == 0 && unit_coder_checks(writer->coder))
		result = put_check(writer, err);
	tree_source_close_file(&file);
	writer->files++;
	if (result == 0)
		count_complete(writer, part);
	return result;
}

int tree_writer_offer(struct tree_writer *writer, const struct tree_part *part, struct error *err)
{
	struct source_file file;
	struct wire_record same;
	const struct split_part whole = { .path = part->entry->path,
					  .file_size = part->entry->size_bytes,
					  .offset = part->offset,
					  .length = part->length };
	if (tree_source_open_file(&writer->source, part->entry, part->offset, part->length, &file,
				  err) < 0)
		return -1;
	int result = unit_coder_describe(writer->coder, file.fd, &whole, &same, err);
	tree_source_close_file(&file);
	if (result < 0)
		return error_wrap(err, "source file");
	if (put_file(writer, part, WIRE_FLAG_SAME, err) < 0 ||
	    put_record(writer, same, "", err) < 0)
		return -1;
	writer->bytes += part->length;
	xfer_progress_add(writer->progress, part->length);
	count_complete(writer, part);
	return 0;
}

int tree_writer_round(struct tree_writer *writer, uint64_t records, struct error *err)
{
	struct wire_record record = { .type = WIRE_ROUND, .size = records };
	if (put_record(writer, record, "", err) < 0)
		return -1;
	return flush(writer, err);
}

void tree_writer_restart(struct tree_writer *writer)
{
	writer->used = 0;
	writer->broken = false;
}

int tree_writer_ready(struct tree_writer *writer, struct error *err)
{
	if (put_record(writer, (struct wire_record){ .type = WIRE_READY }, "", err) < 0)
		return -1;
	return flush(writer, err);
}

int tree_writer_modes(struct tree_writer *writer, const struct manifest *files,
		      enum preserve preserve, struct error *err)
{
	for (size_t i = files->count; i-- > 0;) {
		const struct manifest_entry *entry = &files->entries[i];
		if (entry->type != MANIFEST_FOLDER || !wire_mode_is_late(preserve, entry->mode))
			continue;
		struct wire_record record = { .type = WIRE_MODE, .mode = entry->mode };
		if (path_bytes(entry, &record.text_bytes, err) < 0 ||
		    put_record(writer, record, entry->path, err) < 0)
			return -1;
	}
	return 0;
}

int tree_writer_end_with(struct tree_writer *writer, uint64_t bytes, uint64_t files,
			 struct error *err)
{
	struct wire_record record = { .type = WIRE_END, .size = bytes, .extra = files };
	if (put_record(writer, record, "", err) < 0)
		return -1;
	return flush(writer, err);
}

int tree_writer_end(struct tree_writer *writer, struct error *err)
{
	return tree_writer_end_with(writer, writer->bytes, writer->files, err);
}

void tree_writer_fail(struct tree_writer *writer, struct error *why)
{
	struct wire_record record = { .type = WIRE_ABORT, .mode = why->kind };
	if (!writer->channel)
		return;
	if (writer->broken) {
		wire_answer_explain(writer->channel, why);
		return;
	}
	const struct channel *usual = writer->channel;
	const struct channel hasty = channel_in_haste(usual);
	struct error ignored;
	record.text_bytes = (uint32_t)strnlen(why->message, WIRE_ERROR_MAX);
	writer->channel = &hasty;
	if (put_record(writer, record, why->message, &ignored) < 0 || flush(writer, &ignored) < 0)
		writer->broken = true; /* the sink will see the connection end instead */
	writer->channel = usual;
}

int tree_writer_all(struct tree_writer *writer, const struct manifest *files,
		    enum preserve preserve, struct error *err)
{
	for (size_t i = 0; i < files->count; i++) {
		const struct manifest_entry *entry = &files->entries[i];
		struct tree_part whole = { .entry = entry, .length = entry->size_bytes };
		int result = entry->type == MANIFEST_FILE ? tree_writer_part(writer, &whole, err)
							  : tree_writer_entry(writer, entry, err);
		if (result < 0)
			return -1;
	}
	if (tree_writer_modes(writer, files, preserve, err) < 0)
		return -1;
	return tree_writer_end(writer, err);
}
