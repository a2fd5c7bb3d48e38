/* The tree over several TCP connections at once, a thread for each: a large file is split over all
 * of them, small ones are packed. The source pushes.
 *
 * Stream 0 first carries all folders and links, then READY; the sink writes nothing that came on
 * the others before that. When all streams have ended, stream 0 carries the modes that had to wait
 * and the totals, and the sink answers on it. A thread that fails stops the others by shutting
 * their connections down. Memory: at each end, streams times BUFFER_BYTES, and the list of files
 * that are incomplete. */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/api/transport.h"
#include "harness/base/cleanup.h"
#include "transports/gate.h"
#include "transports/memory_stream.h"
#include "transports/part_queue.h"
#include "transports/tree_reader.h"
#include "transports/tree_writer.h"

#define STREAMS_MAX  64
#define BUFFER_BYTES (1u << 20)

struct multi_options {
	uint64_t streams, block, bytes;
	bool memory;
	struct socket_options socket;
};

static const struct option_def multi_option_defs[] = {
	{ .name = "streams",
	  .type = OPTION_COUNT,
	  .offset = offsetof(struct multi_options, streams),
	  .fallback = "4",
	  .min = 1,
	  .max = STREAMS_MAX,
	  .help = "connections at once" },
	{ .name = "block",
	  .type = OPTION_SIZE,
	  .offset = offsetof(struct multi_options, block),
	  .fallback = "4MiB",
	  .unit = "bytes",
	  .min = 1 << 20,
	  .max = 1 << 30,
	  .help = "files larger than this are split into such parts" },
	{ .name = "memory",
	  .type = OPTION_FLAG,
	  .offset = offsetof(struct multi_options, memory),
	  .fallback = "no",
	  .help = "move no files: send from buffers, count at the sink" },
	{ .name = "bytes",
	  .type = OPTION_SIZE,
	  .offset = offsetof(struct multi_options, bytes),
	  .fallback = "0",
	  .unit = "bytes",
	  .help = "with memory: how much; 0 is the size of the dataset" },
	SOCKET_OPTION_ROWS(struct multi_options),
	{ .name = NULL },
};

struct multi;

/* One connection and the thread that serves it. */
struct stream {
	struct multi *multi;
	uint32_t index;
	bool running;
	pthread_t thread;
	struct channel channel;
	struct tree_writer writer; /* source */
	struct tree_reader reader; /* sink */
	uint64_t memory_bytes;
};

/* One end of a run. */
struct multi {
	struct xfer *xfer;
	const struct multi_options *options;
	uint32_t count;
	int listener;
	int fds[STREAMS_MAX];
	struct stream streams[STREAMS_MAX];
	struct part_queue *queue;   /* source */
	struct split_files *splits; /* sink */
	uint64_t bytes, files;      /* totals, when all streams have ended */

	pthread_mutex_t mutex; /* for what follows */
	pthread_cond_t changed;
	bool ready; /* sink: all folders are there */
	bool failed;
	struct error error; /* the first that says more than "the peer went away" */
};

static int multi_probe(const struct transport *transport, struct probe *probe, struct error *err)
{
	(void)transport;
	(void)err;
	text_copy(probe->version, sizeof(probe->version), "built-in");
	return 0;
}

static bool multi_memory(const void *options)
{
	return ((const struct multi_options *)options)->memory;
}

static uint32_t multi_streams(const void *options)
{
	return (uint32_t)((const struct multi_options *)options)->streams;
}

static int multi_prepare(struct xfer *xfer, struct error *err)
{
	struct multi *multi = calloc(1, sizeof(*multi));
	if (!multi)
		abort();
	xfer->private = multi;
	multi->xfer = xfer;
	multi->options = xfer->options;
	multi->count = multi_streams(xfer->options);
	multi->listener = -1;
	pthread_mutex_init(&multi->mutex, NULL);
	pthread_cond_init(&multi->changed, NULL);
	for (uint32_t i = 0; i < STREAMS_MAX; i++)
		multi->fds[i] = -1;
	for (uint32_t i = 0; i < multi->count; i++) {
		struct stream *stream = &multi->streams[i];
		stream->multi = multi;
		stream->index = i;
		if (xfer->side == XFER_SOURCE
			    ? tree_writer_init(&stream->writer, BUFFER_BYTES, err) < 0
			    : tree_reader_init(&stream->reader, BUFFER_BYTES, err) < 0)
			return -1;
	}
	multi->splits = split_files_new();
	xfer->report->streams = multi->count;
	return 0;
}

