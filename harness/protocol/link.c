#include "harness/protocol/link.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/net.h"

/* A stranger may connect first and say nothing: it gets this long. */
#define TOKEN_PATIENCE_S 5

static int set_nodelay(int fd, struct error *err)
{
	int on = 1;
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0)
		return error_system(err, "setsockopt(TCP_NODELAY)");
	return 0;
}

/* Constant time, so that the answer's delay says nothing about the token. */
static bool token_equal(const struct token *a, const struct token *b)
{
	unsigned difference = 0;
	for (size_t i = 0; i < XFER_TOKEN_BYTES; i++)
		difference |= (unsigned)(a->bytes[i] ^ b->bytes[i]);
	return difference == 0;
}

static bool shows_token(int fd, const struct token *token, const struct io_limit *limit)
{
	struct token shown;
	struct io_limit patience = *limit;
	int64_t end = clock_deadline_ns(TOKEN_PATIENCE_S);
	if (end < patience.deadline_ns)
		patience.deadline_ns = end;
	return io_read_full(fd, &shown, sizeof(shown), &patience, NULL) == 0 &&
	       token_equal(&shown, token);
}

int link_accept(int listener, const struct token *token, const struct io_limit *limit,
		struct error *err)
{
	for (;;) {
		if (io_wait(listener, POLLIN, limit, err) < 0)
			return -1;
		AUTO_FD fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
			return error_system(err, "accept"); /* it would not get better by itself */
		if (fd < 0)
			continue;
		if (!shows_token(fd, token, limit))
			continue;
		if (set_nodelay(fd, err) < 0)
			return -1;
		return take_fd(&fd);
	}
}

int link_connect(const struct endpoint *endpoint, const struct token *token,
		 const struct io_limit *limit, struct error *err)
{
	struct addrinfo *found = NULL;
	if (net_resolve(endpoint->host, endpoint->port, &found, err) < 0)
		return -1;
	AUTO_FD fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int outcome = fd < 0 ? -1 : connect(fd, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	if (outcome < 0 && (fd < 0 || errno != EINPROGRESS))
		return error_system(err, "connect to %s port %u", endpoint->host, endpoint->port);
	if (io_wait(fd, POLLOUT, limit, err) < 0)
		return -1;
	int problem = 0;
	socklen_t size = sizeof(problem);
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &problem, &size);
	errno = problem;
	if (problem)
		return error_system(err, "connect to %s port %u", endpoint->host, endpoint->port);
	if (set_nodelay(fd, err) < 0 || io_write_full(fd, token, sizeof(*token), limit, err) < 0)
		return -1;
	return take_fd(&fd);
}

int link_say(int fd, enum link_word word, const struct io_limit *limit, struct error *err)
{
	char byte = (char)word;
	return io_write_full(fd, &byte, 1, limit, err);
}

int link_hear(int fd, enum link_word *word, const struct io_limit *limit, struct error *err)
{
	char byte = 0;
	if (io_read_full(fd, &byte, 1, limit, err) < 0)
		return -1;
	*word = (enum link_word)byte;
	return 0;
}
