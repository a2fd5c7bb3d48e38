#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "harness/base/cancel.h"
#include "harness/base/cleanup.h"
#include "harness/base/net.h"
#include "harness/protocol/link.h"
#include "tests/unit/processes.h"

static const struct token good = { "0123456789abcde" };

static struct endpoint at(const char *host, uint16_t port)
{
	struct endpoint endpoint = { .port = port };
	snprintf(endpoint.host, sizeof(endpoint.host), "%s", host);
	return endpoint;
}

static int listen_here(const char *host, struct endpoint *endpoint)
{
	uint16_t port = 0;
	int fd = net_listen(host, &port, NULL);
	assert_true(port > 0);
	*endpoint = at(host, port);
	return fd;
}

/* The kernel accepts for us: both ends fit in one process. */
static void test_both_families(void **state)
{
	(void)state;
	static const char *const hosts[] = { "127.0.0.1", "::1" };
	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
		struct endpoint endpoint;
		struct error err = { 0 };
		uint16_t port = 0;
		AUTO_FD listener = net_listen(hosts[i], &port, &err);
		if (listener < 0 && i == 1)
			continue; /* a host without IPv6 */
		endpoint = at(hosts[i], port);
		AUTO_FD ours = link_connect(&endpoint, &good, within(20), &err);
		assert_true(ours >= 0);
		AUTO_FD theirs = link_accept(listener, &good, within(20), &err);
		assert_true(theirs >= 0);
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

/* Strangers are dropped, and the right one behind them is found. */
static void test_strangers(void **state)
{
	(void)state;
	struct token wrong = good;
	struct endpoint endpoint;
	struct error err = { 0 };
	AUTO_FD listener = listen_here("127.0.0.1", &endpoint);
	wrong.bytes[XFER_TOKEN_BYTES - 1] ^= 1;
	AUTO_FD liar = link_connect(&endpoint, &wrong, within(20), &err);
	assert_true(liar >= 0);
	AUTO_FD brief = link_connect(&endpoint, &good, within(20), &err);
	assert_true(brief >= 0);
	/* Half a token, and then silence, is the work of a moment: here it hangs up. */
	wrong.bytes[0] ^= 1;
	AUTO_FD second_liar = link_connect(&endpoint, &wrong, within(20), &err);
	assert_true(second_liar >= 0);
	AUTO_FD accepted = link_accept(listener, &good, within(20), &err);
	assert_true(accepted >= 0);
	enum link_word word = 0;
	assert_int_equal(link_say(brief, LINK_GO, within(20), &err), 0);
	assert_int_equal(link_hear(accepted, &word, within(20), &err), 0);
	assert_int_equal(word, LINK_GO);
	/* The liar hears nothing but the end. */
	assert_int_equal(link_hear(liar, &word, within(20), &err), -1);
	assert_int_equal(err.kind, ERROR_PEER);
}

static void test_a_stranger_who_hangs_up(void **state)
{
	(void)state;
	struct endpoint endpoint;
	AUTO_FD listener = listen_here("127.0.0.1", &endpoint);
	for (size_t length = 0; length < XFER_TOKEN_BYTES; length++) {
		AUTO_FD stranger = link_connect(&endpoint, &good, within(20), NULL);
		assert_true(stranger >= 0);
		/* A connection that sent only a part, and closed: as seen by who accepts. */
		AUTO_FD partial = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		struct sockaddr_in address = { .sin_family = AF_INET,
					       .sin_port = htons(endpoint.port),
					       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
		AUTO_FD first = link_accept(listener, &good, within(20), NULL);
		assert_true(first >= 0);
		assert_int_equal(connect(partial, (struct sockaddr *)&address, sizeof(address)), 0);
		assert_int_equal(send(partial, good.bytes, length, 0), length);
		close(take_fd(&partial));
		AUTO_FD right = link_connect(&endpoint, &good, within(20), NULL);
		AUTO_FD accepted = link_accept(listener, &good, within(20), NULL);
		assert_true(accepted >= 0 && right >= 0);
	}
}

static void test_deadline_and_cancel(void **state)
{
	(void)state;
	struct endpoint endpoint;
	struct error err = { 0 };
	struct cancel cancel;
	enum link_word word = 0;
	AUTO_FD listener = listen_here("127.0.0.1", &endpoint);
	assert_int_equal(link_accept(listener, &good, within(0.02), &err), -1);
	assert_int_equal(err.kind, ERROR_TIMEOUT);
	/* One who says nothing cannot hold it up beyond its own deadline. */
	struct token none = { { 0 } };
	AUTO_FD silent = link_connect(&endpoint, &none, within(20), &err);
	assert_true(silent >= 0);
	assert_int_equal(link_accept(listener, &good, within(0.05), &err), -1);
	assert_int_equal(err.kind, ERROR_TIMEOUT);
	assert_int_equal(cancel_open(&cancel, NULL), 0);
	cancel_request(&cancel);
	const struct io_limit stopped = { .deadline_ns = CLOCK_NEVER, .cancel = &cancel };
	assert_int_equal(link_accept(listener, &good, &stopped, &err), -1);
	assert_int_equal(err.kind, ERROR_CANCELLED);
	AUTO_FD ours = link_connect(&endpoint, &good, within(20), &err);
	AUTO_FD theirs = link_accept(listener, &good, within(20), &err);
	assert_int_equal(link_hear(ours, &word, within(0.02), &err), -1);
	assert_int_equal(err.kind, ERROR_TIMEOUT);
	assert_int_equal(link_hear(theirs, &word, &stopped, &err), -1);
	assert_int_equal(err.kind, ERROR_CANCELLED);
	cancel_close(&cancel);
}

static void test_nobody_there(void **state)
{
	(void)state;
	struct endpoint endpoint;
	struct error err = { 0 };
	int listener = listen_here("127.0.0.1", &endpoint);
	close(listener);
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
		assert_int_equal(net_listen(hosts[i], &port, &err), -1);
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
	assert_int_equal(net_listen("192.0.2.1", &port, &err), -1);
	assert_int_equal(err.kind, ERROR_SYSTEM);
}

/* It would otherwise turn in circles until its deadline, which may be never. */
static void test_no_descriptor_left(void **state)
{
	(void)state;
	struct endpoint endpoint;
	struct error err = { 0 };
	struct rlimit before, tight;
	AUTO_FD listener = listen_here("127.0.0.1", &endpoint);
	AUTO_FD ours = link_connect(&endpoint, &good, within(20), &err);
	assert_true(ours >= 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	tight = before;
	tight.rlim_cur = 3;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
	int outcome = link_accept(listener, &good, within(20), &err);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(outcome, -1);
	assert_int_equal(err.kind, ERROR_SYSTEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_families),
		cmocka_unit_test(test_strangers),
		cmocka_unit_test(test_a_stranger_who_hangs_up),
		cmocka_unit_test(test_deadline_and_cancel),
		cmocka_unit_test(test_nobody_there),
		cmocka_unit_test(test_only_literal_addresses),
		cmocka_unit_test(test_not_an_address_of_this_host),
		cmocka_unit_test(test_no_descriptor_left),
	};
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