static struct gate_call multi_call(const struct multi *multi)
{
	return (struct gate_call){
		.listener = multi->listener,
		.options = &multi->options->socket,
		.token = multi->xfer->token,
		.limit = xfer_limit(multi->xfer),
	};
}

static int multi_listen(struct xfer *xfer, struct endpoint *endpoint, struct error *err)
{
	struct multi *multi = xfer->private;
	return gate_listen(xfer->bind_host, &multi->options->socket, &multi->listener, endpoint,
			   err);
}

static void use_connections(struct multi *multi)
{
	struct io_limit limit = xfer_limit(multi->xfer);
	for (uint32_t i = 0; i < multi->count; i++)
		multi->streams[i].channel = channel_on_socket(multi->fds[i], &limit);
}

static int multi_connect(struct xfer *xfer, const struct endpoint *endpoint, struct error *err)
{
	struct multi *multi = xfer->private;
	struct gate_call call = multi_call(multi);
	if (gate_connect(&call, endpoint, multi->fds, multi->count, err) < 0)
		return -1;
	use_connections(multi);
	return 0;
}

/* Wakes every thread that waits for a peer, but leaves stream 0 to say and hear why: the source's
 * ends with ABORT, the sink's answer follows. Only a sink that failed by itself reads no further.
 */
static void stop_streams(const struct multi *multi, const struct error *why)
{
	if (multi->xfer->side == XFER_SINK && why->kind != ERROR_PEER)
		shutdown(multi->fds[0], SHUT_RD);
	for (uint32_t i = 1; i < multi->count; i++)
		shutdown(multi->fds[i], SHUT_RDWR);
}

static void stream_failed(struct multi *multi, const struct error *why)
{
	pthread_mutex_lock(&multi->mutex);
	bool first = !multi->failed;
	if (first || (multi->error.kind == ERROR_PEER && why->kind != ERROR_PEER))
		multi->error = *why;
	multi->failed = true;
	pthread_cond_broadcast(&multi->changed);
	pthread_mutex_unlock(&multi->mutex);
	if (first)
		stop_streams(multi, why);
}

/* Why another stream failed, if one did. */
static int check_others(struct multi *multi, struct error *err)
{
	pthread_mutex_lock(&multi->mutex);
	bool failed = multi->failed;
	if (failed)
		*err = multi->error;
	pthread_mutex_unlock(&multi->mutex);
	return failed ? -1 : 0;
}

/* This stream's share of a memory run. */
static int move_memory(struct stream *stream, struct error *err)
{
	const struct multi *multi = stream->multi;
	const struct xfer *xfer = multi->xfer;
	bool source = xfer->side == XFER_SOURCE;
	struct memory_stream memory = {
		.channel = &stream->channel,
		.progress = xfer->progress,
		.buffer = source ? stream->writer.buffer : stream->reader.buffer,
		.size = BUFFER_BYTES,
	};
	if (!source)
		return memory_stream_receive(&memory, &stream->memory_bytes, err);
	uint64_t total = multi->options->bytes ? multi->options->bytes : xfer->files->bytes;
	stream->memory_bytes = total / multi->count + (stream->index < total % multi->count);
	return memory_stream_send(&memory, stream->memory_bytes, err);
}

/* Source, stream 0: everything that has no contents. */
static int send_frame(struct stream *stream, struct error *err)
{
	const struct manifest *files = stream->multi->xfer->files;
	for (size_t i = 0; i < files->count; i++)
		if (files->entries[i].type != MANIFEST_FILE &&
		    tree_writer_entry(&stream->writer, &files->entries[i], err) < 0)
			return -1;
	return tree_writer_ready(&stream->writer, err);
}

