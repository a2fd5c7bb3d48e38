/* The tree over several TCP connections at once, a thread for each: a large file is split over all
 * of them, small ones are packed. The source pushes; multi-reverse is the same with the sink
 * connecting.
 *
 * Stream 0 first carries all folders and links, then READY; the sink writes nothing that came on
 * the others before that. Each stream then takes units (small files, parts of large ones) from one
 * queue, and ends a round of them with ROUND when the queue is empty, or after 8192. The sink says
 * which of the round it has: those that were damaged, or that it did not have already when a copy
 * is resumed, go back to the queue. The same is said on a connection that replaces one that broke,
 * so that a file is neither short nor sent for nothing. When all streams have ended, stream 0
 * carries the modes that had to wait and the totals, and the sink answers on it. A thread that
 * fails stops the others by shutting their connections down.
 *
 * Memory at each end, whatever the data and the peer: for each stream 1 MiB for contents, another
 * one with compress or resume, and less than 1 MiB for what was sent and not answered, what was
 * bad, and zlib. With 64 streams that is 192 MiB at most; the list of the files and that of those
 * that are incomplete (split_files.h) come on top. */
#include "transports/multi/multi.h"

#include <netinet/tcp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/base/clock.h"
#include "transports/wire/memory_stream.h"

static const char *const checksum_names[] = { "none", "xxh3", NULL };
enum { RECEIVE_AUTO, RECEIVE_READ };
static const char *const receive_names[] = { "auto", "read", NULL };
static const char *const compress_names[] = { "no", "1", "2", "3", "4", "5",
					      "6",  "7", "8", "9", NULL };

