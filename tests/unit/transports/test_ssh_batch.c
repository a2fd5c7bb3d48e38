/* The socket below libssh2, without a server: what the library would send comes out whole and in
 * order, whatever the socket takes, and no wait is for the wrong thing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "transports/ssh/ssh_batch.h"

#define PACKET 32000

typedef ssize_t send_function(libssh2_socket_t, const void *, size_t, int, void **);
typedef ssize_t receive_function(libssh2_socket_t, void *, size_t, int, void **);

struct fixture {
	LIBSSH2_SESSION *session;
	struct ssh_batch batch;
	send_function *send;
	receive_function *receive;
	void *abstract;
	int peer;
	unsigned char packet[PACKET];
};

static const struct io_limit *within(double seconds)
{
	static struct io_limit limit;
	limit = (struct io_limit){ .deadline_ns = clock_deadline_ns(seconds) };
	return &limit;
}

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	int ends[2];
	int small = 64 << 10;
	assert_non_null(fixture);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
	setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	assert_int_equal(libssh2_init(0), 0);
	fixture->session = libssh2_session_init_ex(NULL, NULL, NULL, &fixture->batch);
	ssh_batch_attach(&fixture->batch, fixture->session);
	fixture->batch.fd = ends[0];
	fixture->peer = ends[1];
	fixture->abstract = &fixture->batch;
	/* Each call gives back what was set before. */
	fixture->send = (send_function *)libssh2_session_callback_set(fixture->session,
								      LIBSSH2_CALLBACK_SEND, NULL);
	fixture->receive = (receive_function *)libssh2_session_callback_set(
		fixture->session, LIBSSH2_CALLBACK_RECV, NULL);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	close(fixture->batch.fd);
	close(fixture->peer);
	ssh_batch_free(&fixture->batch);
	libssh2_session_free(fixture->session);
	libssh2_exit();
	free(fixture);
	return 0;
}

/* As the library does: the whole packet or what the socket took; a failure negative. */
static ssize_t send_packet(struct fixture *fixture, unsigned number)
{
	memset(fixture->packet, (int)number + 1, PACKET);
	return fixture->send(0, fixture->packet, PACKET, 0, &fixture->abstract);
}

static size_t drain(struct fixture *fixture, unsigned char *last)
{
	static unsigned char bytes[1 << 20];
	size_t total = 0;
	ssize_t n;
	while ((n = recv(fixture->peer, bytes, sizeof(bytes), 0)) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			assert_true(bytes[i] == *last || bytes[i] == *last + 1);
			*last = bytes[i];
		}
		total += (size_t)n;
	}
	return total;
}

static void test_nothing_before_the_end(void **state)
{
	struct fixture *fixture = *state;
	struct error err = { 0 };
	unsigned char last = 0;
	ssh_batch_begin(&fixture->batch);
	assert_int_equal(send_packet(fixture, 0), PACKET);
	assert_int_equal(drain(fixture, &last), 0);
	assert_int_equal(ssh_batch_end(&fixture->batch, within(5), &err), 0);
	assert_int_equal(drain(fixture, &last), PACKET);
	/* And not collected any more. */
	assert_int_equal(send_packet(fixture, 1), PACKET);
	assert_int_equal(drain(fixture, &last), PACKET);
}

/* Far more than buffer and socket hold, to a peer that reads only when we wait. */
static void test_full_socket(void **state)
{
	struct fixture *fixture = *state;
	struct error err = { 0 };
	unsigned char last = 0;
	size_t arrived = 0, waits = 0;
	const unsigned packets = 100;
	ssh_batch_begin(&fixture->batch);
	for (unsigned i = 0; i < packets;) {
		ssize_t n = send_packet(fixture, i);
		if (n == PACKET) {
			i++;
			continue;
		}
		assert_int_equal(n, -EAGAIN);
		arrived += drain(fixture, &last);
		waits++;
		/* Nobody reads meanwhile: what was collected may fill the socket again. */
		if (ssh_batch_wait(&fixture->batch, POLLIN | POLLOUT, within(0.01), &err) < 0)
			assert_int_equal(err.kind, ERROR_TIMEOUT);
	}
	while (ssh_batch_end(&fixture->batch, within(0.01), &err) < 0) {
		arrived += drain(fixture, &last);
		fixture->batch.on = true;
	}
	arrived += drain(fixture, &last);
	assert_int_equal(arrived, packets * PACKET);
	assert_int_equal(last, packets);
	assert_true(waits > 0);
}