static int send_batch(struct stream *stream, const struct part_batch *batch, struct error *err)
{
	for (size_t i = 0; i < batch->count; i++) {
		const struct manifest_entry *entry =
			part_queue_entry(stream->multi->queue, batch->first + i);
		struct tree_part part = { .entry = entry, .length = entry->size_bytes };
		if (batch->count == 1) {
			part.offset = batch->offset;
			part.length = batch->length;
		}
		if (tree_writer_part(&stream->writer, &part, err) < 0)
			return -1;
	}
	return 0;
}

static int send_files(struct stream *stream, struct error *err)
{
	struct multi *multi = stream->multi;
	const struct xfer *xfer = multi->xfer;
	struct part_batch batch;
	if (tree_writer_start(&stream->writer, xfer->root, &stream->channel, xfer->progress, err) <
	    0)
		return -1;
	if (stream->index == 0 && send_frame(stream, err) < 0)
		return -1;
	while (part_queue_take(multi->queue, &batch))
		if (check_others(multi, err) < 0 || send_batch(stream, &batch, err) < 0)
			return -1;
	if (check_others(multi, err) < 0)
		return -1;
	return tree_writer_end(&stream->writer, err);
}

/* Sink: nothing is written before all folders are there. */
static int wait_ready(struct multi *multi, struct error *err)
{
	pthread_mutex_lock(&multi->mutex);
	while (!multi->ready && !multi->failed)
		pthread_cond_wait(&multi->changed, &multi->mutex);
	bool failed = multi->failed;
	pthread_mutex_unlock(&multi->mutex);
	return failed ? error_set(err, ERROR_PEER, 0, "another stream failed") : 0;
}

static void set_ready(struct multi *multi)
{
	pthread_mutex_lock(&multi->mutex);
	multi->ready = true;
	pthread_cond_broadcast(&multi->changed);
	pthread_mutex_unlock(&multi->mutex);
}

static int receive_files(struct stream *stream, struct error *err)
{
	struct multi *multi = stream->multi;
	struct tree_reader *reader = &stream->reader;
	if (tree_reader_start(reader, multi->xfer, &stream->channel, err) < 0)
		return -1;
	reader->splits = multi->splits;
	if (stream->index == 0) {
		if (tree_reader_run(reader, WIRE_READY, err) < 0)
			return -1;
		set_ready(multi);
	} else if (wait_ready(multi, err) < 0) {
		return -1;
	}
	return tree_reader_run(reader, WIRE_END, err);
}

static void *serve_stream(void *argument)
{
	struct stream *stream = argument;
	struct multi *multi = stream->multi;
	struct error why = { 0 };
	bool source = multi->xfer->side == XFER_SOURCE;
	bool memory = multi->options->memory;
	int result = memory   ? move_memory(stream, &why)
		     : source ? send_files(stream, &why)
			      : receive_files(stream, &why);
	if (result == 0)
		return NULL;
	/* The sink learns the reason on this stream before the others go away. */
	if (source && !memory)
		tree_writer_fail(&stream->writer, &why);
	stream_failed(multi, &why);
	return NULL;
}

/* Serves all streams, the first on this thread, until each has ended. */
static int serve_all(struct multi *multi, struct error *err)
{
	for (uint32_t i = 1; i < multi->count; i++) {
		struct stream *stream = &multi->streams[i];
		int code = pthread_create(&stream->thread, NULL, serve_stream, stream);
		stream->running = code == 0;
		if (code != 0) {
			error_set(err, ERROR_SYSTEM, code, "cannot start a thread");
			stream_failed(multi, err);
			break;
		}
	}
	serve_stream(&multi->streams[0]);
	for (uint32_t i = 1; i < multi->count; i++)
		if (multi->streams[i].running)
			pthread_join(multi->streams[i].thread, NULL);
	for (uint32_t i = 0; i < multi->count; i++) {
		const struct stream *stream = &multi->streams[i];
		multi->bytes += stream->memory_bytes + stream->writer.bytes + stream->reader.bytes;
		multi->files += stream->reader.complete;
	}
	if (!multi->failed)
		return 0;
	*err = multi->error;
	return -1;
}