const struct option_def multi_option_defs[] = {
	{ .name = "streams",
	  .type = OPTION_COUNT,
	  .offset = offsetof(struct multi_options, streams),
	  .fallback = "4",
	  .min = 1,
	  .max = MULTI_STREAMS_MAX,
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
	{ .name = "checksum",
	  .type = OPTION_CHOICE,
	  .offset = offsetof(struct multi_options, checksum),
	  .fallback = "none",
	  .choices = checksum_names,
	  .help = "sum of every part; those that arrive damaged are sent again" },
	{ .name = "compress",
	  .type = OPTION_CHOICE,
	  .offset = offsetof(struct multi_options, compress),
	  .fallback = "no",
	  .choices = compress_names,
	  .help = "zlib's level; what does not shrink travels as it is" },
	{ .name = "resume",
	  .type = OPTION_FLAG,
	  .offset = offsetof(struct multi_options, resume),
	  .fallback = "no",
	  .help = "compare with what an earlier copy left at the target, send the rest; a run of a "
		  "study has a new, empty target: it shows what getting ready for that costs" },
	{ .name = "receive",
	  .type = OPTION_CHOICE,
	  .offset = offsetof(struct multi_options, receive),
	  .fallback = "auto",
	  .choices = receive_names,
	  .help = "auto: large files by splice, unless there is a checksum; read: by a buffer" },
	{ .name = "rate",
	  .type = OPTION_NUMBER,
	  .offset = offsetof(struct multi_options, rate_bps),
	  .fallback = "0",
	  .unit = "bit/s",
	  .max = 1e15,
	  .help = "limit of all connections together, such as 1Gbit/s; 0 is none" },
	SOCKET_OPTION_ROWS(struct multi_options),
	{ .name = NULL },
};

int multi_probe(const struct transport *transport, struct probe *probe, struct error *err)
{
	(void)transport;
	(void)err;
	text_copy(probe->version, sizeof(probe->version), "built-in");
	return 0;
}

int multi_check_options(const struct transport *transport, const void *values,
			enum preserve preserve, struct error *err)
{
	const struct multi_options *options = values;
	(void)transport;
	(void)preserve;
	if (options->memory && (options->checksum || options->compress || options->resume ||
				options->receive != RECEIVE_AUTO))
		return error_set(err, ERROR_CONFIG, 0,
				 "memory moves no files: checksum, compress, resume and receive "
				 "have no meaning");
	if (!options->memory && options->bytes > 0)
		return error_set(err, ERROR_CONFIG, 0,
				 "bytes needs memory=yes: what it cuts is no copy");
	return 0;
}

bool multi_memory(const void *options)
{
	return ((const struct multi_options *)options)->memory;
}

uint32_t multi_streams(const void *options)
{
	return (uint32_t)((const struct multi_options *)options)->streams;
}

static struct multi *multi_new(struct xfer *xfer)
{
	struct multi *multi = calloc(1, sizeof(*multi));
	if (!multi)
		abort();
	multi->xfer = xfer;
	multi->options = xfer->options;
	multi->count = multi_streams(xfer->options);
	multi->listener = -1;
	multi->gate_stop.fd = -1;
	pthread_mutex_init(&multi->mutex, NULL);
	pthread_cond_init(&multi->changed, NULL);
	for (uint32_t i = 0; i < multi->count; i++) {
		struct multi_stream *stream = &multi->streams[i];
		stream->multi = multi;
		stream->index = i;
		stream->fd = stream->spare = -1;
		stream->splice = SPLICE_SINK_NONE;
	}
	return multi;
}

static int prepare_sink(struct multi_stream *stream, struct error *err)
{
	const struct multi_options *options = stream->multi->options;
	if (tree_reader_init(&stream->reader, MULTI_BUFFER_BYTES, err) < 0)
		return -1;
	/* What is spliced is not seen, and so not summed up. */
	if (options->memory || options->checksum || options->receive == RECEIVE_READ)
		return 0;
	return splice_sink_open(&stream->splice, err);
}

static int prepare_stream(struct multi_stream *stream, struct error *err)
{
	const struct multi_options *options = stream->multi->options;
	const struct unit_coder_options coder = {
		.checksum = options->checksum != 0,
		.compress = options->compress,
		.resume = options->resume,
		.block = MULTI_BUFFER_BYTES,
		.unit = options->block,
	};
	bool source = stream->multi->xfer->side == XFER_SOURCE;
	stream->coder = unit_coder_new(&coder, stream->multi->xfer->side);
	if (!source)
		return prepare_sink(stream, err);
	stream->log.batches = calloc(WIRE_ROUND_MAX, sizeof(stream->log.batches[0]));
	stream->faulty = calloc(WIRE_FAULTS_MAX, sizeof(stream->faulty[0]));
	if (!stream->log.batches || !stream->faulty)
		abort();
	return tree_writer_init(&stream->writer, MULTI_BUFFER_BYTES, err);
}

int multi_prepare(struct xfer *xfer, struct error *err)
{
	struct multi *multi = multi_new(xfer);
	xfer->private = multi;
	if (multi->options->rate_bps > 0 && xfer->side == XFER_SOURCE)
		multi->rate = rate_limit_new(multi->options->rate_bps);
	for (uint32_t i = 0; i < multi->count; i++)
		if (prepare_stream(&multi->streams[i], err) < 0)
			return -1;
	multi->splits = split_files_new();
	xfer->report->streams = multi->count;
	return 0;
}

int multi_listen(struct xfer *xfer, struct endpoint *endpoint, struct error *err)
{
	struct multi *multi = xfer->private;
	return gate_listen(xfer->bind_host, &multi->options->socket, &multi->listener, endpoint,
			   err);
}

int multi_connect(struct xfer *xfer, const struct endpoint *endpoint, struct error *err)
{
	struct multi *multi = xfer->private;
	multi->endpoint = *endpoint;
	return multi_open_lines(multi, err);
}

/* This stream's share of a memory run. */
static int move_memory(struct multi_stream *stream, struct error *err)
{
	const struct multi *multi = stream->multi;
	const struct xfer *xfer = multi->xfer;
	bool source = xfer->side == XFER_SOURCE;
	struct memory_stream memory = {
		.channel = &stream->channel,
		.progress = xfer->progress,
		.buffer = source ? stream->writer.buffer : stream->reader.buffer,
		.size = MULTI_BUFFER_BYTES,
	};
	if (!source)
		return memory_stream_receive(&memory, &stream->bytes, err);
	uint64_t total = multi->options->bytes ? multi->options->bytes : xfer->files->bytes;
	stream->bytes = total / multi->count + (stream->index < total % multi->count);
	return memory_stream_send(&memory, stream->bytes, err);
}

static int move(struct multi_stream *stream, struct error *err)
{
	if (stream->multi->options->memory)
		return move_memory(stream, err);
	return stream->multi->xfer->side == XFER_SOURCE ? multi_source_serve(stream, err)
							: multi_sink_serve(stream, err);
}

static void set_rests(struct multi *multi)
{
	pthread_mutex_lock(&multi->mutex);
	multi->rests = true;
	pthread_mutex_unlock(&multi->mutex);
}

static void *serve_stream(void *argument)
{
	struct multi_stream *stream = argument;
	struct multi *multi = stream->multi;
	struct error why = { 0 };
	if (move(stream, &why) == 0) {
		if (stream->index == 0 && multi->xfer->side == XFER_SOURCE)
			set_rests(multi);
		return NULL;
	}
	/* The sink learns the reason on this stream before the others go away. */
	if (multi->xfer->side == XFER_SOURCE && !multi->options->memory)
		tree_writer_fail(&stream->writer, &why);
	multi_fail(multi, &why);
	return NULL;
}

/* Serves all streams, the first on this thread, until each has ended. */
static int serve_all(struct multi *multi, struct error *err)
{
	for (uint32_t i = 1; i < multi->count; i++) {
		struct multi_stream *stream = &multi->streams[i];
		int code = pthread_create(&stream->thread, NULL, serve_stream, stream);
		stream->running = code == 0;
		if (code != 0) {
			error_set(err, ERROR_SYSTEM, code, "cannot start a thread");
			multi_fail(multi, err);
			break;
		}
	}
	serve_stream(&multi->streams[0]);
	for (uint32_t i = 1; i < multi->count; i++)
		if (multi->streams[i].running)
			pthread_join(multi->streams[i].thread, NULL);
	return multi_check(multi, err);
}

static void sum_memory(struct multi *multi)
{
	multi->bytes = 0;
	for (uint32_t i = 0; i < multi->count; i++)
		multi->bytes += multi->streams[i].bytes;
}

static bool listens(const struct xfer *xfer)
{
	return xfer->transport->driver != xfer->side;
}

int multi_send(struct xfer *xfer, struct error *err)
{
	struct multi *multi = xfer->private;
	if (listens(xfer) && multi_open_lines(multi, err) < 0)
		return -1;
	if (!multi->options->memory)
		multi->queue = part_queue_new(xfer->files, multi->options->block);
	if (serve_all(multi, err) < 0) {
		wire_answer_explain(&multi->streams[0].channel, err);
		return -1;
	}
	if (!multi->options->memory)
		return multi_source_close(multi, err);
	sum_memory(multi);
	return 0;
}

static int receive_all(struct multi *multi, struct error *err)
{
	if (serve_all(multi, err) < 0)
		return -1;
	if (!multi->options->memory)
		return multi_sink_close(multi, err);
	sum_memory(multi);
	multi->xfer->report->counted_bytes = multi->bytes;
	return 0;
}

/* Reads on until the source has read the answer and closes, a second at most: closed with data
 * unread, the connection would be reset and the answer lost. Our own direction stays open for the
 * same reason, and as stop_streams ended the other one, the end of the stream says nothing. */
static void drain_first(const struct multi *multi)
{
	static const size_t at_once = 1 << 20;
	int fd = multi->streams[0].fd;
	int64_t end_ns = clock_deadline_ns(1);
	int64_t pause_ns = 0;
	while (clock_now_ns() < end_ns) {
		struct tcp_info info;
		socklen_t length = sizeof(info);
		/* MSG_TRUNC on a stream socket drops the bytes without copying them. */
		while (recv(fd, NULL, at_once, MSG_TRUNC | MSG_DONTWAIT) > 0)
			;
		if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) < 0 ||
		    info.tcpi_state != TCP_ESTABLISHED)
			return;
		clock_rest(&pause_ns);
	}
}

