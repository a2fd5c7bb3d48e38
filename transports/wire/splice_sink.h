/* Sink: contents go from a socket to a file without a buffer of ours between (splice(2) by way of
 * a pipe): one copy less where the file's pages are new. From a channel that is a pipe itself they
 * go directly. One thread an object. */
#ifndef LINEFILL_TRANSPORTS_WIRE_SPLICE_SINK_H
#define LINEFILL_TRANSPORTS_WIRE_SPLICE_SINK_H

#include <pthread.h>
#include <stdint.h>

#include "harness/api/xfer.h"
#include "transports/wire/channel.h"

/* Less than this is copied as usual. */
#define SPLICE_LEAST_BYTES (256u << 10)

struct splice_sink {
	int in, out;           /* of the pipe; -1: the channel is one */
	size_t size;           /* bytes to move at once */
	uint64_t moved;        /* bytes so far */
	pthread_mutex_t *turn; /* held while the file is written; NULL: nobody else writes it */
};
#define SPLICE_SINK_NONE ((struct splice_sink){ .in = -1, .out = -1 })
/* For a channel on pipes; there is nothing to close. */
#define SPLICE_SINK_DIRECT ((struct splice_sink){ .in = -1, .out = -1, .size = 1u << 20 })

int splice_sink_open(struct splice_sink *sink, struct error *err) MUST_CHECK;
/* Safe on SPLICE_SINK_NONE. */
void splice_sink_close(struct splice_sink *sink);
/* Moves count bytes from the channel to the file at offset, counting them. Directly, a file system
 * that takes no splice is UNSUPPORTED, with nothing moved; turn is not held. */
int splice_sink_move(struct splice_sink *sink, const struct channel *channel, int fd,
		     uint64_t offset, uint64_t count, struct xfer_progress *progress,
		     struct error *err) MUST_CHECK;

#endif
