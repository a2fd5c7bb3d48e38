/* Reads and writes that wake on a deadline and on cancel. They work on blocking and non-blocking
 * descriptors; where a peer may stall, the descriptor must be non-blocking (io_set_nonblocking). */
#ifndef LINEFILL_BASE_IO_H
#define LINEFILL_BASE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/base/cancel.h"
#include "harness/base/error.h"

/* How long to wait, and who may interrupt: passed to everything that blocks. cancel may be NULL. */
struct io_limit {
	int64_t deadline_ns; /* CLOCK_MONOTONIC; CLOCK_NEVER for none */
	const struct cancel *cancel;
};

int io_set_nonblocking(int fd, struct error *err) MUST_CHECK;
/* Waits until fd has any of events (POLLIN, POLLOUT) or an error condition. -1: TIMEOUT, CANCELLED
 * or SYSTEM. */
int io_wait(int fd, short events, const struct io_limit *limit, struct error *err) MUST_CHECK;
/* One rest between two looks at what tells no events, which grows from 1 ms to 20 ms (see
 * clock_next_pause_ns): 1 when fd became readable meanwhile, 0 when not, -1 as io_wait. */
int io_rest(int fd, int64_t *pause_ns, const struct io_limit *limit, struct error *err) MUST_CHECK;
/* At least one byte, at most count; 0 at end of stream; -1 on error. */
ssize_t io_read_some(int fd, void *bytes, size_t count, const struct io_limit *limit,
		     struct error *err) MUST_CHECK;
/* At least one byte of count (count > 0) written. */
ssize_t io_write_some(int fd, const void *bytes, size_t count, const struct io_limit *limit,
		      struct error *err) MUST_CHECK;
/* Exactly count bytes; the end of the stream before that is a PEER error. */
int io_read_full(int fd, void *bytes, size_t count, const struct io_limit *limit,
		 struct error *err) MUST_CHECK;
int io_write_full(int fd, const void *bytes, size_t count, const struct io_limit *limit,
		  struct error *err) MUST_CHECK;
/* All of them to a regular file, which does not wait for a peer. err->code: errno. */
int io_write_at(int fd, const void *bytes, size_t count, uint64_t offset,
		struct error *err) MUST_CHECK;

#endif
