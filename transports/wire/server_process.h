/* A server that a transport starts at the listening end: nginx, or what a tool file's `serve` says.
 */
#ifndef LINEFILL_TRANSPORTS_TOOL_TOOL_SERVER_H
#define LINEFILL_TRANSPORTS_TOOL_TOOL_SERVER_H

#include <stdint.h>

#include "harness/base/child.h"
#include "harness/base/error.h"
#include "harness/base/io.h"
#include "harness/base/text.h"

/* A server that does not listen by then never will. */
#define SERVER_PROCESS_READY_S 10

struct server_process {
	const char *log;         /* path of the file that gets what it prints */
	const char *const *into; /* argv of a second process that gets its output, or NULL */
	const char *secret;      /* what must not be shown of what it prints; NULL: nothing */
	/* The literal address that it has to stay on (or on the loopback); NULL: any will do. */
	const char *only;
	struct child child, second;
};

/* Starts it and waits until a socket of this process's descendants is in LISTEN state on the port,
 * as the kernel tells, so that no connection of ours can be mistaken for the peer's. An end before
 * that is TOOL; an address that is not what server->only asks for is UNSUPPORTED, and the server is
 * ended before anything is connected to it. */
int server_process_start(struct server_process *server, const struct child_spec *spec,
			 uint16_t port, const struct io_limit *limit, struct error *err) MUST_CHECK;
/* Waits until both processes end by themselves; a status other than 0 is TOOL. */
int server_process_wait(struct server_process *server, const char *name,
			const struct io_limit *limit, struct error *err) MUST_CHECK;
/* Kills what still runs. */
void server_process_end(struct server_process *server);
/* ": first line ... last line" of its log. */
void server_process_add_said(const struct server_process *server, struct text *out);
#endif
