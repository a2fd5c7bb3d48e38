#include "transports/wire/splice_sink.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "harness/base/cleanup.h"

/* What an ordinary user's pipe may hold, pipe(7). */
#define PIPE_BYTES (1 << 20)

int splice_sink_open(struct splice_sink *sink, struct error *err)
{
	int ends[2];
	*sink = SPLICE_SINK_NONE;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_system(err, "pipe");
	sink->in = ends[1];
	sink->out = ends[0];
	int size = fcntl(sink->in, F_SETPIPE_SZ, PIPE_BYTES);
	if (size < 0) /* a user with many pipes may have smaller ones only */
		size = fcntl(sink->in, F_GETPIPE_SZ);
	if (size < 0)
		return error_system(err, "size of a pipe");
	sink->size = (size_t)size;
	return 0;
}

void splice_sink_close(struct splice_sink *sink)
{
	if (sink->in >= 0)
		close(take_fd(&sink->in));
	if (sink->out >= 0)
		close(take_fd(&sink->out));
}

static int put_from_pipe(const struct splice_sink *sink, int fd, uint64_t offset, size_t count,
			 struct error *err)
{
	off_t at = (off_t)offset;
	while (count > 0) {
		ssize_t n = splice(sink->out, NULL, fd, &at, count, SPLICE_F_MOVE);
		if (n > 0)
			count -= (size_t)n;
		else if (n < 0 && errno == ENOSPC)
			return error_set(err, ERROR_SYSTEM, ENOSPC, "no space left on device");
		else if (n == 0 || errno == EINVAL)
			return error_set(err, ERROR_UNSUPPORTED, EINVAL,
					 "this file system takes no splice: use receive=read");
		else if (errno != EINTR)
			return error_system(err, "splice to a file");
	}
	return 0;
}

static int put_in_turn(const struct splice_sink *sink, int fd, uint64_t offset, size_t count,
		       struct error *err)
{
	if (sink->turn)
		pthread_mutex_lock(sink->turn);
	int result = put_from_pipe(sink, fd, offset, count, err);
	if (sink->turn)
		pthread_mutex_unlock(sink->turn);
	return result;
}

static int cannot_take(bool direct, struct error *err)
{
	if (errno == ECONNRESET)
		return error_set(err, ERROR_PEER, errno, "the connection was closed by the peer");
	if (direct && errno == ENOSPC)
		return error_set(err, ERROR_SYSTEM, ENOSPC, "no space left on device");
	if (direct && errno == EINVAL)
		return error_set(err, ERROR_UNSUPPORTED, EINVAL,
				 "this file system takes no splice");
	return error_system(err, direct ? "splice to a file" : "splice from a socket");
}

int splice_sink_move(struct splice_sink *sink, const struct channel *channel, int fd,
		     uint64_t offset, uint64_t count, struct xfer_progress *progress,
		     struct error *err)
{
	const bool direct = sink->in < 0;
	while (count > 0) {
		size_t wanted = count < sink->size ? (size_t)count : sink->size;
		off_t at = (off_t)offset;
		if (channel_check_limit(channel, err) < 0)
			return -1;
		channel_count_call(channel);
		ssize_t n = splice(channel->in, NULL, direct ? fd : sink->in, direct ? &at : NULL,
				   wanted, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
		if (n == 0)
			return error_set(err, ERROR_PEER, 0,
					 "the source closed the connection before the end");
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return cannot_take(direct, err);
		if (n < 0 && channel_wait_for(channel, direct ? 1 : wanted, err) < 0)
			return -1;
		if (n < 0)
			continue;
		if (!direct && put_in_turn(sink, fd, offset, (size_t)n, err) < 0)
			return -1;
		xfer_progress_add(progress, (uint64_t)n);
		sink->moved += (uint64_t)n;
		offset += (uint64_t)n;
		count -= (uint64_t)n;
	}
	return 0;
}
