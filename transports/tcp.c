/* The whole tree over one TCP connection, or memory to memory. The source pushes. */
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/api/transport.h"
#include "transports/gate.h"
#include "transports/memory_stream.h"
#include "transports/tree_reader.h"
#include "transports/tree_writer.h"
#include "transports/wire.h"

struct tcp_options {
	uint64_t block, bytes;
	bool memory;
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
	{ .name = "block",
	  .type = OPTION_SIZE,
	  .offset = offsetof(struct tcp_options, block),
	  .fallback = "1MiB",
	  .unit = "bytes",
	  .min = 4096,
	  .max = 64 << 20,
	  .help = "bytes a read or write moves at most" },
	SOCKET_OPTION_ROWS(struct tcp_options),
	{ .name = NULL },
};

/* One end of a run. */
struct tcp {
	int listener, fd;
	struct channel channel;
	struct tree_writer writer; /* source */
	struct tree_reader reader; /* sink */
	uint64_t memory_bytes;
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

static int tcp_prepare(struct xfer *xfer, struct error *err)
{
	const struct tcp_options *options = xfer->options;
	struct tcp *tcp = calloc(1, sizeof(*tcp));
	if (!tcp)
		abort();
	tcp->listener = tcp->fd = -1;
	xfer->private = tcp;
	xfer->report->streams = 1;
	return xfer->side == XFER_SOURCE ? tree_writer_init(&tcp->writer, options->block, err)
					 : tree_reader_init(&tcp->reader, options->block, err);
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

static void tcp_use(struct xfer *xfer)
{
	struct tcp *tcp = xfer->private;
	struct io_limit limit = xfer_limit(xfer);
	tcp->channel = channel_on_socket(tcp->fd, &limit);
}

static int tcp_connect(struct xfer *xfer, const struct endpoint *endpoint, struct error *err)
{
	struct tcp *tcp = xfer->private;
	struct gate_call call = tcp_call(xfer);
	if (gate_connect(&call, endpoint, &tcp->fd, 1, err) < 0)
		return -1;
	tcp_use(xfer);
	return 0;
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
	};
}

static int send_all(struct xfer *xfer, struct error *err)
{
	const struct tcp_options *options = xfer->options;
	struct tcp *tcp = xfer->private;
	if (options->memory) {
		struct memory_stream stream = tcp_stream(xfer);
		tcp->memory_bytes = options->bytes ? options->bytes : xfer->files->bytes;
		return memory_stream_send(&stream, tcp->memory_bytes, err);
	}
	if (tree_writer_start(&tcp->writer, xfer->root, &tcp->channel, xfer->progress, err) < 0)
		return -1;
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
	struct tcp *tcp = xfer->private;
	if (tcp_memory(xfer->options)) {
		struct memory_stream stream = tcp_stream(xfer);
		int result = memory_stream_receive(&stream, &tcp->memory_bytes, err);
		xfer->report->counted_bytes = tcp->memory_bytes;
		return result;
	}
	if (tree_reader_start(&tcp->reader, xfer, &tcp->channel, err) < 0)
		return -1;
	return tree_reader_run(&tcp->reader, WIRE_END, err);
}

static int tcp_receive(struct xfer *xfer, struct error *err)
{
	struct tcp *tcp = xfer->private;
	struct gate_call call = tcp_call(xfer);
	struct error why = { 0 };
	if (gate_accept(&call, &tcp->fd, 1, err) < 0)
		return -1;
	tcp_use(xfer);
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
	.memory = tcp_memory,
	.prepare = tcp_prepare,
	.listen = tcp_listen,
	.connect = tcp_connect,
	.send = tcp_send,
	.receive = tcp_receive,
	.finish = tcp_finish,
	.cleanup = tcp_cleanup,
};
