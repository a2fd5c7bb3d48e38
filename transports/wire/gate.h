/* The connections of our own transports: a listener that lets in only who shows the run's token,
 * and the end that connects to it. Sockets are non-blocking and have the options set that a case
 * asks for. */
#ifndef LINEFILL_TRANSPORTS_WIRE_GATE_H
#define LINEFILL_TRANSPORTS_WIRE_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/api/xfer.h"
#include "harness/base/option.h"

/* Set before the handshake, so that the window scale fits the buffers. */
struct socket_options {
	uint64_t send_buffer, receive_buffer; /* bytes, as given to setsockopt; 0: the kernel
						 tunes them */
	bool nodelay;
	char congestion[OPTION_TEXT_SIZE]; /* "": the kernel's default */
};

/* The rows of an option table for a struct socket_options called socket in owner. */
#define SOCKET_OPTION_ROWS(owner)                                                          \
	{ .name = "send_buffer",                                                           \
	  .type = OPTION_SIZE,                                                             \
	  .offset = offsetof(owner, socket.send_buffer),                                   \
	  .fallback = "0",                                                                 \
	  .unit = "bytes",                                                                 \
	  .max = 1 << 30,                                                                  \
	  .help = "SO_SNDBUF of each connection; 0 lets the kernel tune it" },             \
		{ .name = "receive_buffer",                                                \
		  .type = OPTION_SIZE,                                                     \
		  .offset = offsetof(owner, socket.receive_buffer),                        \
		  .fallback = "0",                                                         \
		  .unit = "bytes",                                                         \
		  .max = 1 << 30,                                                          \
		  .help = "SO_RCVBUF of each connection; 0 lets the kernel tune it" },     \
		{ .name = "nodelay",                                                       \
		  .type = OPTION_FLAG,                                                     \
		  .offset = offsetof(owner, socket.nodelay),                               \
		  .fallback = "yes",                                                       \
		  .help = "set TCP_NODELAY" },                                             \
	{                                                                                  \
		.name = "congestion", .type = OPTION_TEXT,                                 \
		.offset = offsetof(owner, socket.congestion), .fallback = "",              \
		.help = "congestion control, such as cubic or bbr; none: the kernel's own" \
	}

/* Listens on host, a literal IPv4 or IPv6 address, at a port of the kernel's choice. The caller
 * closes *fd. */
int gate_listen(const char *host, const struct socket_options *options, int *fd,
		struct endpoint *endpoint, struct error *err) MUST_CHECK;

struct gate_call {
	int listener;                         /* to accept */
	const struct socket_options *options; /* to connect */
	const struct token *token;
	struct io_limit limit;
	uint64_t *again; /* gate_accept, of 64 streams at most: bit i is set where stream i's first
			  * connection broke before it was let in, and this is another; or NULL */
};

/* Accepts until that many connections have shown the token, each for another stream; fds[i] is
 * stream i. Others are dropped without an answer, however many they are and
 * however slow. On failure all are closed and -1. */
int gate_accept(const struct gate_call *call, int *fds, uint32_t streams,
		struct error *err) MUST_CHECK;

/* The same one by one, for as long as it stays open: for streams that come again. call and what it
 * names must outlive it. */
struct gate;
struct gate *gate_open(const struct gate_call *call, uint32_t streams);
/* The next who shows the token and names a stream; the caller closes *fd. */
int gate_next(struct gate *gate, uint32_t *stream, int *fd, struct error *err) MUST_CHECK;
/* Safe on NULL. */
void gate_close(struct gate *gate);

/* Connects, shows nothing: for servers that speak another language. The caller closes *fd. */
int gate_dial(const struct gate_call *call, const struct endpoint *endpoint, int *fd,
	      struct error *err) MUST_CHECK;

/* Connects all streams and shows the token on each. The caller closes fds; on failure all are
 * closed and -1. */
int gate_connect(const struct gate_call *call, const struct endpoint *endpoint, int *fds,
		 uint32_t streams, struct error *err) MUST_CHECK;
/* The same for one of several streams, which came to an end before. */
int gate_connect_again(const struct gate_call *call, const struct endpoint *endpoint,
		       uint32_t stream, uint32_t streams, int *fd, struct error *err) MUST_CHECK;

#endif
