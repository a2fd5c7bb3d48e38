#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "harness/base/cancel.h"
#include "harness/base/cleanup.h"
#include "harness/protocol/link.h"
#include "tests/unit/processes.h"

static const struct token good = { "0123456789abcde" };

static struct endpoint at(const char *host, uint16_t port)
{
	struct endpoint endpoint = { .port = port };
	snprintf(endpoint.host, sizeof(endpoint.host), "%s", host);
	return endpoint;
}

static struct link_door *open_door(const char *host, struct endpoint *endpoint)
{
	uint16_t port = 0;
	struct link_door *door = link_door_open(host, &good, &port, NULL);
	if (door)
		assert_true(port > 0);
	*endpoint = at(host, port);
	return door;
}

/* The kernel accepts for us: both ends fit in one process. */
static void test_both_families(void **state)
{
	(void)state;
	static const char *const hosts[] = { "127.0.0.1", "::1" };
	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
		struct endpoint endpoint;
		struct error err = { 0 };
		struct link_door *door = open_door(hosts[i], &endpoint);
		if (!door && i == 1)
			continue; /* a host without IPv6 */
		AUTO_FD ours = link_connect(&endpoint, &good, within(20), &err);
		assert_true(ours >= 0);
		AUTO_FD theirs = link_accept(door, within(20), &err);
		assert_true(theirs >= 0);
		link_door_close(door);
		static const enum link_word words[] = { LINK_ARM,  LINK_ARMED,    LINK_GO,
							LINK_DONE, LINK_COMPLETE, LINK_FAILED };
		for (size_t j = 0; j < ARRAY_SIZE(words); j++) {
			int from = j % 2 ? theirs : ours;
			enum link_word word = 0;
			assert_int_equal(link_say(from, words[j], within(20), &err), 0);
			assert_int_equal(link_hear(j % 2 ? ours : theirs, &word, within(20), &err),
					 0);
			assert_int_equal(word, words[j]);
		}
	}
}

