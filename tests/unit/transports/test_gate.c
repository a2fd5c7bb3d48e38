#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "transports/wire/gate.h"
#include "transports/wire/wire.h"

static const struct token token = { "0123456789abcde" };
static const struct token other = { "0123456789abcdf" };
static const struct socket_options plain = { 0 };

static struct gate_call call_with(const struct token *shown, int listener, double seconds)
{
	return (struct gate_call){ .listener = listener,
				   .options = &plain,
				   .token = shown,
				   .limit = { .deadline_ns = clock_deadline_ns(seconds) } };
}

/* A listener, and who connects to it from another thread. */
struct party {
	struct endpoint endpoint;
	uint32_t streams;
	int fds[64];
	int result;
	struct error err;
};

static void *connect_all(void *argument)
{
	struct party *party = argument;
	struct gate_call call = call_with(&token, -1, 10);
	party->result =
		gate_connect(&call, &party->endpoint, party->fds, party->streams, &party->err);
	return NULL;
}

static void close_all(const int *fds, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		close(fds[i]);
}

static void meet(const char *host, uint32_t streams, int strangers)
{
	struct party party = { .streams = streams };
	struct error err = { 0 };
	AUTO_FD listener = -1;
	int stranger[40];
	int fds[64];
	pthread_t thread;
	if (gate_listen(host, &plain, &listener, &party.endpoint, &err) < 0) {
		print_message("%s: %s\n", host, err.message);
		return;
	}
	assert_int_not_equal(party.endpoint.port, 0);
	/* Some say nothing, some nonsense, some half a hello, some hang up. */
	struct gate_call wrong = call_with(&other, -1, 10);
	for (int i = 0; i < strangers; i++) {
		assert_int_equal(gate_dial(&wrong, &party.endpoint, &stranger[i], &err), 0);
		if (i % 4 == 1)
			assert_int_equal(
				write(stranger[i], "GET / HTTP/1.1\r\nHost: localhost\r\n", 34),
				34);
		if (i % 4 == 2)
			assert_int_equal(write(stranger[i], "LFTREE01", 8), 8);
		if (i % 4 == 3)
			shutdown(stranger[i], SHUT_WR);
	}
	assert_int_equal(pthread_create(&thread, NULL, connect_all, &party), 0);
	struct gate_call call = call_with(&token, listener, 10);
	int result = gate_accept(&call, fds, streams, &err);
	pthread_join(thread, NULL);
	if (result < 0 || party.result < 0)
		fail_msg("%s: %s %s", host, err.message, party.err.message);
	for (uint32_t i = 0; i < streams; i++) {
		char byte = (char)i;
		assert_int_equal(write(party.fds[i], &byte, 1), 1);
		struct io_limit limit = call.limit;
		assert_int_equal(io_read_full(fds[i], &byte, 1, &limit, &err), 0);
		assert_int_equal(byte, i);
	}
	close_all(fds, streams);
	close_all(party.fds, streams);
	close_all(stranger, (uint32_t)strangers);
}

static void test_meet(void **state)
{
	(void)state;
	meet("127.0.0.1", 1, 0);
	meet("127.0.0.1", 64, 0);
	meet("127.0.0.1", 4, 40);
	meet("::1", 3, 4);
}

static void test_wrong_token(void **state)
{
	struct endpoint endpoint;
	struct error err = { 0 };
	AUTO_FD listener = -1;
	int mine[2], fds[2];
	char byte;
	(void)state;
	assert_int_equal(gate_listen("127.0.0.1", &plain, &listener, &endpoint, &err), 0);
	struct gate_call wrong = call_with(&other, -1, 10);
	assert_int_equal(gate_connect(&wrong, &endpoint, mine, 2, &err), 0);
	struct gate_call call = call_with(&token, listener, 0.3);
	assert_int_equal(gate_accept(&call, fds, 2, &err), -1);
	assert_int_equal(err.kind, ERROR_TIMEOUT);
	assert_int_equal(fds[0] & fds[1], -1);
	/* They were dropped. */
	assert_int_equal(io_read_some(mine[0], &byte, 1, &wrong.limit, &err) <= 0, 1);
	close_all(mine, 2);
}

/* One who shows the right token twice for the same stream does not count twice. */
static void test_same_stream(void **state)
{
	struct endpoint endpoint;
	struct error err = { 0 };
	AUTO_FD listener = -1;
	AUTO_FD first = -1;
	AUTO_FD second = -1;
	int fds[2];
	unsigned char hello[WIRE_HELLO_BYTES];
	(void)state;
	assert_int_equal(gate_listen("127.0.0.1", &plain, &listener, &endpoint, &err), 0);
	struct gate_call call = call_with(&token, listener, 0.3);
	assert_int_equal(gate_dial(&call, &endpoint, &first, &err), 0);
	assert_int_equal(gate_dial(&call, &endpoint, &second, &err), 0);
	wire_hello_encode(hello, &token, 0, 2);
	assert_int_equal(write(first, hello, sizeof(hello)), sizeof(hello));
	assert_int_equal(write(second, hello, sizeof(hello)), sizeof(hello));
	assert_int_equal(gate_accept(&call, fds, 2, &err), -1);
	assert_int_equal(err.kind, ERROR_TIMEOUT);
}

static void test_cancel(void **state)
{
	struct endpoint endpoint;
	struct error err = { 0 };
	struct cancel cancel;
	AUTO_FD listener = -1;
	int fds[1];
	(void)state;
	assert_int_equal(cancel_open(&cancel, &err), 0);
	assert_int_equal(gate_listen("127.0.0.1", &plain, &listener, &endpoint, &err), 0);
	struct gate_call call = call_with(&token, listener, 60);
	call.limit.cancel = &cancel;
	cancel_request(&cancel);
	assert_int_equal(gate_accept(&call, fds, 1, &err), -1);
	assert_int_equal(err.kind, ERROR_CANCELLED);
	cancel_close(&cancel);
}

static void test_options(void **state)
{
	const struct socket_options chosen = { .send_buffer = 100000,
					       .receive_buffer = 50000,
					       .nodelay = true,
					       .congestion = "reno" };
	const struct socket_options unknown = { .congestion = "no-such-thing" };
	struct endpoint endpoint;
	struct error err = { 0 };
	AUTO_FD listener = -1;
	AUTO_FD bad = -1;
	int got = 0;
	socklen_t length = sizeof(got);
	(void)state;
	if (gate_listen("127.0.0.1", &chosen, &listener, &endpoint, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(getsockopt(listener, SOL_SOCKET, SO_RCVBUF, &got, &length), 0);
	assert_int_equal(got, 100000);
	assert_int_equal(gate_listen("127.0.0.1", &unknown, &bad, &endpoint, &err), -1);
	assert_int_equal(err.kind, ERROR_UNAVAILABLE);
	assert_int_equal(gate_listen("localhost", &plain, &bad, &endpoint, &err), -1);
	assert_int_equal(err.kind, ERROR_CONFIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_meet),        cmocka_unit_test(test_wrong_token),
		cmocka_unit_test(test_same_stream), cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_options),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
