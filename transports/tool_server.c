#include "transports/tool_server.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
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
#define WORD_DIGITS     8

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

/* One word, or four, of the address as it lies in memory. */
static bool parse_address(const char *digits, struct in6_addr *address)
{
	uint32_t words[4] = { 0, 0, htonl(0xFFFF), 0 };
	size_t length = strlen(digits);
	if (length != WORD_DIGITS && length != 4 * WORD_DIGITS)
		return false;
	for (size_t i = 4 - length / WORD_DIGITS; i < 4; i++, digits += WORD_DIGITS)
		if (sscanf(digits, "%8" SCNx32, &words[i]) != 1)
			return false;
	memcpy(address, words, sizeof(words));
	return true;
}

bool tool_server_table_next(const char **cursor, uint16_t port, struct tool_listener *found)
{
	for (const char *line = strchr(*cursor, '\n'); line; line = strchr(line + 1, '\n')) {
		char address[4 * WORD_DIGITS + 1];
		unsigned local = 0;
		unsigned state = 0;
		*cursor = line + 1;
		/* number: local-address:port remote-address:port state queues timer retransmits
		 * user timeout inode ... */
		if (sscanf(line + 1,
			   "%*u: %32[0-9A-Fa-f]:%4x %*[0-9A-Fa-f]:%*4x %2x %*s %*s %*s %*u %*u %lu",
			   address, &local, &state, &found->inode) == 4 &&
		    local == port && state == LISTEN_STATE &&
		    parse_address(address, &found->address))
			return true;
	}
	return false;
}

bool tool_server_may_listen(const struct tool_listener *listener, const char *only)
{
	const struct in6_addr *address = &listener->address;
	char mapped[INET6_ADDRSTRLEN + 8];
	struct in6_addr wanted;
	snprintf(mapped, sizeof(mapped), "%s%.45s", strchr(only, ':') ? "" : "::ffff:", only);
	if (inet_pton(AF_INET6, mapped, &wanted) == 1 && IN6_ARE_ADDR_EQUAL(address, &wanted))
		return true;
	return IN6_IS_ADDR_LOOPBACK(address) ||
	       (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == IN_LOOPBACKNET);
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

static int complain(const char *name, const struct tool_listener *listener, uint16_t port,
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
static int listens(const struct tool_server *server, const char *name, uint16_t port,
		   struct error *err)
{
	static const char *const tables[] = { "/proc/self/net/tcp", "/proc/self/net/tcp6" };
	int count = 0;
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		AUTO_FREE char *table = NULL;
		struct tool_listener found;
		if (file_read_all(tables[i], TABLE_BYTES_MAX, &table, NULL, NULL) < 0)
			continue;
		for (const char *cursor = table; tool_server_table_next(&cursor, port, &found);) {
			if (!tree_has_socket(getpid(), found.inode, 0))
				continue;
			if (server->only && !tool_server_may_listen(&found, server->only))
				return complain(name, &found, port, err);
			count++;
		}
	}
	return count > 0;
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
	if (server->log && file_read_all(server->log, TABLE_BYTES_MAX, &output, NULL, NULL) == 0) {
		tool_process_mask(output, server->secret);
		tool_process_add_said(output, false, out);
	}
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
	const char *name = tool_process_name(spec->argv[0]);
	int ended = start_processes(server, spec, &own);
	int listening = 0;
	while (ended == 0 && (listening = listens(server, name, port, &own)) == 0)
		ended = ended_soon(server, &ready, &own);
	if (listening > 0)
		return 0;
	if (ended > 0 && tool_server_wait(server, name, &ready, &own) == 0)
		error_set(&own, ERROR_TOOL, 0, "%s: it ended before it listened", name);
	tool_server_end(server);
	if (err)
		*err = own;
	return -1;
}
