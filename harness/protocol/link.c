#include "harness/protocol/link.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/base/callers.h"
#include "harness/base/cleanup.h"
#include "harness/base/net.h"

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
	volatile unsigned difference = 0;
	for (size_t i = 0; i < XFER_TOKEN_BYTES; i++)
		difference |= (unsigned)(a->bytes[i] ^ b->bytes[i]);
	return difference == 0;
}

/* At first it listens; once the right one is in, nobody else is let in. */
struct link_door {
	int listener, admitted;
	struct callers *callers;
	struct token token;
};

struct link_door *link_door_open(const char *host, const struct token *token, uint16_t *port,
				 struct error *err)
{
	int listener = net_listen(host, port, err);
	if (listener < 0)
		return NULL;
	struct link_door *door = calloc(1, sizeof(*door));
	if (!door)
		abort();
	door->listener = listener;
	door->admitted = -1;
	door->callers = callers_open(listener, sizeof(*token), false);
	door->token = *token;
	return door;
}

static void shut(struct link_door *door)
{
	callers_close(door->callers);
	door->callers = NULL;
	if (door->listener >= 0)
		close(take_fd(&door->listener));
}

int link_door_keep(struct link_door *door, int other, const struct io_limit *limit,
		   struct error *err)
{
	while (door->callers) {
		struct token shown;
		int caller = -1;
		int came = callers_next(door->callers, other, limit, &caller, &shown, err);
		if (came <= 0)
			return came;
		AUTO_FD fd = caller;
		if (!token_equal(&shown, &door->token))
			continue;
		if (set_nodelay(fd, err) < 0)
			return -1;
		door->admitted = take_fd(&fd);
		shut(door);
	}
	return 1;
}

int link_door_listener(const struct link_door *door)
{
	return door->listener;
}

int link_accept(struct link_door *door, const struct io_limit *limit, struct error *err)
{
	if (link_door_keep(door, -1, limit, err) < 0)
		return -1;
	if (door->admitted < 0)
		return error_set(err, ERROR_SYSTEM, 0, "the other agent was let in before");
	return take_fd(&door->admitted);
}

void link_door_close(struct link_door *door)
{
	if (!door)
		return;
	shut(door);
	if (door->admitted >= 0)
		close(door->admitted);
	free(door);
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
