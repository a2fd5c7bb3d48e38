/* The server that a tool file's `serve` starts at the listening end. */
#ifndef LINEFILL_TRANSPORTS_TOOL_SERVER_H
#define LINEFILL_TRANSPORTS_TOOL_SERVER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "harness/base/child.h"
#include "harness/base/error.h"
#include "harness/base/io.h"
#include "harness/base/text.h"

/* A server that does not listen by then never will. */
#define TOOL_SERVER_READY_S 10

/* A socket in LISTEN state, as a table in /proc/net has it. */
struct tool_listener {
	unsigned long inode;
	struct in6_addr address; /* one of IPv4 as ::ffff:a.b.c.d */
};

struct tool_server {
	const char *log;         /* path of the file that gets what it prints */
	const char *const *into; /* argv of a second process that gets its output, or NULL */
	const char *secret;      /* what must not be shown of what it prints; NULL: nothing */
	/* The literal address that it has to stay on (or on the loopback); NULL: any will do. */
	const char *only;
	struct child child, second;
};

/* The first of so many TCP ports in a row that nobody uses on this address (IPv4 or IPv6) at the
 * moment. */
int tool_server_free_ports(const char *host, uint64_t count, uint16_t *port,
			   struct error *err) MUST_CHECK;
/* Starts it and waits until a socket of this process's descendants is in LISTEN state on the port,
 * seen in /proc/net, so that no connection of ours can be mistaken for the peer's. An end before
 * that is TOOL; an address that is not what server->only asks for is UNSUPPORTED, and the server is
 * ended before anything is connected to it. */
int tool_server_start(struct tool_server *server, const struct child_spec *spec, uint16_t port,
		      const struct io_limit *limit, struct error *err) MUST_CHECK;
/* Waits until both processes end by themselves; a status other than 0 is TOOL. */
int tool_server_wait(struct tool_server *server, const char *name, const struct io_limit *limit,
		     struct error *err) MUST_CHECK;
/* Kills what still runs. */
void tool_server_end(struct tool_server *server);
/* ": first line ... last line" of its log. */
void tool_server_add_said(const struct tool_server *server, struct text *out);
/* The next socket that listens on the port, in a table in the form of /proc/net/tcp: *cursor starts
 * at the table's beginning and moves on. */
bool tool_server_table_next(const char **cursor, uint16_t port, struct tool_listener *found);
/* May a server that has to stay on this literal address listen there? On it, or on the loopback. */
bool tool_server_may_listen(const struct tool_listener *listener, const char *only);

#endif
