/* Ports that are free, and what listens. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/net.h"
#include "harness/base/socket_table.h"
#include "transports/wire/server_process.h"

/* How many sockets listen on the port; the last one's inode. */
static int count_listeners(const char *table, uint16_t port, unsigned long *inode)
{
	int count = 0;
	struct socket_listener found = { .inode = *inode };
	for (const char *cursor = table; socket_table_next(&cursor, port, &found);) {
		*inode = found.inode;
		count++;
	}
	return count;
}

static void test_socket_table(void **state)
{
	(void)state;
	static const char table[] =
		"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
		"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0 "
		"       0 4711 1 0000000000000000\n"
		"   1: 0100007F:1F91 0100007F:1F92 01 00000000:00000000 00:00000000 00000000     0 "
		"       0 4712 1 0000000000000000\n"
		"   2: 0200007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0 "
		"       0 4713 1 0000000000000000\n"
		" 100: 00000000000000000000000001000000:0016 00000000000000000000000000000000:0000 "
		"0A 00000000:00000000 00:00000000 00000000 0 0 99\n"
		" 101: 0100007F:1F93 00000000:0000 0A\n";
	unsigned long inode = 0;
	assert_int_equal(count_listeners(table, 0x1f90, &inode), 2);
	assert_int_equal(inode, 4713);
	assert_int_equal(count_listeners(table, 0x1f91, &inode), 0); /* connected */
	assert_int_equal(count_listeners(table, 0x1f92, &inode), 0); /* the other end */
	assert_int_equal(count_listeners(table, 22, &inode), 1);
	assert_int_equal(inode, 99);
	assert_int_equal(count_listeners(table, 0x1f93, &inode), 0); /* cut */
	assert_int_equal(count_listeners("", 22, &inode), 0);
	assert_int_equal(count_listeners("header\nnonsense\n", 22, &inode), 0);
}

/* Words as a machine of this byte order writes them. */
static void test_listening_addresses(void **state)
{
	(void)state;
	static const struct {
		const unsigned char address[16];
		bool v6;
		const char *only;
		bool may;
	} cases[] = {
		{ { 127, 0, 0, 1 }, false, "127.0.0.1", true },
		{ { 127, 1, 2, 3 }, false, "10.0.0.1", true },
		{ { 10, 0, 0, 1 }, false, "10.0.0.1", true },
		{ { 10, 0, 0, 1 }, false, "127.0.0.1", false },
		{ { 0 }, false, "127.0.0.1", false },
		{ { 0 }, false, "10.0.0.1", false },
		{ { 0 }, true, "127.0.0.1", false },
		{ { 0 }, true, "::1", false },
		{ { [15] = 1 }, true, "::1", true },
		{ { [15] = 1 }, true, "127.0.0.1", true },
		{ { 0xfe, 0x80, [15] = 1 }, true, "fe80::1", true },
		{ { 0xfe, 0x80, [15] = 1 }, true, "fe80::2", false },
		{ { [10] = 0xff, 0xff, 127, 0, 0, 1 }, true, "127.0.0.1", true },
		{ { [10] = 0xff, 0xff, 10, 0, 0, 1 }, true, "10.0.0.1", true },
		{ { [10] = 0xff, 0xff, 0, 0, 0, 0 }, true, "10.0.0.1", false },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t words[4];
		AUTO_TEXT table = { 0 };
		struct socket_listener found = { 0 };
		memcpy(words, cases[i].address, sizeof(words));
		text_add(&table, "header\n 0: ");
		for (size_t j = 0; j < (cases[i].v6 ? 4u : 1u); j++)
			text_addf(&table, "%08X", words[j]);
		text_add(&table, ":0050 00000000:0000 0A 0:0 0:0 0 0 0 7 1\n");
		const char *cursor = text_string(&table);
		assert_true(socket_table_next(&cursor, 80, &found));
		assert_int_equal(socket_table_may_listen(&found, cases[i].only), cases[i].may);
	}
	static const char odd[] = "header\n 0: 00000:0050 00000000:0000 0A 0:0 0:0 0 0 0 7 1\n";
	unsigned long inode = 0;
	assert_int_equal(count_listeners(odd, 80, &inode), 0);
}

static void test_free_ports(void **state)
{
	(void)state;
	uint16_t port = 0;
	struct error err = { 0 };
	assert_int_equal(net_free_ports("127.0.0.1", 1, &port, &err), 0);
	assert_true(port > 0);
	assert_int_equal(net_free_ports("127.0.0.1", 5, &port, &err), 0);
	assert_true(port > 0 && port <= UINT16_MAX - 4);
	assert_int_equal(net_free_ports("::1", 2, &port, &err), 0);
	assert_int_equal(net_free_ports("localhost", 1, &port, &err), -1);
	assert_int_equal(err.kind, ERROR_CONFIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_socket_table),
		cmocka_unit_test(test_listening_addresses),
		cmocka_unit_test(test_free_ports),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
