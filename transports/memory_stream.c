#include "transports/memory_stream.h"

#include <endian.h>
#include <string.h>

int memory_stream_send(const struct memory_stream *stream, uint64_t total, struct error *err)
{
	uint64_t announced = htole64(total);
	if (stream->channel->write(stream->channel, &announced, sizeof(announced), err) < 0)
		return -1;
	for (uint64_t left = total; left > 0;) {
		size_t count = left < stream->size ? (size_t)left : stream->size;
		if (stream->channel->write(stream->channel, stream->buffer, count, err) < 0)
			return -1;
		xfer_progress_add(stream->progress, count);
		left -= count;
	}
	return 0;
}

int memory_stream_receive(const struct memory_stream *stream, uint64_t *total, struct error *err)
{
	uint64_t announced;
	*total = 0;
	if (channel_read_full(stream->channel, &announced, sizeof(announced), err) < 0)
		return -1;
	for (uint64_t left = le64toh(announced); left > 0;) {
		size_t most = left < stream->size ? (size_t)left : stream->size;
		ssize_t n = stream->channel->read(stream->channel, stream->buffer, 1, most, err);
		if (n < 0)
			return -1;
		if (n == 0)
			return error_set(err, ERROR_PEER, 0,
					 "the source closed the connection before the end");
		xfer_progress_add(stream->progress, (uint64_t)n);
		*total += (uint64_t)n;
		left -= (uint64_t)n;
	}
	return 0;
}
