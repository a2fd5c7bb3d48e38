#include "tests/unit/transports/wire_tap.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/cleanup.h"

#define CHUNK_BYTES 65536
#define MARKER_MAX  64

/* What was seen: the end of the chunk before is kept, for a marker in between. */
struct window {
	const char *marker;
	struct wire_counts *counts;
	size_t kept;
	unsigned char bytes[MARKER_MAX + CHUNK_BYTES];
};

static struct sockaddr_in loopback(uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons(port),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static void look(struct window *window, size_t count)
{
	const size_t length = strlen(window->marker);
	const size_t total = window->kept + count;
	const unsigned char *at = window->bytes;
	const unsigned char *end = window->bytes + total;
	atomic_fetch_add(&window->counts->bytes, count);
	while ((at = memmem(at, (size_t)(end - at), window->marker, length))) {
		atomic_fetch_add(&window->counts->seen, 1);
		at += length;
	}
	window->kept = total < length - 1 ? total : length - 1;
	memmove(window->bytes, end - window->kept, window->kept);
}

/* False at the end of the stream. */
static bool pass(int from, int to, unsigned char *bytes, size_t *count)
{
	ssize_t n = recv(from, bytes, CHUNK_BYTES, 0);
	*count = n > 0 ? (size_t)n : 0;
	for (size_t done = 0; done < *count;) {
		ssize_t sent = send(to, bytes + done, *count - done, MSG_NOSIGNAL);
		if (sent <= 0)
			return false;
		done += (size_t)sent;
	}
	return n > 0;
}

static void serve(struct window *window, int client, int server)
{
	static unsigned char back[CHUNK_BYTES];
	struct pollfd polled[] = { { .fd = client, .events = POLLIN },
				   { .fd = server, .events = POLLIN } };
	size_t count;
	window->kept = 0;
	while (poll(polled, ARRAY_SIZE(polled), -1) > 0) {
		if (polled[0].revents) {
			bool more = pass(client, server, window->bytes + window->kept, &count);
			look(window, count);
			if (!more)
				return;
		}
		if (polled[1].revents && !pass(server, client, back, &count))
			return;
	}
}

_Noreturn static void run(struct window *window, int listener, uint16_t server_port)
{
	const struct sockaddr_in to = loopback(server_port);
	for (;;) {
		AUTO_FD client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		AUTO_FD server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (client < 0)
			_exit(1);
		if (connect(server, (const struct sockaddr *)&to, sizeof(to)) == 0)
			serve(window, client, server);
	}
}

int wire_tap_start(struct wire_tap *tap, uint16_t server_port, const char *marker,
		   struct error *err)
{
	static struct window window;
	struct sockaddr_in at = loopback(0);
	socklen_t size = sizeof(at);
	AUTO_FD listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	*tap = (struct wire_tap){ .pid = -1 };
	if (listener < 0 || bind(listener, (const struct sockaddr *)&at, sizeof(at)) < 0 ||
	    listen(listener, 4) < 0 || getsockname(listener, (struct sockaddr *)&at, &size) < 0)
		return error_system(err, "wire tap");
	tap->port = ntohs(at.sin_port);
	tap->counts = mmap(NULL, sizeof(*tap->counts), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (tap->counts == MAP_FAILED)
		return error_system(err, "mmap");
	window.marker = marker;
	window.counts = tap->counts;
	tap->pid = fork();
	if (tap->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run(&window, listener, server_port);
	}
	return tap->pid < 0 ? error_system(err, "fork") : 0;
}

void wire_tap_stop(struct wire_tap *tap)
{
	if (tap->pid > 0) {
		kill(tap->pid, SIGKILL);
		waitpid(tap->pid, NULL, 0);
	}
	munmap(tap->counts, sizeof(*tap->counts));
}
