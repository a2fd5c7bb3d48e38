#include "transports/wire/rate_limit.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>

#include "harness/base/clock.h"

#define PIECE_BYTES_LEAST (64u << 10)
#define PIECE_S           0.01

struct rate_limit {
	double ns_per_byte;
	size_t piece;
	/* The carrier's own: the same for all channels that draw from here. */
	int (*write)(const struct channel *channel, const void *bytes, size_t count,
		     struct error *err);
	pthread_mutex_t mutex;
	int64_t next_ns; /* when all that was granted so far has left */
};

struct rate_limit *rate_limit_new(double bits_per_s)
{
	struct rate_limit *limit = calloc(1, sizeof(*limit));
	if (!limit)
		abort();
	double piece = bits_per_s / 8 * PIECE_S;
	limit->piece = piece > PIECE_BYTES_LEAST ? (size_t)piece : PIECE_BYTES_LEAST;
	limit->ns_per_byte = 8 * (double)NS_PER_S / bits_per_s;
	pthread_mutex_init(&limit->mutex, NULL);
	return limit;
}

void rate_limit_free(struct rate_limit *limit)
{
	if (!limit)
		return;
	pthread_mutex_destroy(&limit->mutex);
	free(limit);
}

/* When count more bytes may leave: time that nobody used is not saved up. */
static int64_t reserve(struct rate_limit *limit, size_t count)
{
	pthread_mutex_lock(&limit->mutex);
	int64_t now = clock_now_ns();
	int64_t start = limit->next_ns > now ? limit->next_ns : now;
	limit->next_ns = start + (int64_t)((double)count * limit->ns_per_byte);
	pthread_mutex_unlock(&limit->mutex);
	return start;
}

static int wait_until(const struct channel *channel, int64_t start_ns, struct error *err)
{
	const struct cancel *cancel = channel->limit.cancel;
	for (;;) {
		int64_t now = clock_now_ns();
		if (channel_check_limit(channel, err) < 0)
			return -1;
		if (now >= start_ns)
			return 0;
		int64_t end = start_ns < channel->limit.deadline_ns ? start_ns
								    : channel->limit.deadline_ns;
		int64_t left = end > now ? end - now : 0;
		struct timespec time = { .tv_sec = left / NS_PER_S, .tv_nsec = left % NS_PER_S };
		struct pollfd polled = { .fd = cancel ? cancel->fd : -1, .events = POLLIN };
		if (ppoll(&polled, 1, &time, NULL) < 0 && errno != EINTR)
			return error_system(err, "poll");
	}
}

static int limited_write(const struct channel *channel, const void *bytes, size_t count,
			 struct error *err)
{
	struct rate_limit *limit = channel->context;
	for (size_t done = 0; done < count;) {
		size_t now = count - done < limit->piece ? count - done : limit->piece;
		if (wait_until(channel, reserve(limit, now), err) < 0 ||
		    limit->write(channel, (const char *)bytes + done, now, err) < 0)
			return -1;
		done += now;
	}
	return 0;
}

void rate_limit_apply(struct rate_limit *limit, struct channel *channel)
{
	/* Once: other threads may be writing already. */
	if (!limit->write)
		limit->write = channel->write;
	channel->write = limited_write;
	channel->context = limit;
}
