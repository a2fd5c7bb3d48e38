/* The whole tree over one TCP connection, or memory to memory. The source pushes. */
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/api/transport.h"
#include "transports/wire/direct_io.h"
#include "transports/wire/gate.h"
#include "transports/wire/memory_stream.h"
#include "transports/wire/pretouch.h"
#include "transports/wire/splice_sink.h"
#include "transports/wire/tree_reader.h"
#include "transports/wire/tree_writer.h"
#include "transports/wire/tuning.h"
#include "transports/wire/wire.h"

/* How contents get from the socket to a file. Measured on loopback, RAM to RAM: splice wins where
 * the file's pages are new (1.25 of read), read where they exist (1.4 of splice into a mapping). */
enum tcp_receive { RECEIVE_AUTO, RECEIVE_READ, RECEIVE_SPLICE };
static const char *const receive_names[] = { "auto", "read", "splice", NULL };

enum tcp_discard { DISCARD_READ, DISCARD_KERNEL };
static const char *const discard_names[] = { "read", "kernel", NULL };

struct tcp_options {
	uint64_t block, bytes;
	bool memory, direct, pretouch;
	int discard, receive;
	double time_s, pacing_bps;
	char source_cpu[OPTION_TEXT_SIZE], sink_cpu[OPTION_TEXT_SIZE];
	struct socket_options socket;
};

static const struct option_def tcp_option_defs[] = {
	{ .name = "memory",
	  .type = OPTION_FLAG,
	  .offset = offsetof(struct tcp_options, memory),
	  .fallback = "no",
	  .help = "move no files: send from a buffer, count at the sink" },
	{ .name = "bytes",
	  .type = OPTION_SIZE,
	  .offset = offsetof(struct tcp_options, bytes),
	  .fallback = "0",
	  .unit = "bytes",
	  .help = "with memory: how much; 0 is the size of the dataset" },
	{ .name = "time",
	  .type = OPTION_NUMBER,
	  .offset = offsetof(struct tcp_options, time_s),
	  .fallback = "0",
	  .unit = "s",
	  .max = 86400,
	  .help = "with memory: send for so long instead; 0 goes by bytes" },
	{ .name = "discard",
	  .type = OPTION_CHOICE,
	  .offset = offsetof(struct tcp_options, discard),
	  .fallback = "read",
	  .choices = discard_names,
	  .shown = true,
	  .help = "with memory: the sink reads into a buffer, or its kernel drops the bytes" },
	{ .name = "block",
	  .type = OPTION_SIZE,
	  .offset = offsetof(struct tcp_options, block),
	  .fallback = "2MiB",
	  .unit = "bytes",
	  .min = 4096,
	  .max = 64 << 20,
	  .help = "bytes a read or write moves at most" },
	{ .name = "receive",
	  .type = OPTION_CHOICE,
	  .offset = offsetof(struct tcp_options, receive),
	  .fallback = "auto",
	  .choices = receive_names,
	  .help = "large files: copy by way of a buffer, or splice; auto: splice to new pages" },
	{ .name = "pretouch",
	  .type = OPTION_FLAG,
	  .offset = offsetof(struct tcp_options, pretouch),
	  .fallback = "no",
	  .shown = true,
	  .help = "files of 1 MiB and more without holes: their pages at the sink exist before go" },
	{ .name = "direct",
	  .type = OPTION_FLAG,
	  .offset = offsetof(struct tcp_options, direct),
	  .fallback = "no",
	  .shown = true,
	  .help = "bypass the page cache at both ends (O_DIRECT)" },
	{ .name = "pacing",
	  .type = OPTION_NUMBER,
	  .offset = offsetof(struct tcp_options, pacing_bps),
	  .fallback = "0",
	  .unit = "bit/s",
	  .max = 1e13,
	  .help = "send no faster than this (SO_MAX_PACING_RATE, decimal); 0: no limit" },
	{ .name = "source_cpu",
	  .type = OPTION_TEXT,
	  .offset = offsetof(struct tcp_options, source_cpu),
	  .fallback = "",
	  .help = "number of the CPU that the source stays on; none: the kernel decides" },
	{ .name = "sink_cpu",
	  .type = OPTION_TEXT,
	  .offset = offsetof(struct tcp_options, sink_cpu),
	  .fallback = "",
	  .help = "number of the CPU that the sink stays on; none: the kernel decides" },
	SOCKET_OPTION_ROWS(struct tcp_options),
	{ .name = NULL },
};

/* One end of a run. */
struct tcp {
	int listener, fd;
	struct channel channel;
	struct tree_writer writer; /* source */
	struct tree_reader reader; /* sink */
	struct splice_sink splice;
	struct pretouch pretouch;
	struct direct_io direct;
	uint64_t memory_bytes, io_calls;
};

static int tcp_probe(const struct transport *transport, struct probe *probe, struct error *err)
{
	(void)transport;
	(void)err;
	text_copy(probe->version, sizeof(probe->version), "built-in");
	return 0;
}

