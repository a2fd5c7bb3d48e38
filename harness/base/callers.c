#include "harness/base/callers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"

struct caller {
	int fd;
	size_t have;
	unsigned char hello[CALLERS_HELLO_BYTES];
};

/* In the order in which they came. */
struct callers {
	int listener;
	size_t bytes;
	bool leave;
	size_t count;
	struct caller caller[CALLERS_MAX];
};

struct callers *callers_open(int listener, size_t bytes, bool leave)
{
	struct callers *callers = calloc(1, sizeof(*callers));
	if (!callers || bytes > CALLERS_HELLO_BYTES)
		abort();
	callers->listener = listener;
	callers->bytes = bytes;
	callers->leave = leave;
	return callers;
}

static void forget(struct callers *callers, size_t i)
{
	callers->count--;
	memmove(&callers->caller[i], &callers->caller[i + 1],
		(callers->count - i) * sizeof(callers->caller[0]));
}

static void drop(struct callers *callers, size_t i)
{
	close(callers->caller[i].fd);
	forget(callers, i);
}

void callers_close(struct callers *callers)
{
	while (callers && callers->count > 0)
		drop(callers, callers->count - 1);
	free(callers);
}

static bool is_through(const struct callers *callers, const struct caller *caller)
{
	return caller->have == callers->bytes;
}

size_t callers_watch(const struct callers *callers, struct pollfd polled[CALLERS_WATCHED])
{
	polled[0] = (struct pollfd){ .fd = callers->listener, .events = POLLIN };
	for (size_t i = 0; i < callers->count; i++)
		polled[i + 1] = (struct pollfd){ .fd = callers->caller[i].fd,
						 .events = POLLIN | POLLRDHUP };
	return callers->count + 1;
}

/* Returns whether it may stay. */
static bool hear(const struct callers *callers, struct caller *caller)
{
	bool leave = callers->leave;
	size_t have = leave ? 0 : caller->have;
	if (is_through(callers, caller))
		return true;
	ssize_t n =
		recv(caller->fd, caller->hello + have, callers->bytes - have, leave ? MSG_PEEK : 0);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	caller->have = have + (size_t)n;
	/* What is left in the connection wakes nobody before there is enough of it (see welcome),
	 * unless no more will come. */
	return n > 0 && (!leave || is_through(callers, caller));
}

static bool lacks_descriptors(int code)
{
	return code == EMFILE || code == ENFILE || code == ENOMEM || code == ENOBUFS;
}

/* Lets one in. Most have said their bytes by the time that they are accepted. */
static int welcome(struct callers *callers, struct error *err)
{
	int least = (int)callers->bytes;
	/* The oldest gives way; those that are through only wait to be taken. */
	for (size_t i = 0; callers->count == CALLERS_MAX; i++)
		if (i == CALLERS_MAX)
			return 0;
		else if (!is_through(callers, &callers->caller[i]))
			drop(callers, i);
	int fd = accept4(callers->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0 && lacks_descriptors(errno) && callers->count > 0) {
		drop(callers, 0);
		return 0;
	}
	if (fd < 0 && (lacks_descriptors(errno) || errno == EBADF || errno == EINVAL))
		return error_system(err, "accept"); /* it would not get better by itself */
	if (fd < 0)
		return 0; /* it went away again */
	if (callers->leave && least > 1)
		setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof(least));
	callers->caller[callers->count++] = (struct caller){ .fd = fd };
	return 0;
}

int callers_hear(struct callers *callers, const struct pollfd *polled, struct error *err)
{
	/* From the last to the first: those that leave do not move the ones still to be heard. */
	for (size_t i = callers->count; i-- > 0;)
		if (polled[i + 1].revents && !hear(callers, &callers->caller[i]))
			drop(callers, i);
	return polled[0].revents ? welcome(callers, err) : 0;
}

int callers_take(struct callers *callers, void *hello)
{
	int one = 1;
	for (size_t i = 0; i < callers->count; i++) {
		struct caller *caller = &callers->caller[i];
		int fd = caller->fd;
		if (!is_through(callers, caller))
			continue;
		if (callers->leave && callers->bytes > 1)
			setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &one, sizeof(one));
		memcpy(hello, caller->hello, callers->bytes);
		forget(callers, i);
		return fd;
	}
	return -1;
}

int callers_next(struct callers *callers, int other, const struct io_limit *limit, int *fd,
		 void *hello, struct error *err)
{
	for (;;) {
		struct pollfd polled[CALLERS_WATCHED + 2];
		struct pollfd *own = polled + 2;
		polled[0] = (struct pollfd){ .fd = other, .events = POLLIN };
		polled[1] = (struct pollfd){ .fd = limit->cancel ? limit->cancel->fd : -1,
					     .events = POLLIN };
		*fd = callers_take(callers, hello);
		if (*fd >= 0)
			return 1;
		if (cancel_requested(limit->cancel))
			return error_set(err, ERROR_CANCELLED, 0, "stopped on request");
		int ready = poll(polled, callers_watch(callers, own) + 2,
				 clock_poll_ms(limit->deadline_ns));
		if (ready < 0 && errno != EINTR)
			return error_system(err, "poll");
		if (ready == 0)
			return error_set(err, ERROR_TIMEOUT, 0,
					 "nobody connected with the right token");
		if (ready < 0)
			continue;
		if (polled[1].revents)
			return error_set(err, ERROR_CANCELLED, 0, "stopped on request");
		if (callers_hear(callers, own, err) < 0)
			return -1;
		if (polled[0].revents)
			return 0;
	}
}
