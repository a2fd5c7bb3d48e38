#include "transports/wire/gate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "transports/wire/wire.h"

/* Callers that have not said who they are yet; more than our own may come at once. */
#define CALLERS_MAX 128
#define BACKLOG     128

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static int parse_address(const char *host, uint16_t port, union address *address, socklen_t *length,
			 struct error *err)
{
	memset(address, 0, sizeof(*address));
	if (inet_pton(AF_INET, host, &address->v4.sin_addr) == 1) {
		address->v4.sin_family = AF_INET;
		address->v4.sin_port = htons(port);
		*length = sizeof(address->v4);
		return 0;
	}
	if (inet_pton(AF_INET6, host, &address->v6.sin6_addr) == 1) {
		address->v6.sin6_family = AF_INET6;
		address->v6.sin6_port = htons(port);
		*length = sizeof(address->v6);
		return 0;
	}
	return error_set(err, ERROR_CONFIG, 0, "%s is no IPv4 or IPv6 address", host);
}

/* The kernel caps what it does not like without a word: what it took is read back. */
static int set_buffer(int fd, int option, int forced, uint64_t bytes, struct error *err)
{
	int wanted = (int)bytes;
	int got = 0;
	socklen_t length = sizeof(got);
	if (bytes == 0)
		return 0;
	if (setsockopt(fd, SOL_SOCKET, forced, &wanted, sizeof(wanted)) < 0 &&
	    setsockopt(fd, SOL_SOCKET, option, &wanted, sizeof(wanted)) < 0)
		return error_system(err, "set socket buffer");
	if (getsockopt(fd, SOL_SOCKET, option, &got, &length) < 0)
		return error_system(err, "read socket buffer");
	if (got / 2 < wanted) /* the kernel doubles it for its own use, socket(7) */
		return error_set(err, ERROR_CONFIG, 0,
				 "a socket buffer of %d bytes: this kernel allows %d (see "
				 "net.core.rmem_max and wmem_max)",
				 wanted, got / 2);
	return 0;
}

static int set_options(int fd, const struct socket_options *options, struct error *err)
{
	int on = 1;
	if (set_buffer(fd, SO_SNDBUF, SO_SNDBUFFORCE, options->send_buffer, err) < 0 ||
	    set_buffer(fd, SO_RCVBUF, SO_RCVBUFFORCE, options->receive_buffer, err) < 0)
		return -1;
	if (options->nodelay && setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0)
		return error_system(err, "set TCP_NODELAY");
	if (!options->congestion[0])
		return 0;
	if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, options->congestion,
		       (socklen_t)strlen(options->congestion)) == 0)
		return 0;
	if (errno == ENOENT || errno == EPERM)
		return error_set(err, ERROR_UNAVAILABLE, errno,
				 "congestion control %s: not available here", options->congestion);
	return error_system(err, "set congestion control %s", options->congestion);
}

static int open_socket(const union address *address, const struct socket_options *options,
		       struct error *err)
{
	AUTO_FD fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return error_system(err, "socket");
	if (set_options(fd, options, err) < 0)
		return -1;
	return take_fd(&fd);
}

static int read_port(int fd, uint16_t *port, struct error *err)
{
	union address address;
	socklen_t length = sizeof(address);
	if (getsockname(fd, &address.any, &length) < 0)
		return error_system(err, "getsockname");
	*port = ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port
							: address.v4.sin_port);
	return 0;
}

int gate_listen(const char *host, const struct socket_options *options, int *fd,
		struct endpoint *endpoint, struct error *err)
{
	union address address;
	socklen_t length;
	if (parse_address(host, 0, &address, &length, err) < 0)
		return -1;
	AUTO_FD listener = open_socket(&address, options, err);
	if (listener < 0)
		return -1;
	if (bind(listener, &address.any, length) < 0)
		return error_system(err, "bind to %s", host);
	if (listen(listener, BACKLOG) < 0)
		return error_system(err, "listen on %s", host);
	if (read_port(listener, &endpoint->port, err) < 0)
		return -1;
	text_copy(endpoint->host, sizeof(endpoint->host), host);
	*fd = take_fd(&listener);
	return 0;
}

static void close_all(int *fds, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (fds[i] >= 0)
			close(take_fd(&fds[i]));
}