static bool tcp_memory(const void *options)
{
	return ((const struct tcp_options *)options)->memory;
}

static int check_memory(const struct tcp_options *options, struct error *err)
{
	if (options->pretouch || options->direct || options->receive != RECEIVE_AUTO)
		return error_set(err, ERROR_CONFIG, 0,
				 "memory moves no files: pretouch, direct and receive have no "
				 "meaning");
	if (options->bytes > 0 && options->time_s > 0)
		return error_set(err, ERROR_CONFIG, 0,
				 "bytes and time both say when to stop: give one of them");
	return 0;
}

static int check_files(const struct tcp_options *options, struct error *err)
{
	if (options->bytes > 0 || options->time_s > 0 || options->discard != DISCARD_READ)
		return error_set(err, ERROR_CONFIG, 0,
				 "bytes, time and discard need memory=yes: what they cut or drop "
				 "is no copy");
	if (options->direct && (options->pretouch || options->receive == RECEIVE_SPLICE))
		return error_set(err, ERROR_CONFIG, 0,
				 "direct uses no pages that pretouch or receive=splice could use");
	return 0;
}

static int tcp_check(const struct transport *transport, const void *values, enum preserve preserve,
		     struct error *err)
{
	const struct tcp_options *options = values;
	(void)transport;
	(void)preserve;
	if (tuning_check_cpu("source_cpu", options->source_cpu, err) < 0 ||
	    tuning_check_cpu("sink_cpu", options->sink_cpu, err) < 0)
		return -1;
	return options->memory ? check_memory(options, err) : check_files(options, err);
}

static bool wants_splice(const struct tcp_options *options)
{
	if (options->receive != RECEIVE_AUTO)
		return options->receive == RECEIVE_SPLICE;
	return !options->direct && !options->pretouch;
}

static int prepare_sink(struct xfer *xfer, struct error *err)
{
	const struct tcp_options *options = xfer->options;
	struct tcp *tcp = xfer->private;
	if (options->memory)
		return 0;
	if (wants_splice(options) && splice_sink_open(&tcp->splice, err) < 0)
		return -1;
	return options->pretouch ? pretouch_make(&tcp->pretouch, xfer, err) : 0;
}

static int tcp_prepare(struct xfer *xfer, struct error *err)
{
	const struct tcp_options *options = xfer->options;
	const bool source = xfer->side == XFER_SOURCE;
	struct tcp *tcp = calloc(1, sizeof(*tcp));
	if (!tcp)
		abort();
	tcp->listener = tcp->fd = -1;
	tcp->splice = SPLICE_SINK_NONE;
	xfer->private = tcp;
	xfer->report->streams = 1;
	/* First: what is touched from here on lies where this CPU likes it. */
	if (tuning_pin(source ? options->source_cpu : options->sink_cpu, err) < 0)
		return -1;
	if (options->direct && direct_io_init(&tcp->direct, options->block, err) < 0)
		return -1;
	if (source)
		return tree_writer_init(&tcp->writer, options->block, err);
	return tree_reader_init(&tcp->reader, options->block, err) < 0 ? -1
								       : prepare_sink(xfer, err);
}

static struct gate_call tcp_call(const struct xfer *xfer)
{
	const struct tcp_options *options = xfer->options;
	const struct tcp *tcp = xfer->private;
	return (struct gate_call){
		.listener = tcp->listener,
		.options = &options->socket,
		.token = xfer->token,
		.limit = xfer_limit(xfer),
	};
}

static int tcp_listen(struct xfer *xfer, struct endpoint *endpoint, struct error *err)
{
	const struct tcp_options *options = xfer->options;
	struct tcp *tcp = xfer->private;
	return gate_listen(xfer->bind_host, &options->socket, &tcp->listener, endpoint, err);
}

static int tcp_use(struct xfer *xfer, struct error *err)
{
	const struct tcp_options *options = xfer->options;
	struct tcp *tcp = xfer->private;
	struct io_limit limit = xfer_limit(xfer);
	tcp->channel = channel_on_socket(tcp->fd, &limit);
	tcp->channel.io_calls = &tcp->io_calls;
	return xfer->side == XFER_SOURCE ? tuning_pace(tcp->fd, options->pacing_bps, err) : 0;
}

static int tcp_connect(struct xfer *xfer, const struct endpoint *endpoint, struct error *err)
{
	struct tcp *tcp = xfer->private;
	struct gate_call call = tcp_call(xfer);
	if (gate_connect(&call, endpoint, &tcp->fd, 1, err) < 0)
		return -1;
	return tcp_use(xfer, err);
}

static struct memory_stream tcp_stream(const struct xfer *xfer)
{
	const struct tcp_options *options = xfer->options;
	const struct tcp *tcp = xfer->private;
	return (struct memory_stream){
		.channel = &tcp->channel,
		.progress = xfer->progress,
		.buffer = xfer->side == XFER_SOURCE ? tcp->writer.buffer : tcp->reader.buffer,
		.size = options->block,
		.discard = options->discard == DISCARD_KERNEL,
	};
}

