#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "harness/base/cancel.h"
#include "harness/base/cleanup.h"

static bool is_readable(int fd)
{
	struct pollfd polled = { .fd = fd, .events = POLLIN };
	return poll(&polled, 1, 0) == 1;
}

static void test_request(void **state)
{
	(void)state;
	struct cancel cancel;
	assert_int_equal(cancel_open(&cancel, NULL), 0);
	assert_false(cancel_requested(&cancel));
	assert_false(is_readable(cancel.fd));
	cancel_request(&cancel);
	cancel_request(&cancel);
	assert_true(cancel_requested(&cancel));
	assert_true(is_readable(cancel.fd));
	cancel_close(&cancel);
	assert_int_equal(cancel.fd, -1);
	cancel_close(&cancel);
}

static void test_nobody(void **state)
{
	(void)state;
	struct cancel none = CANCEL_NONE;
	assert_false(cancel_requested(NULL));
	assert_false(cancel_requested(&none));
	cancel_request(&none);
	assert_true(cancel_requested(&none));
}

static void test_signals(void **state)
{
	(void)state;
	static struct cancel cancel;
	static const int signals[] = { SIGINT, SIGTERM };
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		assert_int_equal(cancel_open(&cancel, NULL), 0);
		assert_int_equal(cancel_on_signals(&cancel, NULL), 0);
		raise(signals[i]);
		raise(signals[i]); /* the second changes nothing */
		assert_true(cancel_requested(&cancel));
		assert_true(is_readable(cancel.fd));
		cancel_close(&cancel);
	}
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	close(ends[0]);
	assert_int_equal(write(ends[1], "x", 1), -1); /* EPIPE, and we live */
	close(ends[1]);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request),
		cmocka_unit_test(test_nobody),
		cmocka_unit_test(test_signals),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
