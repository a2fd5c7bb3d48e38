/* Who listens on a port, asked over netlink and read from /proc/net: both must say the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/net.h"
#include "harness/base/socket_table.h"

#define ROOM 8
#define MANY 4096

static unsigned long inode_of(int fd)
{
	struct stat status;
	assert_int_equal(fstat(fd, &status), 0);
	return (unsigned long)status.st_ino;
}

static void assert_same(const struct socket_listener *a, const struct socket_listener *b)
{
	assert_int_equal(a->inode, b->inode);
	assert_int_equal(a->port, b->port);
	assert_memory_equal(&a->address, &b->address, sizeof(a->address));
}

static bool is_among(const struct socket_listener *wanted, const struct socket_listener *all,
		     size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (all[i].inode == wanted->inode && all[i].port == wanted->port)
			return true;
	return false;
}

/* Everybody's answer about the port is this one socket. */
static void check_one(uint16_t port, int listener, const char *host)
{
	struct socket_listener asked[ROOM], read[ROOM], found[ROOM];
	int count = socket_table_ask(port, asked, ROOM);
	assert_int_equal(socket_table_read(port, read, ROOM), 1);
	assert_int_equal(socket_table_find(port, found, ROOM), 1);
	assert_int_equal(read[0].inode, inode_of(listener));
	assert_same(&found[0], &read[0]);
	assert_int_equal(read[0].port, port);
	assert_true(socket_table_may_listen(&read[0], host));
	assert_true(socket_table_is_ours(&read[0]));
	static struct socket_listener all[MANY];
	assert_true(is_among(&read[0], all, socket_table_find(0, all, MANY)));
	assert_true(is_among(&read[0], all, socket_table_read(0, all, MANY)));
	if (count < 0) {
		print_message("no netlink here: only /proc was looked at\n");
		return;
	}
	assert_int_equal(count, 1);
	assert_same(&asked[0], &read[0]);
}

static void test_listeners(void **state)
{
	(void)state;
	static const char *const hosts[] = { "127.0.0.1", "127.1.2.3", "::1" };
	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
		struct error err = { 0 };
		uint16_t port = 0;
		AUTO_FD listener = net_listen(hosts[i], &port, &err);
		if (listener < 0 && strchr(hosts[i], ':'))
			continue; /* a host without IPv6 */
		assert_true(listener >= 0);
		check_one(port, listener, hosts[i]);
	}
}

/* Connections at the same port, and sockets that are only bound, are none. */
static void test_only_listeners(void **state)
{
	(void)state;
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct socket_listener found[ROOM];
	uint16_t port = 0;
	AUTO_FD listener = net_listen("127.0.0.1", &port, NULL);
	AUTO_FD caller = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	address.sin_port = htons(port);
	assert_int_equal(connect(caller, (const struct sockaddr *)&address, sizeof(address)), 0);
	AUTO_FD accepted = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(accepted >= 0);
	check_one(port, listener, "127.0.0.1");
	assert_int_equal(socket_table_find(net_port(caller), found, ROOM), 0);
	close(take_fd(&listener));
	assert_int_equal(socket_table_find(port, found, ROOM), 0);
}

/* Several share a port; no more are told than there is room for. */
static void test_room(void **state)
{
	(void)state;
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	struct socket_listener found[ROOM];
	int fds[3];
	int on = 1;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_int_equal(setsockopt(fds[i], SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)), 0);
		assert_int_equal(bind(fds[i], (const struct sockaddr *)&address, size), 0);
		assert_int_equal(listen(fds[i], 1), 0);
		assert_int_equal(getsockname(fds[i], (struct sockaddr *)&address, &size), 0);
	}
	uint16_t port = ntohs(address.sin_port);
	assert_int_equal(socket_table_find(port, found, ROOM), 3);
	assert_int_equal(socket_table_read(port, found, ROOM), 3);
	assert_int_equal(socket_table_find(port, found, 2), 2);
	assert_int_equal(socket_table_read(port, found, 2), 2);
	assert_int_equal(socket_table_find(port, found, 0), 0);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_listeners),
		cmocka_unit_test(test_only_listeners),
		cmocka_unit_test(test_room),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
