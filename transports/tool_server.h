/* The server that a tool file's `serve` starts at the listening end. */
#ifndef LINEFILL_TRANSPORTS_TOOL_SERVER_H
#define LINEFILL_TRANSPORTS_TOOL_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/child.h"
#include "harness/base/error.h"
#include "harness/base/io.h"

struct tool_server {
	struct child child;
	const char *log; /* path of the file that gets what it prints */
};

/* A TCP port of this address (IPv4 or IPv6) that nobody uses at the moment. */
int tool_server_free_port(const char *host, uint16_t *port, struct error *err) MUST_CHECK;
/* Starts it and waits until some socket is in LISTEN state on the port, seen in /proc/net, so that
 * no connection of ours can be mistaken for the peer's. An end before that is TOOL. */
int tool_server_start(struct tool_server *server, const struct child_spec *spec, uint16_t port,
		      const struct io_limit *limit, struct error *err) MUST_CHECK;
/* Waits until it ends by itself; a status other than 0 is TOOL. */
int tool_server_wait(struct tool_server *server, const char *name, const struct io_limit *limit,
		     struct error *err) MUST_CHECK;
/* True when a socket listens on the port, according to a table in the form of /proc/net/tcp. */
bool tool_server_table_listens(const char *table, uint16_t port);

#endif
