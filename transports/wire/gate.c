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

#include "harness/base/callers.h"
#include "harness/base/cleanup.h"
#include "harness/base/net.h"
#include "transports/wire/wire.h"

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
	if (listen(listener, NET_BACKLOG) < 0)
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

struct gate {
	const struct gate_call *call;
	struct callers *callers;
	int *fds;
	uint32_t streams, admitted;
};

static struct gate *new_gate(const struct gate_call *call, int *fds, uint32_t streams)
{
	struct gate *gate = calloc(1, sizeof(*gate));
	if (!gate)
		abort();
	*gate = (struct gate){ .call = call, .fds = fds, .streams = streams };
	gate->callers = callers_open(call->listener, WIRE_HELLO_BYTES, false);
	for (uint32_t i = 0; i < streams; i++)
		fds[i] = -1;
	return gate;
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

/* The next caller with a hello: who has the token and a place is in, others are dropped. */
static int gate_step(struct gate *gate, struct error *err)
{
	const struct gate_call *call = gate->call;
	unsigned char hello[WIRE_HELLO_BYTES];
	uint32_t stream;
	int caller = -1;
	if (callers_next(gate->callers, -1, &call->limit, &caller, hello, err) < 0)
		return -1;
	AUTO_FD fd = caller;
	bool again = call->again && wire_hello_is_again(hello);
	if (!wire_hello_check(hello, call->token, gate->streams, &stream) ||
	    !has_place(gate, stream, again))
		return 0;
	gate->fds[stream] = take_fd(&fd);
	if (again)
		*call->again |= UINT64_C(1) << stream;
	return 0;
}

int gate_accept(const struct gate_call *call, int *fds, uint32_t streams, struct error *err)
{
	struct gate *gate = new_gate(call, fds, streams);
	int result = 0;
	while (result == 0 && gate->admitted < streams)
		result = gate_step(gate, err);
	callers_close(gate->callers);
	free(gate);
	/* Accepted sockets have the listener's options already. */
	if (result < 0)
		close_all(fds, streams);
	return result;
}

struct gate *gate_open(const struct gate_call *call, uint32_t streams)
{
	int *fds = calloc(streams, sizeof(fds[0]));
	if (!fds)
		abort();
	return new_gate(call, fds, streams);
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
	callers_close(gate->callers);
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
