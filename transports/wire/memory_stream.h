/* Memory to memory over one connection, as ttcp does: the source sends bytes from a buffer, the
 * sink reads them into one and counts. */
#ifndef LINEFILL_TRANSPORTS_WIRE_MEMORY_STREAM_H
#define LINEFILL_TRANSPORTS_WIRE_MEMORY_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/api/xfer.h"
#include "transports/wire/channel.h"

/* A buffer and where to count. The contents of the buffer do not matter. */
struct memory_stream {
	const struct channel *channel;
	struct xfer_progress *progress;
	unsigned char *buffer;
	size_t size;
	bool discard; /* sink: the kernel drops the bytes, they never reach the buffer; sockets only
		       */
};

/* Announces total bytes and sends them. */
int memory_stream_send(const struct memory_stream *stream, uint64_t total,
		       struct error *err) MUST_CHECK;
/* Sends for seconds from now on, announcing nothing, and then ends its direction of the connection;
 * *total is what was sent. Sockets only. */
int memory_stream_send_for(const struct memory_stream *stream, double seconds, uint64_t *total,
			   struct error *err) MUST_CHECK;
/* Reads what was announced, or to the end; *total is what came. */
int memory_stream_receive(const struct memory_stream *stream, uint64_t *total,
			  struct error *err) MUST_CHECK;

#endif
