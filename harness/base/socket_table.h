/* Who listens where, as /proc/net tells: seen without connecting to anything. */
#ifndef LINEFILL_BASE_SOCKET_TABLE_H
#define LINEFILL_BASE_SOCKET_TABLE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

/* A socket in LISTEN state, as a table in /proc/net has it. */
struct socket_listener {
	unsigned long inode;
	struct in6_addr address; /* one of IPv4 as ::ffff:a.b.c.d */
};

/* The next socket that listens on the port, in a table in the form of /proc/net/tcp: *cursor starts
 * at the table's beginning and moves on. */
bool socket_table_next(const char **cursor, uint16_t port, struct socket_listener *found);
/* May a server that has to stay on this literal address listen there? On it, or on the loopback. */
bool socket_table_may_listen(const struct socket_listener *listener, const char *only);
/* Does this process, or one that descends from it, hold the socket? */
bool socket_table_is_ours(const struct socket_listener *listener);

#endif
