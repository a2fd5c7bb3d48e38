#include "transports/tool_server.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
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
#define PORT_TRIES      20
#define DEPTH_MAX       8
#define LISTEN_STATE    0x0A /* TCP_LISTEN, include/net/tcp_states.h */

/* wanted 0: any. */
static int free_port(const char *host, uint16_t wanted, uint16_t *port, struct error *err)
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
	if (address.any.sa_family == AF_INET)
		address.v4.sin_port = htons(wanted);
	else
		address.v6.sin6_port = htons(wanted);
	socklen_t length =
		address.any.sa_family == AF_INET ? sizeof(address.v4) : sizeof(address.v6);
	if (bind(fd, &address.any, length) < 0 || getsockname(fd, &address.any, &size) < 0)
		return error_system(err, "bind to %s", host);
	*port = ntohs(address.any.sa_family == AF_INET ? address.v4.sin_port
						       : address.v6.sin6_port);
	return 0;
}

int tool_server_free_ports(const char *host, uint64_t count, uint16_t *port, struct error *err)
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

bool tool_server_table_next(const char **cursor, uint16_t port, unsigned long *inode)
{
	for (const char *line = strchr(*cursor, '\n'); line; line = strchr(line + 1, '\n')) {
		unsigned local = 0;
		unsigned state = 0;
		unsigned long number = 0;
		*cursor = line + 1;
		/* number: local-address:port remote-address:port state queues timer retransmits
		 * user timeout inode ... */
		if (sscanf(line + 1,
			   "%*u: %*[0-9A-Fa-f]:%4x %*[0-9A-Fa-f]:%*4x %2x %*s %*s %*s %*u %*u %lu",
			   &local, &state, &number) == 3 &&
		    local == port && state == LISTEN_STATE) {
			*inode = number;
			return true;
		}
	}
	return false;
}

static bool process_has_socket(pid_t pid, unsigned long inode)
{
	char folder[64], wanted[64];
	snprintf(folder, sizeof(folder), "/proc/%d/fd", (int)pid);
	int length = snprintf(wanted, sizeof(wanted), "socket:[%lu]", inode);
	AUTO_DIR dir = opendir(folder);
	struct dirent *entry;
	while (dir && (entry = readdir(dir))) {
		char target[64];
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target));
		if (n == length && memcmp(target, wanted, (size_t)length) == 0)
			return true;
	}
	return false;
}

static bool tree_has_socket(pid_t pid, unsigned long inode, int depth);

static bool children_have_socket(pid_t pid, const char *task, unsigned long inode, int depth)
{
	char path[96];
	int child = 0;
	snprintf(path, sizeof(path), "/proc/%d/task/%.20s/children", (int)pid, task);
	AUTO_FILE file = fopen(path, "re");
	while (file && fscanf(file, "%d", &child) == 1)
		if (tree_has_socket(child, inode, depth + 1))
			return true;
	return false;
}

/* Does this process, or what it started, hold the socket? */
static bool tree_has_socket(pid_t pid, unsigned long inode, int depth)
{
	char folder[64];
	if (depth > DEPTH_MAX)
		return false;
	if (process_has_socket(pid, inode))
		return true;
	snprintf(folder, sizeof(folder), "/proc/%d/task", (int)pid);
	AUTO_DIR dir = opendir(folder);
	struct dirent *entry;
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' &&
		    children_have_socket(pid, entry->d_name, inode, depth))
			return true;
	return false;
}

/* Somebody else may have got the port in between: it must be our own server's. */
static bool listens(uint16_t port)
{
	static const char *const tables[] = { "/proc/self/net/tcp", "/proc/self/net/tcp6" };
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		AUTO_FREE char *table = NULL;
		unsigned long inode = 0;
		if (file_read_all(tables[i], TABLE_BYTES_MAX, &table, NULL, NULL) < 0)
			continue;
		for (const char *cursor = table; tool_server_table_next(&cursor, port, &inode);)
			if (tree_has_socket(getpid(), inode, 0))
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
	return error_set(err, ERROR_TIMEOUT, 0, "the server did not listen within %d s",
			 TOOL_SERVER_READY_S);
}

void tool_server_add_said(const struct tool_server *server, struct text *out)
{
	AUTO_FREE char *output = NULL;
	if (server->log && file_read_all(server->log, TABLE_BYTES_MAX, &output, NULL, NULL) == 0)
		tool_process_add_said(output, false, out);
}

static int blame(const struct tool_server *server, const char *name, int status, struct error *err)
{
	char text[64];
	AUTO_TEXT said = { 0 };
	tool_server_add_said(server, &said);
	return error_set(err, ERROR_TOOL, WIFEXITED(status) ? WEXITSTATUS(status) : 0, "%s: %s%s",
			 name, child_status_text(status, text, sizeof(text)), text_string(&said));
}

int tool_server_wait(struct tool_server *server, const char *name, const struct io_limit *limit,
		     struct error *err)
{
	int first = 0;
	int second = 0;
	if (child_wait(&server->child, limit, &first, err) < 0 ||
	    (server->into && child_wait(&server->second, limit, &second, err) < 0))
		return error_wrap(err, "%s", name);
	/* The first one cannot help it when nobody reads what it writes. */
	if (second != 0)
		return blame(server, tool_process_name(server->into[0]), second, err);
	/* A second one that had enough before the end: some archivers do not read the padding. */
	if (server->into && WIFSIGNALED(first) && WTERMSIG(first) == SIGPIPE)
		return 0;
	return first == 0 ? 0 : blame(server, name, first, err);
}

void tool_server_end(struct tool_server *server)
{
	child_end(&server->child);
	if (server->into)
		child_end(&server->second);
}

/* Both with their words going to the log. */
static int start_processes(struct tool_server *server, const struct child_spec *spec,
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

int tool_server_start(struct tool_server *server, const struct child_spec *spec, uint16_t port,
		      const struct io_limit *limit, struct error *err)
{
	struct error own = { 0 };
	struct io_limit ready = *limit;
	int64_t latest = clock_deadline_ns(TOOL_SERVER_READY_S);
	if (latest < ready.deadline_ns)
		ready.deadline_ns = latest;
	server->child = CHILD_NONE;
	server->second = CHILD_NONE;
	int ended = start_processes(server, spec, &own);
	while (ended == 0 && !listens(port))
		ended = ended_soon(server, &ready, &own);
	if (ended == 0)
		return 0;
	const char *name = tool_process_name(spec->argv[0]);
	if (ended > 0 && tool_server_wait(server, name, &ready, &own) == 0)
		error_set(&own, ERROR_TOOL, 0, "%s: it ended before it listened", name);
	tool_server_end(server);
	if (err)
		*err = own;
	return -1;
}
