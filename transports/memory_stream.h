/* Memory to memory over one connection, as ttcp does: the source sends bytes from a buffer, the
 * sink reads them into one and counts. */
#ifndef LINEFILL_TRANSPORTS_MEMORY_STREAM_H
#define LINEFILL_TRANSPORTS_MEMORY_STREAM_H

#include <stdint.h>

#include "harness/api/xfer.h"
#include "transports/channel.h"

/* A buffer and where to count. The contents of the buffer do not matter. */
struct memory_stream {
	const struct channel *channel;
	struct xfer_progress *progress;
	unsigned char *buffer;
	size_t size;
};

/* Announces total bytes and sends them. */
int memory_stream_send(const struct memory_stream *stream, uint64_t total,
		       struct error *err) MUST_CHECK;
/* Reads what was announced; *total is what came. */
int memory_stream_receive(const struct memory_stream *stream, uint64_t *total,
			  struct error *err) MUST_CHECK;

#endif
