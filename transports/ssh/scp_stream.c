#include "transports/ssh/scp_stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"

#define LINE_BYTES    (WIRE_PATH_MAX + 64)
#define MESSAGE_BYTES 256
#define FOLDER_MODE   0755u
#define FILE_MODE     0644u

int scp_stream_init(struct scp_stream *stream, size_t block, struct error *err)
{
	*stream = (struct scp_stream){ .source = BENEATH_CLOSED, .block = block };
	/* One more for tree_source_read, one for the NUL that ends a file. */
	stream->buffer = malloc(block + 2);
	if (!stream->buffer)
		return error_set(err, ERROR_SYSTEM, 0, "no memory for a block of %zu bytes", block);
	/* Touched now: page faults are not part of the transfer. */
	memset(stream->buffer, 0, block + 2);
	return 0;
}

void scp_stream_free(struct scp_stream *stream)
{
	if (!stream->buffer)
		return;
	beneath_close(&stream->source);
	free(stream->buffer);
	stream->buffer = NULL;
}

/* The rest of a complaint's line. */
static int complain(const struct scp_stream *stream, struct error *err)
{
	char message[MESSAGE_BYTES] = "";
	size_t length = 0;
	while (length < sizeof(message) - 1) {
		if (channel_read_full(stream->channel, message + length, 1, err) < 0)
			return -1;
		if (message[length] == '\n')
			break;
		length++;
	}
	message[length] = '\0';
	return error_set(err, ERROR_PEER, 0, "the scp server says: %s", message);
}

static int hear(const struct scp_stream *stream, struct error *err)
{
	char answer;
	if (channel_read_full(stream->channel, &answer, 1, err) < 0)
		return -1;
	if (answer == 0)
		return 0;
	if (answer == 1 || answer == 2)
		return complain(stream, err);
	return error_set(err, ERROR_PEER, 0, "the scp server answered with byte %d",
			 (unsigned char)answer);
}

static int tell(const struct scp_stream *stream, const void *bytes, size_t count, struct error *err)
{
	if (stream->channel->write(stream->channel, bytes, count, err) < 0)
		return -1;
	return hear(stream, err);
}

int scp_stream_start(struct scp_stream *stream, const struct xfer *xfer,
		     const struct channel *channel, struct error *err)
{
	stream->channel = channel;
	stream->xfer = xfer;
	if (beneath_open(&stream->source, xfer->root, err) < 0)
		return -1;
	return hear(stream, err);
}

bool scp_stream_can_name(const char *path)
{
	for (const char *c = path; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return false;
	return true;
}

static int compare_path(const void *path, const void *entry)
{
	return strcmp(path, ((const struct manifest_entry *)entry)->path);
}

/* What the folder is to have for as long as we write in it. */
static uint32_t folder_mode(const struct scp_stream *stream, const char *path)
{
	const struct manifest *files = stream->xfer->files;
	const struct manifest_entry *entry =
		bsearch(path, files->entries, files->count, sizeof(*files->entries), compare_path);
	if (!entry || stream->xfer->preserve < PRESERVE_MODE)
		return FOLDER_MODE;
	return (entry->mode & 0777u) | 0700u;
}

static int leave_folder(struct scp_stream *stream, struct error *err)
{
	char *slash = strrchr(stream->folder, '/');
	*(slash ? slash : stream->folder) = '\0';
	return tell(stream, "E\n", 2, err);
}

/* Down one step, to a folder whose parent we are in. */
static int enter_folder(struct scp_stream *stream, const char *path, size_t length,
			struct error *err)
{
	char line[LINE_BYTES];
	memcpy(stream->folder, path, length);
	stream->folder[length] = '\0';
	const char *slash = strrchr(stream->folder, '/');
	int n = snprintf(line, sizeof(line), "D%04o 0 %s\n", folder_mode(stream, stream->folder),
			 slash ? slash + 1 : stream->folder);
	return tell(stream, line, (size_t)n, err);
}

static bool is_within(const char *path, size_t length, const char *folder)
{
	size_t part = strlen(folder);
	return part == 0 || (part <= length && memcmp(path, folder, part) == 0 &&
			     (part == length || path[part] == '/'));
}

/* To the folder that the first length bytes of path name; the root is 0. */
static int go_to(struct scp_stream *stream, const char *path, size_t length, struct error *err)
{
	while (!is_within(path, length, stream->folder))
		if (leave_folder(stream, err) < 0)
			return -1;
	for (size_t at = strlen(stream->folder); at < length;) {
		size_t next = at + (at > 0);
		next += strcspn(path + next, "/");
		if (enter_folder(stream, path, next, err) < 0)
			return -1;
		at = next;
	}
	return 0;
}

static int announce_file(struct scp_stream *stream, const struct manifest_entry *entry,
			 const char *name, struct error *err)
{
	char line[LINE_BYTES];
	uint32_t mode = stream->xfer->preserve >= PRESERVE_MODE ? entry->mode & 0777u : FILE_MODE;
	if (stream->xfer->preserve == PRESERVE_ALL) {
		int n = snprintf(line, sizeof(line), "T%" PRId64 " 0 %" PRId64 " 0\n",
				 entry->mtime_s, entry->mtime_s);
		if (tell(stream, line, (size_t)n, err) < 0)
			return -1;
	}
	int n = snprintf(line, sizeof(line), "C%04o %" PRIu64 " %s\n", mode, entry->size_bytes,
			 name);
	return tell(stream, line, (size_t)n, err);
}

static int send_contents(struct scp_stream *stream, struct source_file *file, struct error *err)
{
	size_t used = 0;
	while (file->at < file->end) {
		struct source_extent extent;
		if (tree_source_read(file, stream->buffer, stream->block, &extent, err) < 0)
			return -1;
		used = extent.data_bytes;
		xfer_progress_add(stream->xfer->progress, used);
		if (file->at < file->end &&
		    stream->channel->write(stream->channel, stream->buffer, used, err) < 0)
			return -1;
	}
	/* The last piece with its end mark. */
	stream->buffer[used] = '\0';
	return tell(stream, stream->buffer, used + 1, err);
}

static int send_file(struct scp_stream *stream, const struct manifest_entry *entry,
		     const char *name, struct error *err)
{
	struct source_file file;
	if (tree_source_open_file(&stream->source, entry, 0, entry->size_bytes, &file, err) < 0)
		return -1;
	file.data_end = file.end; /* holes travel as zeros */
	int result = announce_file(stream, entry, name, err);
	if (result == 0)
		result = send_contents(stream, &file, err);
	tree_source_close_file(&file);
	if (result == 0)
		atomic_fetch_add_explicit(&stream->xfer->progress->files, 1, memory_order_relaxed);
	return result;
}

int scp_stream_entry(struct scp_stream *stream, const struct manifest_entry *entry,
		     struct error *err)
{
	size_t length = strlen(entry->path);
	const char *slash = strrchr(entry->path, '/');
	if (length > WIRE_PATH_MAX)
		return error_set(err, ERROR_UNSUPPORTED, 0, "a path of %zu bytes is too long",
				 length);
	if (entry->type == MANIFEST_FOLDER)
		return go_to(stream, entry->path, length, err);
	if (go_to(stream, entry->path, slash ? (size_t)(slash - entry->path) : 0, err) < 0)
		return -1;
	return send_file(stream, entry, slash ? slash + 1 : entry->path, err);
}

int scp_stream_end(struct scp_stream *stream, struct error *err)
{
	return go_to(stream, "", 0, err);
}
