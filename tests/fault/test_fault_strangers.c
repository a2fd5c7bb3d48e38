/* Somebody else on this machine connects to every port that the program opens, many times, as soon
 * as it listens; most say nothing, some say something wrong, byte by byte. The runs do not notice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/socket_table.h"
#include "tests/cli/program.h"

#define STRANGERS   200 /* a port */
#define PORTS_MAX   64
#define KNOWN_MAX   4096
#define SOCKETS_MAX (STRANGERS * PORTS_MAX)

static struct {
	atomic_bool stop;
	unsigned long inodes[KNOWN_MAX]; /* of listeners that were looked at */
	size_t known, ports;
	int sockets[SOCKETS_MAX];
	size_t count;
} strangers;

static void call_on(const struct sockaddr_in *address)
{
	for (int i = 0; i < STRANGERS; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (fd < 0)
			return;
		/* Not waited for: who is kept out comes in later. */
		if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 &&
		    errno != EINPROGRESS)
			close(fd);
		else
			strangers.sockets[strangers.count++] = fd;
	}
}

/* Each is looked at once: it is the program's from the start, or never. */
static bool is_new(unsigned long inode)
{
	for (size_t i = 0; i < strangers.known; i++)
		if (strangers.inodes[i] == inode)
			return false;
	if (strangers.known == KNOWN_MAX)
		return false;
	strangers.inodes[strangers.known++] = inode;
	return strangers.ports < PORTS_MAX;
}

/* Ports that the program listens on: nobody else's on this machine. */
static void look_for_ports(void)
{
	static struct socket_listener found[KNOWN_MAX];
	size_t count = socket_table_find(0, found, KNOWN_MAX);
	for (size_t i = 0; i < count; i++) {
		struct sockaddr_in address = { .sin_family = AF_INET,
					       .sin_port = htons(found[i].port),
					       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
		if (!is_new(found[i].inode) || !socket_table_is_ours(&found[i]))
			continue;
		strangers.ports++;
		call_on(&address);
	}
}

/* A fifth of them say one more byte of nothing at all. */
static void mutter(unsigned turn)
{
	for (size_t i = turn % 5; i < strangers.count; i += 5)
		if (i % 25 == 0)
			send(strangers.sockets[i], "L", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void *be_strangers(void *argument)
{
	(void)argument;
	for (unsigned turn = 0; !atomic_load(&strangers.stop); turn++) {
		look_for_ports();
		mutter(turn);
		usleep(500);
	}
	return NULL;
}

static void hang_up(void)
{
	for (size_t i = 0; i < strangers.count; i++)
		close(strangers.sockets[i]);
}

static void strangers_change_nothing(void **state)
{
	struct bench *bench = *state;
	pthread_t thread;
	struct rlimit files;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = files.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	assert_int_equal(pthread_create(&thread, NULL, be_strangers, NULL), 0);
	PROGRAM_STUDY(bench, "-t", "tcp", "-t", "multi:streams=4", "-t", "multi-reverse", "-t",
		      "tls", "-t", "http", "-t", "scp", "-t", "null", "--dataset",
		      "small-files:files=50,size=1KiB", "--rounds", "2");
	atomic_store(&strangers.stop, true);
	pthread_join(thread, NULL);
	/* Two for most runs: one for the data, one for the agents. */
	if (strangers.ports < 10 || strangers.count < 10 * STRANGERS)
		fail_msg("only %zu connections to %zu ports", strangers.count, strangers.ports);
	hang_up();
	ASSERT_EXIT(bench, 0);
	assert_int_equal(bench->results.count, 14);
	for (size_t i = 0; i < bench->results.count; i++)
		if (bench->results.rows[i].status != STATUS_UNAVAILABLE)
			ASSERT_ROW(&bench->results.rows[i], STATUS_OK);
	bench_check_clean(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = { BENCH_TEST(strangers_change_nothing) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
