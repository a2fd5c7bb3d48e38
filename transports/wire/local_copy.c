#include "transports/wire/local_copy.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "transports/wire/tree_sink.h"
#include "transports/wire/tree_source.h"
#include "transports/wire/wire.h"

/* One that runs. */
struct copy {
	const struct xfer *xfer;
	struct beneath source;
	struct tree_sink sink;
	unsigned char *buffer;
	size_t block;
	struct local_copy_spoil spoil; /* still to be done */
};

static bool take_flag(bool *flag)
{
	bool was = *flag;
	*flag = false;
	return was;
}

static int copy_contents(struct copy *copy, struct source_file *from, int to, struct error *err)
{
	const struct io_limit limit = xfer_limit(copy->xfer);
	while (from->at < from->end) {
		struct source_extent extent;
		if (cancel_requested(limit.cancel))
			return error_set(err, ERROR_CANCELLED, 0, "stopped on request");
		if (tree_source_read(from, copy->buffer, copy->block, &extent, err) < 0)
			return -1;
		if (extent.hole_bytes > 0 && lseek(to, (off_t)from->at, SEEK_SET) < 0)
			return error_system(err, "seek");
		if (extent.data_bytes > 0 && take_flag(&copy->spoil.flip))
			copy->buffer[0] ^= 1;
		if (extent.data_bytes > 0 &&
		    io_write_full(to, copy->buffer, extent.data_bytes, &limit, err) < 0)
			return -1;
		xfer_progress_add_unsent(copy->xfer->progress,
					 extent.hole_bytes + extent.data_bytes);
	}
	bool cut = from->end > 0 && take_flag(&copy->spoil.truncate);
	if (ftruncate(to, (off_t)from->end - cut) < 0)
		return error_system(err, "set size");
	return 0;
}

static int copy_file(struct copy *copy, const struct manifest_entry *entry, struct error *err)
{
	struct source_file from;
	AUTO_FD to = -1;
	if (take_flag(&copy->spoil.lose))
		return 0;
	if (tree_source_open_file(&copy->source, entry, 0, entry->size_bytes, &from, err) < 0)
		return -1;
	int result = tree_sink_file(&copy->sink, entry->path, &to, err);
	if (result == 0)
		result = copy_contents(copy, &from, to, err);
	tree_source_close_file(&from);
	if (result < 0)
		return error_wrap(err, "%s", entry->path);
	return tree_sink_file_done(&copy->sink, to, entry->mode, entry->mtime_s, err);
}

static int copy_entry(struct copy *copy, const struct manifest_entry *entry, struct error *err)
{
	switch (entry->type) {
	case MANIFEST_FOLDER:
		return tree_sink_folder(&copy->sink, entry->path, entry->mode, err);
	case MANIFEST_LINK:
		return tree_sink_link(&copy->sink, entry->path, entry->target, err);
	default:
		return copy_file(copy, entry, err);
	}
}

static int copy_all(struct copy *copy, struct error *err)
{
	const struct xfer *xfer = copy->xfer;
	const struct manifest *files = xfer->files;
	if (beneath_open(&copy->source, xfer->source_root, err) < 0 ||
	    tree_sink_open(&copy->sink, xfer->root, xfer->preserve, err) < 0)
		return -1;
	for (size_t i = 0; i < files->count; i++)
		if (copy_entry(copy, &files->entries[i], err) < 0)
			return -1;
	for (size_t i = files->count; i-- > 0;) {
		const struct manifest_entry *entry = &files->entries[i];
		if (entry->type == MANIFEST_FOLDER &&
		    wire_mode_is_late(xfer->preserve, entry->mode) &&
		    tree_sink_folder_mode(&copy->sink, entry->path, entry->mode, err) < 0)
			return -1;
	}
	return 0;
}

int local_copy_run(struct local_copy *local, const struct xfer *xfer, struct error *err)
{
	struct copy copy = {
		.xfer = xfer,
		.source = BENEATH_CLOSED,
		.sink.beneath = BENEATH_CLOSED,
		.buffer = local->buffer,
		.block = local->block,
		.spoil = local->spoil,
	};
	int result = copy_all(&copy, err);
	beneath_close(&copy.source);
	tree_sink_close(&copy.sink);
	return result;
}

void local_copy_init(struct local_copy *copy, size_t block)
{
	/* One more, for tree_source_read. */
	*copy = (struct local_copy){ .buffer = malloc(block + 1), .block = block };
	if (!copy->buffer)
		abort();
	memset(copy->buffer, 1, block + 1);
}

void local_copy_free(struct local_copy *copy)
{
	free(copy->buffer);
	*copy = (struct local_copy){ 0 };
}
