#include "harness/engine/link.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"

/* A stranger may connect first and say nothing: it gets this long. */
#define TOKEN_PATIENCE_S 5

static int resolve(const char *host, uint16_t port, struct addrinfo **found, struct error *err)
{
	char service[8];
	snprintf(service, sizeof(service), "%u", port);
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV };
	int problem = getaddrinfo(host, service, &hints, found);
	if (problem)
		return error_set(err, ERROR_CONFIG, 0, "%s is no literal address: %s", host,
				 gai_strerror(problem));
	return 0;
}

static uint16_t port_of(int fd)
{
	struct sockaddr_storage bound;
	socklen_t size = sizeof(bound);
	if (getsockname(fd, (struct sockaddr *)&bound, &size) < 0)
		return 0;
	if (bound.ss_family == AF_INET6)
		return ntohs(((struct sockaddr_in6 *)&bound)->sin6_port);
	return ntohs(((struct sockaddr_in *)&bound)->sin_port);
}

int link_listen(const char *host, uint16_t *port, struct error *err)
{
	struct addrinfo *found = NULL;
	if (resolve(host, 0, &found, err) < 0)
		return -1;
	AUTO_FD fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int failed =
		fd < 0 || bind(fd, found->ai_addr, found->ai_addrlen) < 0 || listen(fd, 64) < 0;
	freeaddrinfo(found);
	if (failed)
		return error_system(err, "listen on %s", host);
	*port = port_of(fd);
	return take_fd(&fd);
}

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
	if (resolve(endpoint->host, endpoint->port, &found, err) < 0)
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
