/* Callers who are let in side by side. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/base/callers.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/net.h"

static uint16_t port;
static int listener = -1;

static int open_listener(void **state)
{
	(void)state;
	listener = net_listen("127.0.0.1", &port, NULL);
	return listener < 0 ? -1 : 0;
}

static int close_listener(void **state)
{
	(void)state;
	close(listener);
	return 0;
}

static struct io_limit within(double seconds)
{
	return (struct io_limit){ .deadline_ns = clock_deadline_ns(seconds) };
}

static int dial(const char *says)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(send(fd, says, strlen(says), MSG_NOSIGNAL), strlen(says));
	return fd;
}

static bool is_dropped(int fd)
{
	char byte;
	struct pollfd polled = { .fd = fd, .events = POLLIN };
	return poll(&polled, 1, 20000) == 1 && recv(fd, &byte, 1, 0) <= 0;
}

static bool is_open(int fd)
{
	char byte;
	return recv(fd, &byte, 1, MSG_DONTWAIT) < 0;
}

/* Those who have said enough come out in the order in which they came; what they say beyond that is
 * left, and where it is to be left so is all. */
static void test_bytes(void **state)
{
	(void)state;
	static const struct {
		bool leave;
		const char *rest;
	} cases[] = { { false, "efg" }, { true, "abcdefg" } };
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct callers *callers = callers_open(listener, 4, cases[i].leave);
		struct io_limit limit = within(20);
		struct error err = { 0 };
		char hello[5] = "", rest[16] = "";
		int fd = -1;
		AUTO_FD silent = dial("");
		AUTO_FD slow = dial("ab");
		AUTO_FD first = dial("abcdefg");
		assert_int_equal(callers_next(callers, -1, &limit, &fd, hello, &err), 1);
		assert_string_equal(hello, "abcd");
		assert_int_equal(recv(fd, rest, sizeof(rest), MSG_DONTWAIT), strlen(cases[i].rest));
		assert_string_equal(rest, cases[i].rest);
		close(fd);
		limit = within(0.05);
		assert_int_equal(callers_next(callers, -1, &limit, &fd, hello, &err), -1);
		assert_int_equal(err.kind, ERROR_TIMEOUT);
		limit = within(20);
		assert_int_equal(send(slow, "yz", 2, 0), 2);
		assert_int_equal(callers_next(callers, -1, &limit, &fd, hello, &err), 1);
		assert_string_equal(hello, "abyz");
		close(fd);
		callers_close(callers);
		assert_true(is_dropped(silent));
	}
}

/* Half a hello and then the end is no caller, and turns no circles. */
static void test_early_end(void **state)
{
	(void)state;
	for (int leave = 0; leave < 2; leave++) {
		struct callers *callers = callers_open(listener, 4, leave);
		struct io_limit limit = within(0.2);
		struct error err = { 0 };
		struct rusage before, after;
		char hello[4];
		int fd = -1;
		AUTO_FD partial = dial("ab");
		shutdown(partial, SHUT_WR);
		AUTO_FD waiting = dial("a");
		getrusage(RUSAGE_SELF, &before);
		assert_int_equal(callers_next(callers, -1, &limit, &fd, hello, &err), -1);
		getrusage(RUSAGE_SELF, &after);
		assert_int_equal(err.kind, ERROR_TIMEOUT);
		assert_true(after.ru_nvcsw - before.ru_nvcsw < 50);
		assert_true(after.ru_stime.tv_sec - before.ru_stime.tv_sec < 2);
		assert_true(is_dropped(partial));
		assert_true(is_open(waiting));
		callers_close(callers);
	}
}

/* The oldest of too many gives way. */
static void test_too_many(void **state)
{
	(void)state;
	int fds[CALLERS_MAX + 10];
	struct callers *callers = callers_open(listener, 4, false);
	struct io_limit limit = within(20);
	struct error err = { 0 };
	char hello[4];
	int fd = -1;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = dial("ab");
	AUTO_FD right = dial("abcd");
	assert_int_equal(callers_next(callers, -1, &limit, &fd, hello, &err), 1);
	close(fd);
	for (size_t i = 0; i < 11; i++)
		assert_true(is_dropped(fds[i]));
	for (size_t i = 11; i < ARRAY_SIZE(fds); i++)
		assert_true(is_open(fds[i]));
	callers_close(callers);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
}

/* Without descriptors the oldest gives way, too; with nobody to send away that is an error. */
static void test_no_descriptors(void **state)
{
	(void)state;
	struct callers *callers = callers_open(listener, 4, false);
	struct io_limit limit = within(20);
	struct error err = { 0 };
	struct rlimit before, tight;
	char hello[4];
	int fd = -1;
	AUTO_FD silent = dial("");
	AUTO_FD right = dial("abcd");
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	tight = before;
	AUTO_FD next = dup(0);
	tight.rlim_cur = (rlim_t)next + 2; /* for one */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
	int found = callers_next(callers, -1, &limit, &fd, hello, &err);
	tight.rlim_cur = 3;
	setrlimit(RLIMIT_NOFILE, &tight);
	AUTO_FD another = -1;
	setrlimit(RLIMIT_NOFILE, &before);
	another = dial("");
	setrlimit(RLIMIT_NOFILE, &tight);
	int none = callers_next(callers, -1, &limit, &fd, hello, &err);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(found, 1);
	assert_true(is_dropped(silent));
	assert_int_equal(none, -1);
	assert_int_equal(err.kind, ERROR_SYSTEM);
	callers_close(callers);
}

static void test_other(void **state)
{
	(void)state;
	struct callers *callers = callers_open(listener, 4, false);
	struct io_limit limit = within(20);
	struct error err = { 0 };
	struct cancel cancel;
	char hello[4];
	int fd = -1;
	int ends[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	AUTO_FD silent = dial("");
	assert_int_equal(send(ends[0], "x", 1, 0), 1);
	assert_int_equal(callers_next(callers, ends[1], &limit, &fd, hello, &err), 0);
	assert_int_equal(cancel_open(&cancel, NULL), 0);
	cancel_request(&cancel);
	limit.cancel = &cancel;
	assert_int_equal(callers_next(callers, -1, &limit, &fd, hello, &err), -1);
	assert_int_equal(err.kind, ERROR_CANCELLED);
	cancel_close(&cancel);
	callers_close(callers);
	callers_close(NULL);
	close(ends[0]);
	close(ends[1]);
}

#define LISTENER_TEST(test) cmocka_unit_test_setup_teardown(test, open_listener, close_listener)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LISTENER_TEST(test_bytes),    LISTENER_TEST(test_early_end),
		LISTENER_TEST(test_too_many), LISTENER_TEST(test_no_descriptors),
		LISTENER_TEST(test_other),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