/* One who connected and has not shown all of a hello yet. */
struct caller {
	int fd;
	size_t have;
	unsigned char hello[WIRE_HELLO_BYTES];
};

struct gate {
	const struct gate_call *call;
	int *fds;
	uint32_t streams, admitted;
	size_t callers;
	struct caller caller[CALLERS_MAX];
};

static void drop(struct gate *gate, size_t i)
{
	if (gate->caller[i].fd >= 0)
		close(gate->caller[i].fd);
	gate->callers--;
	memmove(&gate->caller[i], &gate->caller[i + 1],
		(gate->callers - i) * sizeof(gate->caller[0]));
}

/* The oldest gives way when there are too many: ours speaks at once. */
static int welcome(struct gate *gate, struct error *err)
{
	int fd = accept4(gate->call->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == EBADF))
		return error_system(err, "accept");
	if (fd < 0)
		return 0; /* it went away again */
	if (gate->callers == CALLERS_MAX)
		drop(gate, 0);
	gate->caller[gate->callers++] = (struct caller){ .fd = fd };
	return 0;
}

/* Is there a place for it? One that broke before all were in gives way to the next. */
static bool has_place(struct gate *gate, uint32_t stream, bool again)
{
	if (gate->fds[stream] < 0) {
		gate->admitted++;
		return true;
	}
	if (!again)
		return false;
	close(take_fd(&gate->fds[stream]));
	return true;
}

static void admit(struct gate *gate, size_t i)
{
	struct caller *caller = &gate->caller[i];
	const struct gate_call *call = gate->call;
	bool again = call->again && wire_hello_is_again(caller->hello);
	uint32_t stream;
	if (wire_hello_check(caller->hello, call->token, gate->streams, &stream) &&
	    has_place(gate, stream, again)) {
		gate->fds[stream] = take_fd(&caller->fd);
		if (again)
			*call->again |= UINT64_C(1) << stream;
	}
	drop(gate, i);
}

static void hear(struct gate *gate, size_t i)
{
	struct caller *caller = &gate->caller[i];
	ssize_t n = recv(caller->fd, caller->hello + caller->have,
			 sizeof(caller->hello) - caller->have, 0);
	if (n > 0)
		caller->have += (size_t)n;
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		drop(gate, i);
	if (n > 0 && caller->have == sizeof(caller->hello))
		admit(gate, i);
}

static int gate_step(struct gate *gate, struct error *err)
{
	const struct io_limit *limit = &gate->call->limit;
	struct pollfd polled[CALLERS_MAX + 2];
	polled[0] = (struct pollfd){ .fd = gate->call->listener, .events = POLLIN };
	polled[1] =
		(struct pollfd){ .fd = limit->cancel ? limit->cancel->fd : -1, .events = POLLIN };
	for (size_t i = 0; i < gate->callers; i++)
		polled[i + 2] = (struct pollfd){ .fd = gate->caller[i].fd, .events = POLLIN };
	if (cancel_requested(limit->cancel))
		return error_set(err, ERROR_CANCELLED, 0, "stopped on request");
	int ready = poll(polled, gate->callers + 2, clock_poll_ms(limit->deadline_ns));
	if (ready < 0 && errno != EINTR)
		return error_system(err, "poll");
	if (ready == 0)
		return error_set(err, ERROR_TIMEOUT, 0, "nobody connected with the right token");
	if (ready < 0)
		return 0;
	/* From the last to the first: those that leave do not move the ones still to be heard. */
	for (size_t i = gate->callers; i-- > 0;)
		if (polled[i + 2].revents)
			hear(gate, i);
	return polled[0].revents ? welcome(gate, err) : 0;
}

int gate_accept(const struct gate_call *call, int *fds, uint32_t streams, struct error *err)
{
	AUTO_FREE struct gate *gate = calloc(1, sizeof(*gate));
	if (!gate)
		abort();
	*gate = (struct gate){ .call = call, .fds = fds, .streams = streams };
	for (uint32_t i = 0; i < streams; i++)
		fds[i] = -1;
	int result = 0;
	while (result == 0 && gate->admitted < streams)
		result = gate_step(gate, err);
	while (gate->callers > 0)
		drop(gate, gate->callers - 1);
	/* Accepted sockets have the listener's options already. */
	if (result < 0)
		close_all(fds, streams);
	return result;
}

