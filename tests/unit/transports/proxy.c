#include "tests/unit/transports/proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIECE_BYTES     16384
#define CONNECTIONS_MAX 512

static void must(int outcome, const char *what)
{
	if (outcome >= 0)
		return;
	perror(what);
	exit(1);
}

/* One direction of a connection. */
struct pump {
	struct proxy *proxy;
	unsigned connection;
	int from, to;
};

/* In the proxy's process only. */
static int ends[CONNECTIONS_MAX][2];

static void cut(unsigned connection)
{
	shutdown(ends[connection][0], SHUT_RDWR);
	shutdown(ends[connection][1], SHUT_RDWR);
}

static bool take_one(_Atomic int *left)
{
	int now = atomic_load(left);
	while (now > 0)
		if (atomic_compare_exchange_weak(left, &now, now - 1))
			return true;
	return false;
}

static void cut_some(struct proxy *proxy, unsigned connection)
{
	if (!proxy->dies) {
		cut(connection);
		return;
	}
	atomic_store(&proxy->dead, true);
	for (unsigned i = 0; i < atomic_load(&proxy->connections); i++)
		cut(i);
}

static void spoil(const struct pump *pump, unsigned char *bytes, uint64_t before, size_t count)
{
	struct proxy *proxy = pump->proxy;
	if (pump->connection >= proxy->flip_from && proxy->flip_at >= before &&
	    proxy->flip_at < before + count && take_one(&proxy->flips))
		bytes[proxy->flip_at - before] ^= 0x10;
}

static void *carry(void *argument)
{
	struct pump *pump = argument;
	struct proxy *proxy = pump->proxy;
	unsigned char bytes[PIECE_BYTES];
	uint64_t carried = 0;
	ssize_t n;
	while ((n = read(pump->from, bytes, sizeof(bytes))) > 0) {
		spoil(pump, bytes, carried, (size_t)n);
		carried += (uint64_t)n;
		atomic_fetch_add(&proxy->bytes, (uint64_t)n);
		if (proxy->cut_after && carried > proxy->cut_after && take_one(&proxy->cuts)) {
			cut_some(proxy, pump->connection);
			break;
		}
		for (ssize_t done = 0; done < n;) {
			ssize_t m = send(pump->to, bytes + done, (size_t)(n - done), MSG_NOSIGNAL);
			if (m <= 0)
				break;
			done += m;
		}
	}
	shutdown(pump->to, SHUT_WR);
	free(pump);
	return NULL;
}

static void start_pump(struct proxy *proxy, unsigned connection, int from, int to)
{
	pthread_t thread;
	struct pump *pump = malloc(sizeof(*pump));
	*pump = (struct pump){ .proxy = proxy, .connection = connection, .from = from, .to = to };
	must(-pthread_create(&thread, NULL, carry, pump), "thread");
	pthread_detach(thread);
}

static struct sockaddr_in local(uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons(port),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static void serve(struct proxy *proxy, int listener)
{
	for (unsigned i = 0; i < CONNECTIONS_MAX;) {
		int near = accept(listener, NULL, NULL);
		must(near, "accept");
		int far = socket(AF_INET, SOCK_STREAM, 0);
		struct sockaddr_in target = local(proxy->target);
		if (atomic_load(&proxy->dead) ||
		    connect(far, (struct sockaddr *)&target, sizeof(target)) < 0) {
			close(near);
			close(far);
			continue;
		}
		ends[i][0] = near;
		ends[i][1] = far;
		atomic_store(&proxy->connections, i + 1);
		start_pump(proxy, i, near, far);
		start_pump(proxy, i, far, near);
		i++;
	}
}

struct proxy *proxy_start(const struct proxy *plan)
{
	struct proxy *proxy = mmap(NULL, sizeof(*proxy), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct sockaddr_in address = local(0);
	socklen_t length = sizeof(address);
	if (proxy == MAP_FAILED)
		must(-1, "mmap");
	memcpy(proxy, plan, sizeof(*proxy));
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	must(bind(listener, (struct sockaddr *)&address, length), "bind");
	must(listen(listener, 64), "listen");
	must(getsockname(listener, (struct sockaddr *)&address, &length), "getsockname");
	proxy->port = ntohs(address.sin_port);
	pid_t parent = getpid();
	pid_t pid = fork();
	must(pid, "fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == parent)
			serve(proxy, listener);
		_exit(0);
	}
	close(listener);
	proxy->pid = pid; /* the memory is shared: not in the child */
	return proxy;
}

void proxy_enter(struct endpoint *endpoint, void *context)
{
	struct proxy *proxy = context;
	proxy->target = endpoint->port;
	endpoint->port = proxy->port;
}

void proxy_stop(struct proxy *proxy)
{
	kill(proxy->pid, SIGKILL);
	waitpid(proxy->pid, NULL, 0);
	munmap(proxy, sizeof(*proxy));
}
