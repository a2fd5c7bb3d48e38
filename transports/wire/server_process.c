#include "transports/wire/server_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/child.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/files.h"
#include "harness/base/said.h"
#include "harness/base/socket_table.h"
#include "harness/base/text.h"

#define SAID_BYTES_MAX (64u << 20)
/* Processes that may share the port: nginx, with SO_REUSEPORT. */
#define LISTENERS_MAX 64

static int complain(const char *name, const struct socket_listener *listener, uint16_t port,
		    struct error *err)
{
	char address[INET6_ADDRSTRLEN] = "";
	if (IN6_IS_ADDR_V4MAPPED(&listener->address))
		inet_ntop(AF_INET, &listener->address.s6_addr[12], address, sizeof(address));
	else
		inet_ntop(AF_INET6, &listener->address, address, sizeof(address));
	return error_set(err, ERROR_UNSUPPORTED, 0,
			 "%s listens on %s port %u, where others may reach it: bind it to {host} "
			 "in the tool file, or allow this with --allow-open-listener",
			 name, address, port);
}

/* 1 when the server listens, 0 when not yet. Somebody else may have got the port in between: it
 * must be our own server's. */
static int listens(const struct server_process *server, const char *name, uint16_t port,
		   struct error *err)
{
	struct socket_listener found[LISTENERS_MAX];
	size_t count = socket_table_find(port, found, LISTENERS_MAX);
	bool ours = false;
	for (size_t i = 0; i < count; i++) {
		if (!socket_table_is_ours(&found[i]))
			continue;
		if (server->only && !socket_table_may_listen(&found[i], server->only))
			return complain(name, &found[i], port, err);
		ours = true;
	}
	return ours;
}

/* 1 when it has ended, 0 when not yet; rests a moment: no event tells that somebody listens. */
static int ended_soon(struct server_process *server, int64_t *pause_ns,
		      const struct io_limit *limit, struct error *err)
{
	int ended = io_rest(server->child.fd, pause_ns, limit, err);
	if (ended >= 0 || err->kind != ERROR_TIMEOUT)
		return ended;
	return error_set(err, ERROR_TIMEOUT, 0, "the server did not listen within %d s",
			 SERVER_PROCESS_READY_S);
}

void server_process_add_said(const struct server_process *server, struct text *out)
{
	AUTO_FREE char *output = NULL;
	if (server->log && file_read_all(server->log, SAID_BYTES_MAX, &output, NULL, NULL) == 0) {
		said_mask(output, server->secret);
		said_add(output, false, out);
	}
}

static int blame(const struct server_process *server, const char *name, int status,
		 struct error *err)
{
	char text[64];
	AUTO_TEXT said = { 0 };
	server_process_add_said(server, &said);
	return error_set(err, ERROR_TOOL, WIFEXITED(status) ? WEXITSTATUS(status) : 0, "%s: %s%s",
			 name, child_status_text(status, text, sizeof(text)), text_string(&said));
}

int server_process_wait(struct server_process *server, const char *name,
			const struct io_limit *limit, struct error *err)
{
	int first = 0;
	int second = 0;
	if (child_wait(&server->child, limit, &first, err) < 0 ||
	    (server->into && child_wait(&server->second, limit, &second, err) < 0))
		return error_wrap(err, "%s", name);
	/* The first one cannot help it when nobody reads what it writes. */
	if (second != 0)
		return blame(server, child_program_name(server->into[0]), second, err);
	/* A second one that had enough before the end: some archivers do not read the padding. */
	if (server->into && WIFSIGNALED(first) && WTERMSIG(first) == SIGPIPE)
		return 0;
	return first == 0 ? 0 : blame(server, name, first, err);
}

void server_process_end(struct server_process *server)
{
	child_end(&server->child);
	if (server->into)
		child_end(&server->second);
}

/* Both with their words going to the log. */
static int start_processes(struct server_process *server, const struct child_spec *spec,
			   struct error *err)
{
	AUTO_FD log = open(server->log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
	if (log < 0)
		return error_system(err, "create %s", server->log);
	struct child_spec logged = *spec;
	logged.output = logged.error = log;
	if (!server->into)
		return child_start(&logged, &server->child, err);
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_system(err, "pipe");
	AUTO_FD reader = ends[0];
	AUTO_FD writer = ends[1];
	struct child_spec second = logged;
	second.argv = server->into;
	second.input = reader;
	logged.output = writer;
	if (child_start(&second, &server->second, err) < 0)
		return -1;
	return child_start(&logged, &server->child, err);
}

int server_process_start(struct server_process *server, const struct child_spec *spec,
			 uint16_t port, const struct io_limit *limit, struct error *err)
{
	struct error own = { 0 };
	struct io_limit ready = *limit;
	int64_t latest = clock_deadline_ns(SERVER_PROCESS_READY_S);
	if (latest < ready.deadline_ns)
		ready.deadline_ns = latest;
	server->child = CHILD_NONE;
	server->second = CHILD_NONE;
	const char *name = child_program_name(spec->argv[0]);
	int ended = start_processes(server, spec, &own);
	int listening = 0;
	int64_t pause_ns = 0;
	while (ended == 0 && (listening = listens(server, name, port, &own)) == 0)
		ended = ended_soon(server, &pause_ns, &ready, &own);
	if (listening > 0)
		return 0;
	if (ended > 0 && server_process_wait(server, name, &ready, &own) == 0)
		error_set(&own, ERROR_TOOL, 0, "%s: it ended before it listened", name);
	server_process_end(server);
	if (err)
		*err = own;
	return -1;
}
