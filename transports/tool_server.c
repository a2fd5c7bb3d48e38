#include "transports/tool_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/files.h"
#include "harness/base/text.h"
#include "transports/tool_process.h"

#define TABLE_BYTES_MAX (64u << 20)
#define LOOK_EVERY_NS   (2 * NS_PER_MS)
#define LISTEN_STATE    0x0A /* TCP_LISTEN, include/net/tcp_states.h */

int tool_server_free_port(const char *host, uint16_t *port, struct error *err)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} address = { 0 };
	socklen_t size = sizeof(address);
	if (inet_pton(AF_INET, host, &address.v4.sin_addr) == 1)
		address.any.sa_family = AF_INET;
	else if (inet_pton(AF_INET6, host, &address.v6.sin6_addr) == 1)
		address.any.sa_family = AF_INET6;
	else
		return error_set(err, ERROR_CONFIG, 0, "'%s' is no address", host);
	AUTO_FD fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return error_system(err, "socket");
	socklen_t length =
		address.any.sa_family == AF_INET ? sizeof(address.v4) : sizeof(address.v6);
	if (bind(fd, &address.any, length) < 0 || getsockname(fd, &address.any, &size) < 0)
		return error_system(err, "bind to %s", host);
	*port = ntohs(address.any.sa_family == AF_INET ? address.v4.sin_port
						       : address.v6.sin6_port);
	return 0;
}

bool tool_server_table_listens(const char *table, uint16_t port)
{
	for (const char *line = strchr(table, '\n'); line; line = strchr(line + 1, '\n')) {
		unsigned local = 0;
		unsigned state = 0;
		/* number: local-address:port remote-address:port state ... */
		if (sscanf(line + 1, "%*u: %*[0-9A-Fa-f]:%4x %*[0-9A-Fa-f]:%*4x %2x", &local,
			   &state) == 2 &&
		    local == port && state == LISTEN_STATE)
			return true;
	}
	return false;
}

static bool listens(uint16_t port)
{
	static const char *const tables[] = { "/proc/self/net/tcp", "/proc/self/net/tcp6" };
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		AUTO_FREE char *table = NULL;
		if (file_read_all(tables[i], TABLE_BYTES_MAX, &table, NULL, NULL) == 0 &&
		    tool_server_table_listens(table, port))
			return true;
	}
	return false;
}

/* 1 when it has ended, 0 when not yet; waits a moment. */
static int ended_soon(struct tool_server *server, const struct io_limit *limit, struct error *err)
{
	int64_t soon = clock_now_ns() + LOOK_EVERY_NS;
	struct io_limit moment = { .deadline_ns = soon, .cancel = limit->cancel };
	if (io_wait(server->child.fd, POLLIN, &moment, err) == 0)
		return 1;
	if (err->kind != ERROR_TIMEOUT)
		return -1;
	if (clock_now_ns() < limit->deadline_ns)
		return 0;
	return error_set(err, ERROR_TIMEOUT, 0, "the server did not listen before the deadline");
}

int tool_server_wait(struct tool_server *server, const char *name, const struct io_limit *limit,
		     struct error *err)
{
	int status = 0;
	if (child_wait(&server->child, limit, &status, err) < 0)
		return error_wrap(err, "%s", name);
	if (status == 0)
		return 0;
	char text[64];
	AUTO_FREE char *output = NULL;
	AUTO_TEXT said = { 0 };
	if (file_read_all(server->log, TABLE_BYTES_MAX, &output, NULL, NULL) == 0)
		tool_process_add_said(output, false, &said);
	return error_set(err, ERROR_TOOL, WIFEXITED(status) ? WEXITSTATUS(status) : 0, "%s: %s%s",
			 name, child_status_text(status, text, sizeof(text)), text_string(&said));
}

int tool_server_start(struct tool_server *server, const struct child_spec *spec, uint16_t port,
		      const struct io_limit *limit, struct error *err)
{
	struct error own = { 0 };
	AUTO_FD log = open(server->log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
	if (log < 0)
		return error_system(err, "create %s", server->log);
	struct child_spec logged = *spec;
	logged.output = logged.error = log;
	if (child_start(&logged, &server->child, err) < 0)
		return -1;
	int ended = 0;
	while (ended == 0 && !listens(port))
		ended = ended_soon(server, limit, &own);
	if (ended == 0)
		return 0;
	const char *name = tool_process_name(spec->argv[0]);
	if (ended > 0 && tool_server_wait(server, name, limit, &own) == 0)
		error_set(&own, ERROR_TOOL, 0, "%s: it ended before it listened", name);
	child_end(&server->child);
	if (err)
		*err = own;
	return -1;
}
