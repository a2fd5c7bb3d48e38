#include "harness/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "harness/base/clock.h"

int io_set_nonblocking(int fd, struct error *err)
{
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return error_system(err, "fcntl");
	return 0;
}

int io_wait(int fd, short events, const struct io_limit *limit, struct error *err)
{
	struct pollfd polled[2] = { { .fd = fd, .events = events },
				    { .fd = -1, .events = POLLIN } };
	if (limit->cancel)
		polled[1].fd = limit->cancel->fd;
	for (;;) {
		if (cancel_requested(limit->cancel))
			return error_set(err, ERROR_CANCELLED, 0, "stopped on request");
		int ready = poll(polled, 2, clock_poll_ms(limit->deadline_ns));
		if (ready < 0 && errno != EINTR)
			return error_system(err, "poll");
		if (ready > 0 && polled[1].revents)
			return error_set(err, ERROR_CANCELLED, 0, "stopped on request");
		if (ready > 0 && polled[0].revents)
			return 0;
		if (ready == 0)
			return error_set(err, ERROR_TIMEOUT, 0, "no answer before the deadline");
	}
}

int io_rest(int fd, int64_t *pause_ns, const struct io_limit *limit, struct error *err)
{
	struct error own = { 0 };
	int64_t end_ns = clock_now_ns() + clock_next_pause_ns(pause_ns);
	struct io_limit pause = { .deadline_ns = end_ns, .cancel = limit->cancel };
	if (limit->deadline_ns < end_ns)
		pause.deadline_ns = limit->deadline_ns;
	if (io_wait(fd, POLLIN, &pause, &own) == 0)
		return 1;
	if (own.kind == ERROR_TIMEOUT && clock_now_ns() < limit->deadline_ns)
		return 0;
	if (err)
		*err = own;
	return -1;
}

static bool would_block(void)
{
	return errno == EAGAIN || errno == EWOULDBLOCK;
}

ssize_t io_read_some(int fd, void *bytes, size_t count, const struct io_limit *limit,
		     struct error *err)
{
	for (;;) {
		ssize_t n = read(fd, bytes, count);
		if (n >= 0)
			return n;
		if (errno == EINTR)
			continue;
		if (errno == ECONNRESET)
			return error_set(err, ERROR_PEER, errno,
					 "the connection was reset by the peer");
		if (!would_block())
			return error_system(err, "read");
		if (io_wait(fd, POLLIN, limit, err) < 0)
			return -1;
	}
}

ssize_t io_write_some(int fd, const void *bytes, size_t count, const struct io_limit *limit,
		      struct error *err)
{
	for (;;) {
		ssize_t n = write(fd, bytes, count);
		if (n >= 0)
			return n;
		if (errno == EINTR)
			continue;
		if (errno == ECONNRESET || errno == EPIPE)
			return error_set(err, ERROR_PEER, errno,
					 "the connection was closed by the peer");
		if (!would_block())
			return error_system(err, "write");
		if (io_wait(fd, POLLOUT, limit, err) < 0)
			return -1;
	}
}

int io_read_full(int fd, void *bytes, size_t count, const struct io_limit *limit, struct error *err)
{
	for (size_t done = 0; done < count;) {
		ssize_t n = io_read_some(fd, (char *)bytes + done, count - done, limit, err);
		if (n < 0)
			return -1;
		if (n == 0)
			return error_set(err, ERROR_PEER, 0,
					 "the peer closed the connection after %zu of %zu bytes",
					 done, count);
		done += (size_t)n;
	}
	return 0;
}

int io_write_full(int fd, const void *bytes, size_t count, const struct io_limit *limit,
		  struct error *err)
{
	for (size_t done = 0; done < count;) {
		ssize_t n = io_write_some(fd, (const char *)bytes + done, count - done, limit, err);
		if (n < 0)
			return -1;
		done += (size_t)n;
	}
	return 0;
}

int io_write_at(int fd, const void *bytes, size_t count, uint64_t offset, struct error *err)
{
	for (size_t done = 0; done < count;) {
		ssize_t n = pwrite(fd, (const char *)bytes + done, count - done,
				   (off_t)(offset + done));
		if (n > 0)
			done += (size_t)n;
		else if (n < 0 && errno == ENOSPC)
			return error_set(err, ERROR_SYSTEM, ENOSPC, "no space left on device");
		else if (n < 0 && errno != EINTR)
			return error_system(err, "write");
	}
	return 0;
}
