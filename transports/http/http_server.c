#include "transports/http/http_server.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/text.h"
#include "transports/http/http_identity.h"
#include "transports/wire/server_process.h"

struct http_server {
	char *program, *folder;
	uint32_t count; /* of processes that were started */
	struct server_process processes[HTTP_SERVER_MAX];
	char *logs[HTTP_SERVER_MAX];
};

char *http_server_find(struct error *err)
{
	char *program = child_find_program("nginx", err);
	if (!program)
		error_set(err, ERROR_UNAVAILABLE, 0,
			  "nginx is not installed (Debian: apt install nginx-light)");
	return program;
}

/* One process each that serves by itself: nginx's usual pair of a master and workers would leave
 * the workers behind when the master is killed. Several share the port. What would end a
 * connection before its time, or write a line for each request, is off. Strangers: those who say
 * nothing stay with the kernel (deferred), which hands over connections with a request in them;
 * places for others are so few that nginx, which sends away the oldest idle ones for a new one,
 * runs out of them before it runs out of descriptors (1024 by default), which would keep ours out.
 */
static const char head[] = "daemon off;\n"
			   "master_process off;\n"
			   "error_log stderr error;\n"
			   "events { worker_connections 512; }\n"
			   "http {\n"
			   "access_log off;\n"
			   "server_tokens off;\n"
			   "etag off;\n"
			   "if_modified_since off;\n"
			   "sendfile on;\n"
			   "tcp_nopush on;\n"
			   "output_buffers 2 256k;\n"
			   "keepalive_timeout 7d;\n"
			   "keepalive_time 7d;\n"
			   "keepalive_requests 1000000000;\n"
			   "send_timeout 7d;\n"
			   "client_header_timeout 10s;\n"
			   "large_client_header_buffers 4 32k;\n"
			   "types { }\n"
			   "default_type application/octet-stream;\n"
			   "client_body_temp_path body;\n"
			   "proxy_temp_path proxy;\n"
			   "fastcgi_temp_path fastcgi;\n"
			   "uwsgi_temp_path uwsgi;\n"
			   "scgi_temp_path scgi;\n";

static const char tls_lines[] = "ssl_protocols TLSv1.3;\n"
				"ssl_certificate certificate.pem;\n"
				"ssl_certificate_key key.pem;\n"
				"ssl_session_tickets off;\n";

/* Paths are relative to nginx's prefix: no byte of a folder's name is ever read as configuration.
 */
static int write_configuration(const struct http_server *server,
			       const struct http_server_terms *terms,
			       const struct endpoint *endpoint, struct error *err)
{
	char secret[HTTP_SECRET_SIZE];
	AUTO_TEXT text = { 0 };
	AUTO_FREE char *path = path_join(server->folder, "nginx.conf");
	bool v6 = strchr(endpoint->host, ':') != NULL;
	if (http_identity_secret(terms->xfer->token, secret, err) < 0)
		return -1;
	text_add(&text, head);
	text_addf(&text, "server {\nlisten %s%s%s:%u reuseport deferred backlog=4096%s;\n%s",
		  v6 ? "[" : "", endpoint->host, v6 ? "]" : "", endpoint->port,
		  terms->tls ? " ssl" : "", terms->tls ? tls_lines : "");
	text_addf(&text,
		  "location ^~ /%s/ { alias tree/; }\n"
		  "location / { keepalive_timeout 0; return 404; }\n}\n}\n",
		  secret);
	return file_write_all(path, text_string(&text), text.length, 0600, err);
}

static int write_files(const struct http_server *server, const struct http_server_terms *terms,
		       const struct endpoint *endpoint, struct error *err)
{
	AUTO_FREE char *tree = path_join(server->folder, "tree");
	AUTO_FREE char *key = path_join(server->folder, "key.pem");
	AUTO_FREE char *certificate = path_join(server->folder, "certificate.pem");
	if (symlink(terms->xfer->root, tree) < 0)
		return error_system(err, "make link %s", tree);
	if (terms->tls && http_identity_write(terms->xfer->token, key, certificate, err) < 0)
		return -1;
	return write_configuration(server, terms, endpoint, err);
}

