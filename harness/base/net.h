/* TCP sockets on literal addresses, IPv4 and IPv6. */
#ifndef LINEFILL_BASE_NET_H
#define LINEFILL_BASE_NET_H

#include <netdb.h>
#include <stdint.h>

#include "harness/base/error.h"

/* Connections that nobody has accepted yet: strangers who come in crowds must not keep our own out.
 * The kernel caps it by net.core.somaxconn, which is this by default. */
#define NET_BACKLOG 4096

/* CONFIG when host is no literal address. The caller frees *found with freeaddrinfo. */
int net_resolve(const char *host, uint16_t port, struct addrinfo **found,
		struct error *err) MUST_CHECK;
/* The local port of a socket; 0 when it has none. */
uint16_t net_port(int fd);
/* Waits on host (a literal address) and any free port; the port goes to *port. Returns the
 * descriptor, which does not block. */
int net_listen(const char *host, uint16_t *port, struct error *err) MUST_CHECK;
/* The first of so many TCP ports in a row that nobody uses on this address at the moment. */
int net_free_ports(const char *host, uint64_t count, uint16_t *port, struct error *err) MUST_CHECK;

#endif
