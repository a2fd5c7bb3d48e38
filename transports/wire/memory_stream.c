#include "transports/wire/memory_stream.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "harness/base/clock.h"

/* Announced when nobody knows how much it will be. */
#define TO_THE_END UINT64_MAX

static int announce(const struct memory_stream *stream, uint64_t total, struct error *err)
{
	uint64_t announced = htole64(total);
	return stream->channel->write(stream->channel, &announced, sizeof(announced), err);
}

static int send_block(const struct memory_stream *stream, size_t count, struct error *err)
{
	if (stream->channel->write(stream->channel, stream->buffer, count, err) < 0)
		return -1;
	xfer_progress_add(stream->progress, count);
	return 0;
}

int memory_stream_send(const struct memory_stream *stream, uint64_t total, struct error *err)
{
	if (announce(stream, total, err) < 0)
		return -1;
	for (uint64_t left = total; left > 0;) {
		size_t count = left < stream->size ? (size_t)left : stream->size;
		if (send_block(stream, count, err) < 0)
			return -1;
		left -= count;
	}
	return 0;
}

int memory_stream_send_for(const struct memory_stream *stream, double seconds, uint64_t *total,
			   struct error *err)
{
	int64_t end_ns = clock_deadline_ns(seconds);
	*total = 0;
	if (announce(stream, TO_THE_END, err) < 0)
		return -1;
	while (clock_now_ns() < end_ns) {
		if (send_block(stream, stream->size, err) < 0)
			return -1;
		*total += stream->size;
	}
	if (shutdown(stream->channel->out, SHUT_WR) < 0)
		return error_system(err, "shutdown");
	return 0;
}

/* On a stream socket MSG_TRUNC drops the bytes without copying them, tcp(7). */
static ssize_t discard_some(const struct channel *channel, size_t most, struct error *err)
{
	for (;;) {
		if (channel_check_limit(channel, err) < 0)
			return -1;
		channel_count_call(channel);
		ssize_t n = recv(channel->in, NULL, most, MSG_TRUNC);
		if (n >= 0)
			return n;
		if (errno == ECONNRESET)
			return error_set(err, ERROR_PEER, errno,
					 "the connection was closed by the peer");
		if (errno != EAGAIN && errno != EINTR)
			return error_system(err, "recv");
		if (io_wait(channel->in, POLLIN, &channel->limit, err) < 0)
			return -1;
	}
}

int memory_stream_receive(const struct memory_stream *stream, uint64_t *total, struct error *err)
{
	uint64_t announced;
	*total = 0;
	if (channel_read_full(stream->channel, &announced, sizeof(announced), err) < 0)
		return -1;
	for (uint64_t left = le64toh(announced); left > 0;) {
		size_t most = left < stream->size ? (size_t)left : stream->size;
		ssize_t n = stream->discard ? discard_some(stream->channel, most, err)
					    : stream->channel->read(stream->channel, stream->buffer,
								    1, most, err);
		if (n < 0)
			return -1;
		if (n == 0 && le64toh(announced) == TO_THE_END)
			return 0;
		if (n == 0)
			return error_set(err, ERROR_PEER, 0,
					 "the source closed the connection before the end");
		xfer_progress_add(stream->progress, (uint64_t)n);
		*total += (uint64_t)n;
		left -= (uint64_t)n;
	}
	return 0;
}