static int multi_send(struct xfer *xfer, struct error *err)
{
	struct multi *multi = xfer->private;
	struct tree_writer *first = &multi->streams[0].writer;
	if (!multi->options->memory)
		multi->queue = part_queue_new(xfer->files, multi->options->block);
	if (serve_all(multi, err) < 0) {
		wire_answer_explain(&multi->streams[0].channel, err);
		return -1;
	}
	if (multi->options->memory)
		return 0;
	multi->files = xfer->files->files;
	if (tree_writer_modes(first, xfer->files, xfer->preserve, err) == 0 &&
	    tree_writer_end_with(first, multi->bytes, multi->files, err) == 0)
		return 0;
	tree_writer_fail(first, err);
	return -1;
}

static int close_tree(struct multi *multi, struct error *err)
{
	struct tree_reader *first = &multi->streams[0].reader;
	if (split_files_all_complete(multi->splits, err) < 0 ||
	    tree_reader_close_tree(first, err) < 0)
		return -1;
	if (first->record.size == multi->bytes && first->record.extra == multi->files)
		return 0;
	return error_set(
		err, ERROR_PEER, 0, "the source sent %llu bytes in %llu files, %llu in %llu came",
		(unsigned long long)first->record.size, (unsigned long long)first->record.extra,
		(unsigned long long)multi->bytes, (unsigned long long)multi->files);
}

static int receive_all(struct multi *multi, struct error *err)
{
	if (serve_all(multi, err) < 0)
		return -1;
	if (!multi->options->memory)
		return close_tree(multi, err);
	multi->xfer->report->counted_bytes = multi->bytes;
	return 0;
}

static int multi_receive(struct xfer *xfer, struct error *err)
{
	struct multi *multi = xfer->private;
	struct gate_call call = multi_call(multi);
	struct error why = { 0 };
	if (gate_accept(&call, multi->fds, multi->count, err) < 0)
		return -1;
	use_connections(multi);
	if (receive_all(multi, &why) == 0)
		return 0;
	wire_answer_failure(&multi->streams[0].channel, &why);
	channel_drain_socket(multi->fds[0], 1);
	*err = why;
	return -1;
}

static int multi_finish(struct xfer *xfer, struct error *err)
{
	struct multi *multi = xfer->private;
	const struct channel *channel = &multi->streams[0].channel;
	return xfer->side == XFER_SOURCE
		       ? wire_answer_read(channel, multi->bytes, multi->files, err)
		       : wire_answer_send(channel, multi->bytes, multi->files, err);
}

static void multi_cleanup(struct xfer *xfer)
{
	struct multi *multi = xfer->private;
	if (!multi)
		return;
	for (uint32_t i = 0; i < multi->count; i++) {
		tree_writer_free(&multi->streams[i].writer);
		tree_reader_free(&multi->streams[i].reader);
		if (multi->fds[i] >= 0)
			close(multi->fds[i]);
	}
	if (multi->listener >= 0)
		close(multi->listener);
	part_queue_free(multi->queue);
	split_files_free(multi->splits);
	pthread_cond_destroy(&multi->changed);
	pthread_mutex_destroy(&multi->mutex);
	free(multi);
	xfer->private = NULL;
}

const struct transport transport_multi = {
	.name = "multi",
	.summary = "the tree over several TCP connections, large files split, not encrypted",
	.driver = XFER_SOURCE,
	.caps = CAP_TWO_ENDED | CAP_STREAMS | CAP_SPLIT_FILE | CAP_SYMLINKS | CAP_EMPTY_FOLDERS |
		CAP_HOLES | CAP_ANY_NAME | CAP_EMPTY_TREE,
	.plain = true,
	.options = multi_option_defs,
	.options_size = sizeof(struct multi_options),
	.probe = multi_probe,
	.memory = multi_memory,
	.streams = multi_streams,
	.prepare = multi_prepare,
	.listen = multi_listen,
	.connect = multi_connect,
	.send = multi_send,
	.receive = multi_receive,
	.finish = multi_finish,
	.cleanup = multi_cleanup,
};
