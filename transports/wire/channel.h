/* A byte stream in both directions, whatever carries it: a socket, two pipes, an SSH channel. Each
 * call observes the deadline and the cancel of its carrier. One thread a direction. */
#ifndef LINEFILL_TRANSPORTS_WIRE_CHANNEL_H
#define LINEFILL_TRANSPORTS_WIRE_CHANNEL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/base/error.h"
#include "harness/base/io.h"

struct channel {
	/* At least least bytes, at most most; fewer than least only at the end of the stream. */
	ssize_t (*read)(const struct channel *channel, void *bytes, size_t least, size_t most,
			struct error *err);
	/* All count bytes. A PEER error also when the peer answered before we were done: it will
	 * take no more. */
	int (*write)(const struct channel *channel, const void *bytes, size_t count,
		     struct error *err);
	int in, out;        /* descriptors, where there are any */
	uint64_t *io_calls; /* where not NULL: system calls that moved data, or tried to */
	struct io_limit limit;
	void *context; /* the carrier's own */
};

/* Over one non-blocking stream socket. The caller closes it. */
struct channel channel_on_socket(int fd, const struct io_limit *limit);
/* Over two descriptors, such as standard input and output. */
struct channel channel_on_pipes(int in, int out, const struct io_limit *limit);

/* For users of channel->in of a socket: waits until it is worth to read when wanted bytes (> 0) are
 * still to come for sure. */
int channel_wait_for(const struct channel *channel, size_t wanted, struct error *err) MUST_CHECK;
/* For carriers: one more system call. */
void channel_count_call(const struct channel *channel);
/* For carriers: an error when the deadline passed or cancel was requested. A channel that never
 * makes anyone wait must not outlive them either. */
int channel_check_limit(const struct channel *channel, struct error *err) MUST_CHECK;
/* Exactly count bytes; the end of the stream before that is a PEER error. */
int channel_read_full(const struct channel *channel, void *bytes, size_t count,
		      struct error *err) MUST_CHECK;
/* The same, for last words after a failure: waits a second at most, whatever the deadline, and is
 * not stopped by cancel. */
struct channel channel_in_haste(const struct channel *channel);
/* Reads and drops what still comes, until the peer closes or seconds pass: lets a peer that is
 * still sending see our answer instead of a reset. Sockets only. */
void channel_drain_socket(int fd, double seconds);

#endif