static int send_all(struct xfer *xfer, struct error *err)
{
	const struct tcp_options *options = xfer->options;
	struct tcp *tcp = xfer->private;
	if (options->memory) {
		struct memory_stream stream = tcp_stream(xfer);
		if (options->time_s > 0)
			return memory_stream_send_for(&stream, options->time_s, &tcp->memory_bytes,
						      err);
		tcp->memory_bytes = options->bytes ? options->bytes : xfer->files->bytes;
		return memory_stream_send(&stream, tcp->memory_bytes, err);
	}
	if (tree_writer_start(&tcp->writer, xfer->root, &tcp->channel, xfer->progress, err) < 0)
		return -1;
	tcp->writer.direct = options->direct ? &tcp->direct : NULL;
	return tree_writer_all(&tcp->writer, xfer->files, xfer->preserve, err);
}

static int tcp_send(struct xfer *xfer, struct error *err)
{
	struct tcp *tcp = xfer->private;
	struct error why = { 0 };
	if (send_all(xfer, &why) == 0)
		return 0;
	if (tcp_memory(xfer->options))
		wire_answer_explain(&tcp->channel, &why);
	else
		tree_writer_fail(&tcp->writer, &why);
	*err = why;
	return -1;
}

static int receive_all(struct xfer *xfer, struct error *err)
{
	const struct tcp_options *options = xfer->options;
	struct tcp *tcp = xfer->private;
	if (tcp_memory(xfer->options)) {
		struct memory_stream stream = tcp_stream(xfer);
		int result = memory_stream_receive(&stream, &tcp->memory_bytes, err);
		xfer->report->counted_bytes = tcp->memory_bytes;
		return result;
	}
	if (tree_reader_start(&tcp->reader, xfer, &tcp->channel, err) < 0)
		return -1;
	tcp->reader.splice = tcp->splice.in >= 0 ? &tcp->splice : NULL;
	tcp->reader.sink.pretouch = options->pretouch ? &tcp->pretouch : NULL;
	tcp->reader.sink.direct = options->direct ? &tcp->direct : NULL;
	if (tree_reader_run(&tcp->reader, WIRE_END, err) < 0)
		return -1;
	if (tcp->pretouch.next < tcp->pretouch.count)
		return error_set(err, ERROR_PEER, 0, "the source left out %s",
				 tcp->pretouch.files[tcp->pretouch.next].path);
	return 0;
}

static int tcp_receive(struct xfer *xfer, struct error *err)
{
	struct tcp *tcp = xfer->private;
	struct gate_call call = tcp_call(xfer);
	struct error why = { 0 };
	if (gate_accept(&call, &tcp->fd, 1, err) < 0 || tcp_use(xfer, err) < 0)
		return -1;
	if (receive_all(xfer, &why) == 0)
		return 0;
	wire_answer_failure(&tcp->channel, &why);
	channel_drain_socket(tcp->fd, 1);
	*err = why;
	return -1;
}

/* The sink says what it has, the source waits for that. */
static int tcp_finish(struct xfer *xfer, struct error *err)
{
	struct tcp *tcp = xfer->private;
	bool memory = tcp_memory(xfer->options);
	bool source = xfer->side == XFER_SOURCE;
	uint64_t bytes = memory   ? tcp->memory_bytes
			 : source ? tcp->writer.bytes
				  : tcp->reader.bytes;
	xfer->report->io_calls = tcp->io_calls;
	uint64_t files = memory ? 0 : source ? tcp->writer.files : tcp->reader.complete;
	return source ? wire_answer_read(&tcp->channel, bytes, files, err)
		      : wire_answer_send(&tcp->channel, bytes, files, err);
}

static void tcp_cleanup(struct xfer *xfer)
{
	struct tcp *tcp = xfer->private;
	if (!tcp)
		return;
	tree_writer_free(&tcp->writer);
	tree_reader_free(&tcp->reader);
	splice_sink_close(&tcp->splice);
	pretouch_free(&tcp->pretouch);
	direct_io_free(&tcp->direct);
	if (tcp->fd >= 0)
		close(tcp->fd);
	if (tcp->listener >= 0)
		close(tcp->listener);
	free(tcp);
	xfer->private = NULL;
}

const struct transport transport_tcp = {
	.name = "tcp",
	.summary = "the whole tree over one TCP connection, not encrypted",
	.driver = XFER_SOURCE,
	.caps = CAP_TWO_ENDED | CAP_SYMLINKS | CAP_EMPTY_FOLDERS | CAP_HOLES | CAP_ANY_NAME |
		CAP_EMPTY_TREE,
	.plain = true,
	.options = tcp_option_defs,
	.options_size = sizeof(struct tcp_options),
	.probe = tcp_probe,
	.check = tcp_check,
	.memory = tcp_memory,
	.prepare = tcp_prepare,
	.listen = tcp_listen,
	.connect = tcp_connect,
	.send = tcp_send,
	.receive = tcp_receive,
	.finish = tcp_finish,
	.cleanup = tcp_cleanup,
};
