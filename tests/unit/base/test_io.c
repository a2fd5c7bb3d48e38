#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/io.h"

static struct io_limit soon(void)
{
	return (struct io_limit){ .deadline_ns = clock_deadline_ns(0.05) };
}

static struct io_limit later(void)
{
	return (struct io_limit){ .deadline_ns = clock_deadline_ns(20) };
}

static void make_pair(int ends[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	assert_int_equal(io_set_nonblocking(ends[0], NULL), 0);
	assert_int_equal(io_set_nonblocking(ends[1], NULL), 0);
}

static void test_full(void **state)
{
	(void)state;
	int ends[2];
	make_pair(ends);
	struct io_limit limit = later();
	char got[5] = { 0 };
	assert_int_equal(io_write_full(ends[0], "he", 2, &limit, NULL), 0);
	assert_int_equal(io_write_full(ends[0], "llo", 3, &limit, NULL), 0);
	assert_int_equal(io_read_full(ends[1], got, 5, &limit, NULL), 0);
	assert_memory_equal(got, "hello", 5);
	assert_int_equal(io_read_full(ends[1], got, 0, &limit, NULL), 0);
	close(ends[0]);
	assert_int_equal(io_read_some(ends[1], got, 5, &limit, NULL), 0);
	close(ends[1]);
}

/* The rests grow; what is readable, cancel and the deadline end them. */
static void test_rest(void **state)
{
	(void)state;
	int ends[2];
	int64_t pause_ns = 0;
	struct error err = { 0 };
	struct io_limit limit = later();
	make_pair(ends);
	for (int i = 0; i < 8; i++) {
		int64_t wanted_ns = i < 5 ? NS_PER_MS << i : 20 * NS_PER_MS;
		int64_t start_ns = clock_now_ns();
		assert_int_equal(io_rest(ends[1], &pause_ns, &limit, &err), 0);
		assert_int_equal(pause_ns, wanted_ns);
		assert_true(clock_now_ns() - start_ns >= wanted_ns);
	}
	assert_int_equal(io_write_full(ends[0], "x", 1, &limit, NULL), 0);
	assert_int_equal(io_rest(ends[1], &pause_ns, &limit, &err), 1);
	limit.deadline_ns = clock_now_ns();
	assert_int_equal(io_rest(ends[0], &pause_ns, &limit, &err), -1);
	assert_int_equal(err.kind, ERROR_TIMEOUT);
	struct cancel cancel;
	assert_int_equal(cancel_open(&cancel, NULL), 0);
	cancel_request(&cancel);
	limit = (struct io_limit){ .deadline_ns = CLOCK_NEVER, .cancel = &cancel };
	assert_int_equal(io_rest(ends[0], &pause_ns, &limit, &err), -1);
	assert_int_equal(err.kind, ERROR_CANCELLED);
	cancel_close(&cancel);
	close(ends[0]);
	close(ends[1]);
}

static void test_early_end(void **state)
{
	(void)state;
	int ends[2];
	make_pair(ends);
	struct io_limit limit = later();
	struct error err = { 0 };
	char got[8];
	assert_int_equal(io_write_full(ends[0], "abc", 3, &limit, NULL), 0);
	close(ends[0]);
	assert_int_equal(io_read_full(ends[1], got, 8, &limit, &err), -1);
	assert_int_equal(err.kind, ERROR_PEER);
	assert_string_equal(err.message, "the peer closed the connection after 3 of 8 bytes");
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(io_write_full(ends[1], "x", 1, &limit, &err), -1);
	assert_int_equal(err.kind, ERROR_PEER);
	close(ends[1]);
}

static void test_deadline(void **state)
{
	(void)state;
	int ends[2];
	make_pair(ends);
	struct io_limit limit = soon();
	struct error err = { 0 };
	char byte;
	int64_t start = clock_now_ns();
	assert_int_equal(io_read_some(ends[0], &byte, 1, &limit, &err), -1);
	assert_int_equal(err.kind, ERROR_TIMEOUT);
	assert_true(clock_now_ns() >= limit.deadline_ns);
	assert_true(clock_now_ns() - start < 10 * NS_PER_S);
	/* A writer into a full pipe, too; what is past is past. */
	static char big[4 << 20];
	limit = soon();
	assert_int_equal(io_write_full(ends[0], big, sizeof(big), &limit, &err), -1);
	assert_int_equal(err.kind, ERROR_TIMEOUT);
	limit.deadline_ns = 0;
	assert_int_equal(io_wait(ends[0], POLLIN, &limit, &err), -1);
	assert_int_equal(err.kind, ERROR_TIMEOUT);
	close(ends[0]);
	close(ends[1]);
}

static void *request_soon(void *argument)
{
	const struct timespec nap = { .tv_nsec = 50 * NS_PER_MS };
	nanosleep(&nap, NULL);
	cancel_request(argument);
	return NULL;
}

static void test_cancel_wakes(void **state)
{
	(void)state;
	int ends[2];
	struct cancel cancel;
	struct error err = { 0 };
	pthread_t thread;
	char byte;
	make_pair(ends);
	assert_int_equal(cancel_open(&cancel, NULL), 0);
	const struct io_limit limit = { .deadline_ns = CLOCK_NEVER, .cancel = &cancel };
	assert_int_equal(pthread_create(&thread, NULL, request_soon, &cancel), 0);
	assert_int_equal(io_read_some(ends[0], &byte, 1, &limit, &err), -1);
	assert_int_equal(err.kind, ERROR_CANCELLED);
	pthread_join(thread, NULL);
	cancel_close(&cancel);
	close(ends[0]);
	close(ends[1]);
}

/* Any readable descriptor may stand for a request: a socket whose other end is gone, for one. */
static void test_foreign_cancel(void **state)
{
	(void)state;
	int ends[2];
	int control[2];
	make_pair(ends);
	make_pair(control);
	struct cancel cancel = { .fd = control[0] };
	const struct io_limit limit = { .deadline_ns = clock_deadline_ns(20), .cancel = &cancel };
	struct error err = { 0 };
	close(control[1]);
	assert_int_equal(io_wait(ends[0], POLLIN, &limit, &err), -1);
	assert_int_equal(err.kind, ERROR_CANCELLED);
	close(control[0]);
	close(ends[0]);
	close(ends[1]);
}

static void test_bad_descriptor(void **state)
{
	(void)state;
	struct io_limit limit = later();
	struct error err = { 0 };
	char byte = 0;
	AUTO_FD reader = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(io_write_some(reader, &byte, 1, &limit, &err), -1);
	assert_int_equal(err.kind, ERROR_SYSTEM);
	assert_int_equal(err.code, EBADF);
	assert_int_equal(io_set_nonblocking(-1, &err), -1);
}

static void test_write_at(void **state)
{
	struct error err = { 0 };
	char back[7] = "";
	(void)state;
	AUTO_FD file = memfd_create("test", MFD_CLOEXEC);
	AUTO_FD full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	AUTO_FD shut = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(file >= 0 && full >= 0 && shut >= 0);
	assert_int_equal(io_write_at(file, "def", 3, 3, &err), 0);
	assert_int_equal(io_write_at(file, "abc", 3, 0, &err), 0);
	assert_int_equal(pread(file, back, 6, 0), 6);
	assert_string_equal(back, "abcdef");
	assert_int_equal(io_write_at(full, "abc", 3, 0, &err), -1);
	assert_int_equal(err.code, ENOSPC);
	assert_string_equal(err.message, "no space left on device");
	assert_int_equal(io_write_at(shut, "abc", 3, 0, &err), -1);
	assert_int_equal(err.code, EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full),         cmocka_unit_test(test_rest),
		cmocka_unit_test(test_early_end),    cmocka_unit_test(test_deadline),
		cmocka_unit_test(test_cancel_wakes), cmocka_unit_test(test_foreign_cancel),
		cmocka_unit_test(test_write_at),     cmocka_unit_test(test_bad_descriptor),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