/* A socket that is bound and never listens: it keeps the port for processes of this user until
 * nginx has it. */
static int reserve_port(const char *host, int *fd, uint16_t *port, struct error *err)
{
	const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
					.ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	struct sockaddr_in6 bound; /* the port is at the same place for IPv4 */
	socklen_t size = sizeof(bound);
	int on = 1;
	if (getaddrinfo(host, "0", &hints, &found) != 0)
		return error_set(err, ERROR_CONFIG, 0, "%s is no address", host);
	AUTO_FD reserved = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int failed = reserved < 0 ||
		     setsockopt(reserved, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) < 0 ||
		     bind(reserved, found->ai_addr, found->ai_addrlen) < 0 ||
		     getsockname(reserved, (struct sockaddr *)&bound, &size) < 0;
	freeaddrinfo(found);
	if (failed)
		return error_system(err, "bind to %s", host);
	*port = ntohs(bound.sin6_port);
	*fd = take_fd(&reserved);
	return 0;
}

/* nginx writes its number down when it has read its configuration and listens. */
static int wait_ready(struct server_process *process, const char *pid_path,
		      const struct io_limit *limit, struct error *err)
{
	int64_t pause_ns = 0;
	while (access(pid_path, F_OK) < 0) {
		int ended = io_rest(process->child.fd, &pause_ns, limit, err);
		if (ended < 0 || (ended && server_process_wait(process, "nginx", limit, err) < 0))
			return -1;
		if (ended)
			return error_set(err, ERROR_TOOL, 0, "nginx: it ended too early");
	}
	return 0;
}

static int start_process(struct http_server *server, uint16_t port, const struct io_limit *limit,
			 struct error *err)
{
	char number[32], pid_line[64];
	uint32_t i = server->count;
	struct server_process *process = &server->processes[i];
	snprintf(number, sizeof(number), "nginx-%u.pid", i);
	snprintf(pid_line, sizeof(pid_line), "pid %s;", number);
	AUTO_FREE char *pid_path = path_join(server->folder, number);
	snprintf(number, sizeof(number), "nginx-%u.log", i);
	server->logs[i] = path_join(server->folder, number);
	const char *const argv[] = { server->program, "-p", server->folder, "-c",
				     "nginx.conf",    "-e", "stderr",       "-g",
				     pid_line,        NULL };
	static const char *const env[] = { "PATH=" HTTP_SERVER_PATH, NULL };
	const struct child_spec spec = { .argv = argv, .env = env, .input = -1 };
	*process = (struct server_process){ .child = CHILD_NONE, .log = server->logs[i] };
	server->count++;
	if (server_process_start(process, &spec, port, limit, err) < 0)
		return -1;
	return wait_ready(process, pid_path, limit, err);
}

int http_server_open(struct http_server **opened, const struct http_server_terms *terms,
		     struct endpoint *endpoint, struct error *err)
{
	const struct io_limit limit = xfer_limit(terms->xfer);
	AUTO_FD reserved = -1;
	struct http_server *server = calloc(1, sizeof(*server));
	if (!server)
		abort();
	*opened = server;
	server->program = http_server_find(err);
	if (!server->program)
		return -1;
	server->folder = path_join(terms->xfer->scratch, "nginx");
	if (mkdir(server->folder, 0700) < 0)
		return error_system(err, "make folder %s", server->folder);
	text_copy(endpoint->host, sizeof(endpoint->host), terms->xfer->bind_host);
	if (reserve_port(endpoint->host, &reserved, &endpoint->port, err) < 0 ||
	    write_files(server, terms, endpoint, err) < 0)
		return -1;
	while (server->count < terms->processes)
		if (start_process(server, endpoint->port, &limit, err) < 0)
			return -1;
	return 0;
}

void http_server_close(struct http_server *server)
{
	if (!server)
		return;
	for (uint32_t i = 0; i < server->count; i++) {
		child_end(&server->processes[i].child);
		free(server->logs[i]);
	}
	free(server->program);
	free(server->folder);
	free(server);
}
