/* Who listens where, as the kernel tells: seen without connecting to anything. */
#ifndef LINEFILL_BASE_SOCKET_TABLE_H
#define LINEFILL_BASE_SOCKET_TABLE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A socket in LISTEN state. */
struct socket_listener {
	unsigned long inode;
	struct in6_addr address; /* one of IPv4 as ::ffff:a.b.c.d */
	uint16_t port;
};

/* The sockets that listen on the port (0: on any), up to room; returns how many. Asks over netlink,
 * which looks at those of the port only; the tables in /proc/net, which list every connection of
 * the machine, are read where there is no netlink. */
size_t socket_table_find(uint16_t port, struct socket_listener *found, size_t room);
/* The two ways by themselves. -1 when netlink has no answer. */
int socket_table_ask(uint16_t port, struct socket_listener *found, size_t room);
size_t socket_table_read(uint16_t port, struct socket_listener *found, size_t room);
/* The next socket that listens on the port, in a table in the form of /proc/net/tcp: *cursor starts
 * at the table's beginning and moves on. */
bool socket_table_next(const char **cursor, uint16_t port, struct socket_listener *found);
/* May a server that has to stay on this literal address listen there? On it, or on the loopback. */
bool socket_table_may_listen(const struct socket_listener *listener, const char *only);
/* Does this process, or one that descends from it, hold the socket? */
bool socket_table_is_ours(const struct socket_listener *listener);

#endif