static int dial(const struct endpoint *endpoint)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(endpoint->port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* It was closed at the other end. */
static bool is_dropped(int fd)
{
	char byte;
	struct pollfd polled = { .fd = fd, .events = POLLIN };
	return poll(&polled, 1, 20000) == 1 && recv(fd, &byte, 1, 0) <= 0;
}

/* Silent ones, liars, and some who hang up with a part of the token said, all before the right one:
 * nobody waits for them, what the right one says after its token is not lost, and in the end they
 * are dropped. */
static void test_strangers(void **state)
{
	(void)state;
	struct token wrong = good;
	struct endpoint endpoint;
	struct error err = { 0 };
	int strangers[200];
	struct link_door *door = open_door("127.0.0.1", &endpoint);
	wrong.bytes[XFER_TOKEN_BYTES - 1] ^= 1;
	for (size_t i = 0; i < ARRAY_SIZE(strangers); i++) {
		strangers[i] = dial(&endpoint);
		size_t says = i % 4 == 1 ? sizeof(wrong) : i % 4 == 2 ? i % sizeof(wrong) : 0;
		assert_int_equal(send(strangers[i], &wrong, says, MSG_NOSIGNAL), says);
		if (i % 8 == 2)
			shutdown(strangers[i], SHUT_WR);
	}
	AUTO_FD right = link_connect(&endpoint, &good, within(20), &err);
	assert_true(right >= 0);
	enum link_word word = 0;
	assert_int_equal(link_say(right, LINK_GO, within(20), &err), 0);
	int64_t start_ns = clock_now_ns();
	AUTO_FD accepted = link_accept(door, within(100), &err);
	assert_true(accepted >= 0);
	/* It was a second and more for each silent one. */
	assert_true(clock_now_ns() - start_ns < 50 * NS_PER_S);
	assert_int_equal(link_hear(accepted, &word, within(20), &err), 0);
	assert_int_equal(word, LINK_GO);
	for (size_t i = 0; i < ARRAY_SIZE(strangers); i++) {
		assert_true(is_dropped(strangers[i]));
		close(strangers[i]);
	}
	link_door_close(door);
}

/* One who says its wrong token byte by byte, and one who says the right one so. */
static void test_slow_tokens(void **state)
{
	(void)state;
	struct endpoint endpoint;
	struct token wrong = good;
	struct error err = { 0 };
	struct link_door *door = open_door("127.0.0.1", &endpoint);
	wrong.bytes[0] ^= 1;
	AUTO_FD liar = dial(&endpoint);
	AUTO_FD right = dial(&endpoint);
	for (size_t i = 0; i < sizeof(good); i++) {
		assert_int_equal(send(liar, &wrong.bytes[i], 1, MSG_NOSIGNAL), 1);
		assert_int_equal(link_door_keep(door, -1, within(0.02), &err), -1);
		assert_int_equal(err.kind, ERROR_TIMEOUT);
		assert_int_equal(send(right, &good.bytes[i], 1, 0), 1);
	}
	assert_int_equal(link_door_keep(door, -1, within(20), &err), 1);
	AUTO_FD accepted = link_accept(door, within(20), &err);
	assert_true(accepted >= 0);
	assert_true(is_dropped(liar));
	link_door_close(door);
}

/* While the agent waits for its next request strangers do not fill the backlog, and the right one
 * is let in. */
static void test_keep_door(void **state)
{
	(void)state;
	struct endpoint endpoint;
	struct error err = { 0 };
	int ends[2];
	int strangers[150];
	struct link_door *door = open_door("127.0.0.1", &endpoint);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	for (size_t i = 0; i < ARRAY_SIZE(strangers); i++)
		strangers[i] = dial(&endpoint);
	assert_int_equal(link_door_keep(door, ends[1], within(0.3), &err), -1);
	assert_int_equal(err.kind, ERROR_TIMEOUT);
	/* More than there is room for were heard: the oldest are gone. */
	assert_true(is_dropped(strangers[0]));
	assert_int_equal(send(ends[0], "x", 1, 0), 1);
	assert_int_equal(link_door_keep(door, ends[1], within(20), &err), 0);
	AUTO_FD right = link_connect(&endpoint, &good, within(20), &err);
	char byte;
	assert_int_equal(recv(ends[1], &byte, 1, 0), 1);
	assert_int_equal(link_door_keep(door, ends[1], within(20), &err), 1);
	assert_int_equal(link_door_listener(door), -1);
	/* Nobody comes in behind it. */
	assert_int_equal(link_connect(&endpoint, &good, within(20), &err), -1);
	for (size_t i = 0; i < ARRAY_SIZE(strangers); i++) {
		assert_true(is_dropped(strangers[i]));
		close(strangers[i]);
	}
	/* It is let in once, and taken once. */
	AUTO_FD accepted = link_accept(door, within(20), &err);
	assert_true(accepted >= 0);
	assert_int_equal(link_door_keep(door, ends[1], within(20), &err), 1);
	assert_int_equal(link_accept(door, within(20), &err), -1);
	link_door_close(door);
	close(take_fd(&accepted));
	assert_true(is_dropped(right));
	close(ends[0]);
	close(ends[1]);
}

static void test_deadline_and_cancel(void **state)
{
	(void)state;
	struct endpoint endpoint;
	struct error err = { 0 };
	struct cancel cancel;
	enum link_word word = 0;
	struct link_door *door = open_door("127.0.0.1", &endpoint);
	assert_int_equal(link_accept(door, within(0.02), &err), -1);
	assert_int_equal(err.kind, ERROR_TIMEOUT);
	/* One who says nothing cannot hold it up beyond its own deadline. */
	struct token none = { { 0 } };
	AUTO_FD silent = link_connect(&endpoint, &none, within(20), &err);
	assert_true(silent >= 0);
	assert_int_equal(link_accept(door, within(0.05), &err), -1);
	assert_int_equal(err.kind, ERROR_TIMEOUT);
	assert_int_equal(cancel_open(&cancel, NULL), 0);
	cancel_request(&cancel);
	const struct io_limit stopped = { .deadline_ns = CLOCK_NEVER, .cancel = &cancel };
	assert_int_equal(link_accept(door, &stopped, &err), -1);
	assert_int_equal(err.kind, ERROR_CANCELLED);
	AUTO_FD ours = link_connect(&endpoint, &good, within(20), &err);
	AUTO_FD theirs = link_accept(door, within(20), &err);
	assert_int_equal(link_hear(ours, &word, within(0.02), &err), -1);
	assert_int_equal(err.kind, ERROR_TIMEOUT);
	assert_int_equal(link_hear(theirs, &word, &stopped, &err), -1);
	assert_int_equal(err.kind, ERROR_CANCELLED);
	cancel_close(&cancel);
	link_door_close(door);
}

static void test_nobody_there(void **state)
{
	(void)state;
	struct endpoint endpoint;
	struct error err = { 0 };
	link_door_close(open_door("127.0.0.1", &endpoint));
	assert_int_equal(link_connect(&endpoint, &good, within(20), &err), -1);
	assert_int_equal(err.kind, ERROR_SYSTEM);
	assert_non_null(strstr(err.message, "Connection refused"));
}

/* Names would be looked up, which takes as long as it takes. */
static void test_only_literal_addresses(void **state)
{
	(void)state;
	static const char *const hosts[] = { "localhost", "", "example.invalid", "127.0.0.1:80",
					     "[::1]" };
	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
		struct endpoint endpoint = at(hosts[i], 80);
		struct error err = { 0 };
		uint16_t port = 0;
		assert_null(link_door_open(hosts[i], &good, &port, &err));
		assert_int_equal(err.kind, ERROR_CONFIG);
		assert_int_equal(link_connect(&endpoint, &good, within(20), &err), -1);
		assert_int_equal(err.kind, ERROR_CONFIG);
	}
}

static void test_not_an_address_of_this_host(void **state)
{
	(void)state;
	struct error err = { 0 };
	uint16_t port = 0;
	assert_null(link_door_open("192.0.2.1", &good, &port, &err));
	assert_int_equal(err.kind, ERROR_SYSTEM);
}

/* It would otherwise turn in circles until its deadline, which may be never. */
static void test_no_descriptor_left(void **state)
{
	(void)state;
	struct endpoint endpoint;
	struct error err = { 0 };
	struct rlimit before, tight;
	struct link_door *door = open_door("127.0.0.1", &endpoint);
	AUTO_FD ours = link_connect(&endpoint, &good, within(20), &err);
	assert_true(ours >= 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	tight = before;
	tight.rlim_cur = 3;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
	int outcome = link_accept(door, within(20), &err);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(outcome, -1);
	assert_int_equal(err.kind, ERROR_SYSTEM);
	link_door_close(door);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_families),
		cmocka_unit_test(test_strangers),
		cmocka_unit_test(test_slow_tokens),
		cmocka_unit_test(test_keep_door),
		cmocka_unit_test(test_deadline_and_cancel),
		cmocka_unit_test(test_nobody_there),
		cmocka_unit_test(test_only_literal_addresses),
		cmocka_unit_test(test_not_an_address_of_this_host),
		cmocka_unit_test(test_no_descriptor_left),
	};
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
