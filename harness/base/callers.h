/* Who comes to a listening socket: let in side by side and heard until each has said its first so
 * many bytes. Nobody waits for anybody else: one who stays silent, or is slow, costs a place of
 * CALLERS_MAX until it goes or newer ones need the place, and the listener's backlog stays empty.
 * Whether the bytes are the right ones is for the caller of this to judge. */
#ifndef LINEFILL_BASE_CALLERS_H
#define LINEFILL_BASE_CALLERS_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "harness/base/error.h"
#include "harness/base/io.h"

/* Callers who have not said enough yet; when one more comes the oldest gives way. */
#define CALLERS_MAX         128
#define CALLERS_HELLO_BYTES 64

struct callers;

/* The listener must not block; it stays the caller's. Each has to say `bytes` bytes (up to
 * CALLERS_HELLO_BYTES), and not one more is read; with `leave` not even these are: they stay in the
 * connection for whom it is handed to. */
struct callers *callers_open(int listener, size_t bytes, bool leave);
/* Drops all that were not taken. Safe on NULL. */
void callers_close(struct callers *callers);

/* For a poll loop of one's own: fills polled, returns how many; then callers_hear with what poll
 * found, then callers_take until it says -1. */
#define CALLERS_WATCHED (CALLERS_MAX + 1)
size_t callers_watch(const struct callers *callers, struct pollfd polled[CALLERS_WATCHED]);
/* -1, SYSTEM, when nobody can be let in, such as without descriptors. */
int callers_hear(struct callers *callers, const struct pollfd *polled,
		 struct error *err) MUST_CHECK;
/* One who has said it all: its descriptor, which does not block and is the caller's from now on,
 * and its bytes; -1 when there is none. */
int callers_take(struct callers *callers, void *hello);

/* Waits for one to take: 1, with *fd and hello; 0 when `other` (a descriptor, or -1) became
 * readable; -1, TIMEOUT when none came in time. */
int callers_next(struct callers *callers, int other, const struct io_limit *limit, int *fd,
		 void *hello, struct error *err) MUST_CHECK;

#endif