struct gate *gate_open(const struct gate_call *call, uint32_t streams)
{
	struct gate *gate = calloc(1, sizeof(*gate));
	int *fds = calloc(streams, sizeof(fds[0]));
	if (!gate || !fds)
		abort();
	*gate = (struct gate){ .call = call, .fds = fds, .streams = streams };
	for (uint32_t i = 0; i < streams; i++)
		fds[i] = -1;
	return gate;
}

int gate_next(struct gate *gate, uint32_t *stream, int *fd, struct error *err)
{
	for (;;) {
		for (uint32_t i = 0; i < gate->streams; i++) {
			if (gate->fds[i] < 0)
				continue;
			*stream = i;
			*fd = take_fd(&gate->fds[i]);
			return 0;
		}
		if (gate_step(gate, err) < 0)
			return -1;
	}
}

void gate_close(struct gate *gate)
{
	if (!gate)
		return;
	while (gate->callers > 0)
		drop(gate, gate->callers - 1);
	close_all(gate->fds, gate->streams);
	free(gate->fds);
	free(gate);
}

static int wait_connected(int fd, const struct io_limit *limit, struct error *err)
{
	int code = 0;
	socklen_t length = sizeof(code);
	if (io_wait(fd, POLLOUT, limit, err) < 0)
		return -1;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &length) < 0)
		return error_system(err, "getsockopt");
	if (code == 0)
		return 0;
	errno = code;
	return error_system(err, "connect");
}

/* Starts them all before it waits for the first: one round trip for any number of streams. */
static int start_all(const struct gate_call *call, const struct endpoint *endpoint, int *fds,
		     uint32_t streams, struct error *err)
{
	union address address;
	socklen_t length;
	if (parse_address(endpoint->host, endpoint->port, &address, &length, err) < 0)
		return -1;
	for (uint32_t i = 0; i < streams; i++) {
		fds[i] = open_socket(&address, call->options, err);
		if (fds[i] < 0)
			return -1;
		if (connect(fds[i], &address.any, length) < 0 && errno != EINPROGRESS)
			return error_system(err, "connect");
	}
	return 0;
}

static int introduce(const struct gate_call *call, int fd, uint32_t stream, uint32_t streams,
		     struct error *err)
{
	unsigned char hello[WIRE_HELLO_BYTES];
	wire_hello_encode(hello, call->token, stream, streams);
	if (wait_connected(fd, &call->limit, err) < 0)
		return -1;
	return io_write_full(fd, hello, sizeof(hello), &call->limit, err);
}

static int introduce_all(const struct gate_call *call, const int *fds, uint32_t streams,
			 struct error *err)
{
	for (uint32_t i = 0; i < streams; i++)
		if (introduce(call, fds[i], i, streams, err) < 0)
			return -1;
	return 0;
}

int gate_dial(const struct gate_call *call, const struct endpoint *endpoint, int *fd,
	      struct error *err)
{
	*fd = -1;
	if (start_all(call, endpoint, fd, 1, err) == 0 &&
	    wait_connected(*fd, &call->limit, err) == 0)
		return 0;
	close_all(fd, 1);
	return error_wrap(err, "%s port %u", endpoint->host, endpoint->port);
}

int gate_connect(const struct gate_call *call, const struct endpoint *endpoint, int *fds,
		 uint32_t streams, struct error *err)
{
	for (uint32_t i = 0; i < streams; i++)
		fds[i] = -1;
	if (start_all(call, endpoint, fds, streams, err) == 0 &&
	    introduce_all(call, fds, streams, err) == 0)
		return 0;
	close_all(fds, streams);
	return error_wrap(err, "%s port %u", endpoint->host, endpoint->port);
}

int gate_connect_again(const struct gate_call *call, const struct endpoint *endpoint,
		       uint32_t stream, uint32_t streams, int *fd, struct error *err)
{
	*fd = -1;
	if (start_all(call, endpoint, fd, 1, err) == 0 &&
	    introduce(call, *fd, stream, streams | WIRE_HELLO_AGAIN, err) == 0)
		return 0;
	close_all(fd, 1);
	return error_wrap(err, "%s port %u", endpoint->host, endpoint->port);
}