int multi_receive(struct xfer *xfer, struct error *err)
{
	struct multi *multi = xfer->private;
	struct error why = { 0 };
	if (listens(xfer) && multi_open_lines(multi, err) < 0)
		return -1;
	if (receive_all(multi, &why) == 0)
		return 0;
	if (multi->streams[0].fd >= 0) {
		wire_answer_failure(&multi->streams[0].channel, &why);
		drain_first(multi);
	}
	*err = why;
	return -1;
}

int multi_finish(struct xfer *xfer, struct error *err)
{
	struct multi *multi = xfer->private;
	const struct channel *channel = &multi->streams[0].channel;
	for (uint32_t i = 0; i < multi->count; i++)
		xfer->report->io_calls += multi->streams[i].io_calls;
	return xfer->side == XFER_SOURCE
		       ? wire_answer_read(channel, multi->bytes, multi->files, err)
		       : wire_answer_send(channel, multi->bytes, multi->files, err);
}

void multi_cleanup(struct xfer *xfer)
{
	struct multi *multi = xfer->private;
	if (!multi)
		return;
	multi_close_lines(multi);
	for (uint32_t i = 0; i < multi->count; i++) {
		struct multi_stream *stream = &multi->streams[i];
		tree_writer_free(&stream->writer);
		tree_reader_free(&stream->reader);
		splice_sink_close(&stream->splice);
		unit_coder_free(stream->coder);
		free(stream->log.batches);
		free(stream->faulty);
	}
	part_queue_free(multi->queue);
	split_files_free(multi->splits);
	rate_limit_free(multi->rate);
	pthread_cond_destroy(&multi->changed);
	pthread_mutex_destroy(&multi->mutex);
	free(multi);
	xfer->private = NULL;
}

const struct transport transport_multi = {
	.name = "multi",
	.summary = "the tree over several TCP connections, large files split, not encrypted",
	.driver = XFER_SOURCE,
	MULTI_OPS,
};
