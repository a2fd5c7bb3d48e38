#include "harness/base/net.h"

#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#include "harness/base/cleanup.h"

#define PORT_TRIES 20

int net_resolve(const char *host, uint16_t port, struct addrinfo **found, struct error *err)
{
	char service[8];
	snprintf(service, sizeof(service), "%u", port);
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
					.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV };
	int problem = getaddrinfo(host, service, &hints, found);
	if (problem)
		return error_set(err, ERROR_CONFIG, 0, "%s is no literal address: %s", host,
				 gai_strerror(problem));
	return 0;
}

uint16_t net_port(int fd)
{
	struct sockaddr_storage bound;
	socklen_t size = sizeof(bound);
	if (getsockname(fd, (struct sockaddr *)&bound, &size) < 0)
		return 0;
	if (bound.ss_family == AF_INET6)
		return ntohs(((struct sockaddr_in6 *)&bound)->sin6_port);
	return ntohs(((struct sockaddr_in *)&bound)->sin_port);
}

/* A socket that is bound and does not listen yet; wanted 0: any port. */
static int bind_socket(const char *host, uint16_t wanted, struct error *err)
{
	struct addrinfo *found = NULL;
	if (net_resolve(host, wanted, &found, err) < 0)
		return -1;
	AUTO_FD fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int failed = fd < 0 || bind(fd, found->ai_addr, found->ai_addrlen) < 0;
	freeaddrinfo(found);
	if (failed)
		return error_system(err, "bind to %s", host);
	return take_fd(&fd);
}

int net_listen(const char *host, uint16_t *port, struct error *err)
{
	AUTO_FD fd = bind_socket(host, 0, err);
	if (fd < 0)
		return -1;
	if (listen(fd, NET_BACKLOG) < 0)
		return error_system(err, "listen on %s", host);
	*port = net_port(fd);
	return take_fd(&fd);
}

static int free_port(const char *host, uint16_t wanted, uint16_t *port, struct error *err)
{
	AUTO_FD fd = bind_socket(host, wanted, err);
	if (fd < 0)
		return -1;
	*port = net_port(fd);
	return 0;
}

int net_free_ports(const char *host, uint64_t count, uint16_t *port, struct error *err)
{
	for (int try = 0; try < PORT_TRIES; try++) {
		uint16_t next = 0;
		uint64_t found = 1;
		if (free_port(host, 0, port, err) < 0)
			return -1;
		while (found < count && *port + found <= UINT16_MAX &&
		       free_port(host, (uint16_t)(*port + found), &next, NULL) == 0)
			found++;
		if (found == count)
			return 0;
	}
	return error_set(err, ERROR_SYSTEM, 0, "there are no %llu free ports in a row",
			 (unsigned long long)count);
}
