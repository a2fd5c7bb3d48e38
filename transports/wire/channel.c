#include "transports/wire/channel.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "harness/base/clock.h"

#define HASTE_S 1.0

/* From this many wanted bytes on it pays to be woken once for all of them, and what is sent is
 * worth a look beforehand. */
#define WAIT_FOR_ALL_BYTES (64u << 10)

/* At most so many bytes are waited for in one go: the sender should never run dry. */
#define LOW_WATER_BYTES ((size_t)256 << 10)

static int peer_gone(int code, struct error *err)
{
	return error_set(err, ERROR_PEER, code, "the connection was closed by the peer");
}

int channel_check_limit(const struct channel *channel, struct error *err)
{
	if (cancel_requested(channel->limit.cancel))
		return error_set(err, ERROR_CANCELLED, 0, "stopped on request");
	if (clock_poll_ms(channel->limit.deadline_ns) == 0)
		return error_set(err, ERROR_TIMEOUT, 0, "the deadline passed");
	return 0;
}

void channel_count_call(const struct channel *channel)
{
	if (channel->io_calls)
		++*channel->io_calls;
}

/* The kernel lowers it where the receive buffer is small, and forgets it when asked for 1. */
static void set_low_water(int fd, size_t bytes)
{
	int least = (int)bytes;
	setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof(least));
}

int channel_wait_for(const struct channel *channel, size_t wanted, struct error *err)
{
	size_t least = wanted < LOW_WATER_BYTES ? wanted : LOW_WATER_BYTES;
	if (least > 1)
		set_low_water(channel->in, least);
	int result = io_wait(channel->in, POLLIN, &channel->limit, err);
	if (least > 1)
		set_low_water(channel->in, 1);
	return result;
}

static ssize_t socket_read(const struct channel *channel, void *bytes, size_t least, size_t most,
			   struct error *err)
{
	size_t done = 0;
	if (channel_check_limit(channel, err) < 0)
		return -1;
	while (done < least) {
		size_t wanted = (least >= WAIT_FOR_ALL_BYTES ? least : most) - done;
		channel_count_call(channel);
		ssize_t n = recv(channel->in, (char *)bytes + done, wanted, 0);
		if (n == 0)
			break;
		if (n > 0)
			done += (size_t)n;
		else if (errno == ECONNRESET)
			return peer_gone(errno, err);
		else if (errno != EAGAIN && errno != EINTR)
			return error_system(err, "recv");
		else if (channel_wait_for(channel, least - done, err) < 0)
			return -1;
	}
	return (ssize_t)done;
}

/* What can be read while there is still something to send is an answer that came early, or the
 * end. */
static int check_silence(const struct channel *channel, struct error *err)
{
	char byte;
	if (recv(channel->out, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0)
		return error_set(err, ERROR_PEER, 0, "the peer stopped taking data");
	return 0;
}

static int wait_for_room(const struct channel *channel, struct error *err)
{
	if (io_wait(channel->out, POLLIN | POLLOUT, &channel->limit, err) < 0)
		return -1;
	return check_silence(channel, err);
}

static int socket_write(const struct channel *channel, const void *bytes, size_t count,
			struct error *err)
{
	if (channel_check_limit(channel, err) < 0)
		return -1;
	/* A sink that failed may go on reading, so that there is always room. */
	if (count >= WAIT_FOR_ALL_BYTES && check_silence(channel, err) < 0)
		return -1;
	for (size_t done = 0; done < count;) {
		channel_count_call(channel);
		ssize_t n =
			send(channel->out, (const char *)bytes + done, count - done, MSG_NOSIGNAL);
		if (n >= 0)
			done += (size_t)n;
		else if (errno == ECONNRESET || errno == EPIPE)
			return peer_gone(errno, err);
		else if (errno != EAGAIN && errno != EINTR)
			return error_system(err, "send");
		else if (wait_for_room(channel, err) < 0)
			return -1;
	}
	return 0;
}

struct channel channel_on_socket(int fd, const struct io_limit *limit)
{
	return (struct channel){
		.read = socket_read,
		.write = socket_write,
		.in = fd,
		.out = fd,
		.limit = *limit,
	};
}

static ssize_t pipe_read(const struct channel *channel, void *bytes, size_t least, size_t most,
			 struct error *err)
{
	size_t done = 0;
	if (channel_check_limit(channel, err) < 0)
		return -1;
	while (done < least) {
		ssize_t n = io_read_some(channel->in, (char *)bytes + done, most - done,
					 &channel->limit, err);
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

static int pipe_write(const struct channel *channel, const void *bytes, size_t count,
		      struct error *err)
{
	if (channel_check_limit(channel, err) < 0)
		return -1;
	return io_write_full(channel->out, bytes, count, &channel->limit, err);
}

struct channel channel_on_pipes(int in, int out, const struct io_limit *limit)
{
	return (struct channel){
		.read = pipe_read,
		.write = pipe_write,
		.in = in,
		.out = out,
		.limit = *limit,
	};
}

int channel_read_full(const struct channel *channel, void *bytes, size_t count, struct error *err)
{
	ssize_t n = channel->read(channel, bytes, count, count, err);
	if (n < 0)
		return -1;
	if ((size_t)n < count)
		return error_set(err, ERROR_PEER, 0, "the peer closed the connection early");
	return 0;
}

struct channel channel_in_haste(const struct channel *channel)
{
	struct channel hasty = *channel;
	hasty.limit = (struct io_limit){ .deadline_ns = clock_deadline_ns(HASTE_S) };
	return hasty;
}

void channel_drain_socket(int fd, double seconds)
{
	static const size_t at_once = 64 << 10;
	struct io_limit limit = { .deadline_ns = clock_deadline_ns(seconds) };
	shutdown(fd, SHUT_WR);
	while (io_wait(fd, POLLIN, &limit, NULL) == 0) {
		/* MSG_TRUNC on a stream socket drops the bytes without copying them. */
		ssize_t n = recv(fd, NULL, at_once, MSG_TRUNC | MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			return;
	}
}