/* The library wants to read and to write, the peer says nothing, and all that was collected fits.
 */
static void test_room(void **state)
{
	struct fixture *fixture = *state;
	struct error err = { 0 };
	unsigned char last = 0;
	int large = 1 << 20; /* a local socket has room while a quarter of it is used */
	setsockopt(fixture->batch.fd, SOL_SOCKET, SO_SNDBUF, &large, sizeof(large));
	ssh_batch_begin(&fixture->batch);
	assert_int_equal(send_packet(fixture, 0), PACKET);
	if (ssh_batch_wait(&fixture->batch, POLLIN | POLLOUT, within(5), &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(drain(fixture, &last), PACKET);
	assert_int_equal(ssh_batch_end(&fixture->batch, within(5), &err), 0);
}

static void test_quiet(void **state)
{
	struct fixture *fixture = *state;
	struct error err = { 0 };
	char byte = 0;
	ssh_batch_begin(&fixture->batch);
	assert_int_equal(fixture->receive(0, &byte, 1, 0, &fixture->abstract), -EAGAIN);
	assert_int_equal(send(fixture->peer, "x", 1, 0), 1);
	/* It was quiet a moment ago: the socket is not asked again, until there was a wait. */
	assert_int_equal(fixture->receive(0, &byte, 1, 0, &fixture->abstract), -EAGAIN);
	assert_int_equal(ssh_batch_wait(&fixture->batch, POLLIN, within(5), &err), 0);
	assert_int_equal(fixture->receive(0, &byte, 1, 0, &fixture->abstract), 1);
	assert_int_equal(byte, 'x');
	assert_int_equal(ssh_batch_end(&fixture->batch, within(5), &err), 0);
}

/* What is large goes out by itself, behind what was collected, and the library keeps the rest. */
static void test_large(void **state)
{
	enum { LARGE = 200000 };
	struct fixture *fixture = *state;
	struct error err = { 0 };
	unsigned char last = 0;
	AUTO_FREE unsigned char *packet = malloc(LARGE);
	size_t sent = 0, arrived = 0;
	memset(packet, 2, LARGE);
	ssh_batch_begin(&fixture->batch);
	assert_int_equal(send_packet(fixture, 0), PACKET);
	while (sent < LARGE) {
		ssize_t n = fixture->send(0, packet + sent, LARGE - sent, 0, &fixture->abstract);
		if (sent == 0)
			assert_int_equal(fixture->batch.end, fixture->batch.start);
		if (n > 0)
			sent += (size_t)n;
		else
			assert_int_equal(n, -EAGAIN);
		arrived += drain(fixture, &last);
	}
	assert_int_equal(ssh_batch_end(&fixture->batch, within(5), &err), 0);
	arrived += drain(fixture, &last);
	assert_int_equal(arrived, PACKET + LARGE);
	assert_int_equal(last, 2);
}

static void test_gone(void **state)
{
	struct fixture *fixture = *state;
	struct error err = { 0 };
	ssh_batch_begin(&fixture->batch);
	assert_int_equal(send_packet(fixture, 0), PACKET);
	shutdown(fixture->peer, SHUT_RDWR);
	assert_int_equal(ssh_batch_end(&fixture->batch, within(5), &err), -1);
	assert_int_equal(err.kind, ERROR_PEER);
	assert_false(fixture->batch.on);
}

static void test_deadline(void **state)
{
	struct fixture *fixture = *state;
	struct error err = { 0 };
	ssh_batch_begin(&fixture->batch);
	for (unsigned i = 0; send_packet(fixture, 0) == PACKET; i++)
		assert_true(i < 1000);
	assert_int_equal(ssh_batch_wait(&fixture->batch, POLLIN, within(0.05), &err), -1);
	assert_int_equal(err.kind, ERROR_TIMEOUT);
	assert_int_equal(ssh_batch_end(&fixture->batch, within(0.05), &err), -1);
	assert_int_equal(err.kind, ERROR_TIMEOUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nothing_before_the_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_socket, setup, teardown),
		cmocka_unit_test_setup_teardown(test_room, setup, teardown),
		cmocka_unit_test_setup_teardown(test_quiet, setup, teardown),
		cmocka_unit_test_setup_teardown(test_large, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_deadline, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
