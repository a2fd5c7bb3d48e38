/* Source side of the old scp protocol (rcp's), as `scp -r -t FOLDER` takes it: control lines D, E,
 * C and T, each acknowledged by the sink. A control line and contents never travel unacknowledged
 * one after the other, so that contents can not be taken for control lines. One thread. */
#ifndef LINEFILL_TRANSPORTS_SSH_SCP_STREAM_H
#define LINEFILL_TRANSPORTS_SSH_SCP_STREAM_H

#include "harness/api/xfer.h"
#include "transports/wire/channel.h"
#include "transports/wire/tree_source.h"
#include "transports/wire/wire.h"

struct scp_stream {
	const struct channel *channel;
	const struct xfer *xfer;
	struct beneath source;
	unsigned char *buffer;
	size_t block;
	char folder[WIRE_PATH_MAX + 1]; /* where the sink is, relative to the root */
};

/* block: bytes of contents a write may carry. Touches the buffer, opens no file. */
int scp_stream_init(struct scp_stream *stream, size_t block, struct error *err) MUST_CHECK;
/* Opens the source's root and hears that the sink is ready. channel and xfer must outlive the
 * stream. */
int scp_stream_start(struct scp_stream *stream, const struct xfer *xfer,
		     const struct channel *channel, struct error *err) MUST_CHECK;
/* Safe on a zeroed object whose init was never called. */
void scp_stream_free(struct scp_stream *stream);

/* Can the protocol name it? A line ends at a line feed, and other control characters are not safe
 * with all servers. */
bool scp_stream_can_name(const char *path);
/* A folder or a file of xfer->files, with mode and time as xfer->preserve asks; folders stay
 * writable for their owner (wire_mode_is_late). In any order, cheapest in the manifest's. */
int scp_stream_entry(struct scp_stream *stream, const struct manifest_entry *entry,
		     struct error *err) MUST_CHECK;
/* Leaves all folders: the sink sets their modes now. */
int scp_stream_end(struct scp_stream *stream, struct error *err) MUST_CHECK;

#endif
