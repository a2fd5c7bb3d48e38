#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/socket.h>

#include "harness/base/cleanup.h"
#include "tests/unit/agent/worker_script.h"

static void test_driver(void **state)
{
	(void)state;
	const struct script script = { 0 };
	struct worker worker = start(&scripted, XFER_SOURCE, &script);
	wait_stage(&worker, WORKER_READY);
	assert_int_equal(sight->prepared, 1);
	/* Nothing before go. */
	usleep(50000);
	assert_int_equal(sight->connected, 0);
	run_to_end(&worker);
	assert_int_equal(worker.error.kind, ERROR_NONE);
	assert_string_equal(sight->seen.host, "127.0.0.9");
	assert_int_equal(sight->seen.port, 99);
	assert_int_equal(sight->connected, 1);
	assert_int_equal(sight->moved, 1);
	assert_int_equal(sight->finished, 1);
	assert_int_equal(sight->cleaned, 1);
	assert_int_equal(worker.report.streams, 3);
	assert_string_equal(worker.report.cipher, "rot13");
	assert_true(worker.done_ns > 0 && worker.done_ns <= clock_now_ns());
}

/* It does not wait for go, and publishes where it is. */
static void test_listener(void **state)
{
	(void)state;
	const struct script script = { 0 };
	struct worker worker = start(&scripted, XFER_SINK, &script);
	wait_stage(&worker, WORKER_ENDED);
	assert_string_equal(worker.endpoint.host, "127.0.0.1");
	assert_int_equal(worker.endpoint.port, 4711);
	assert_int_equal(worker.error.kind, ERROR_NONE);
	assert_int_equal(sight->connected, 0);
	assert_int_equal(sight->moved, 1);
	assert_int_equal(sight->cleaned, 1);
	worker_end(&worker);
	assert_true(processes_none());
}

/* With nothing to move it waits until the driver is done. */
static void test_served_end(void **state)
{
	(void)state;
	const struct script script = { 0 };
	struct worker worker = start(&served, XFER_SINK, &script);
	wait_stage(&worker, WORKER_READY);
	struct pollfd polled = { .fd = worker.fd, .events = POLLIN };
	assert_int_equal(poll(&polled, 1, 50), 0);
	assert_int_equal(sight->cleaned, 0);
	run_to_end(&worker);
	assert_int_equal(worker.error.kind, ERROR_NONE);
	assert_int_equal(sight->moved, 0);
	assert_int_equal(sight->cleaned, 1);
}

/* ---- failures ---- */

static int fail_with_reason(struct xfer *xfer, struct error *err)
{
	(void)xfer;
	return error_set(err, ERROR_TOOL, 3, "as asked");
}

static int fail_without_reason(struct xfer *xfer, struct error *err)
{
	(void)xfer;
	(void)err;
	return -1;
}

static int succeed_with_reason(struct xfer *xfer, struct error *err)
{
	(void)xfer;
	error_set(err, ERROR_TOOL, 3, "the first try failed");
	return 0;
}

static int exit_now(struct xfer *xfer, struct error *err)
{
	(void)xfer;
	(void)err;
	_exit(5);
	return 0;
}

static int stop_at_signal(struct xfer *xfer, struct error *err)
{
	struct io_limit limit = xfer_limit(xfer);
	raise(SIGTERM);
	return io_wait(-1, POLLIN, &limit, err);
}

static int other_end_stopped(struct xfer *xfer, struct error *err)
{
	(void)xfer;
	return error_set(err, ERROR_CANCELLED, 0, "sink: stopped on request");
}

static void test_failures(void **state)
{
	(void)state;
	static const struct {
		struct script script;
		enum error_kind kind;
		const char *message;
		int cleaned;
	} cases[] = {
		{ { .prepare = fail_with_reason }, ERROR_TOOL, "as asked", 1 },
		{ { .act = fail_with_reason }, ERROR_TOOL, "as asked", 1 },
		{ { .act = fail_without_reason },
		  ERROR_SYSTEM,
		  "scripted failed without saying why",
		  1 },
		{ { .act = succeed_with_reason }, ERROR_NONE, "", 1 },
		{ { .prepare = abort_now },
		  ERROR_SYSTEM,
		  "the worker process at the source died: killed by SIGABRT",
		  0 },
		{ { .act = abort_now },
		  ERROR_SYSTEM,
		  "the worker process at the source died: killed by SIGABRT",
		  0 },
		/* Nobody asked it to stop. */
		{ { .act = stop_at_signal },
		  ERROR_SYSTEM,
		  "the worker process at the source was killed by SIGTERM",
		  1 },
		{ { .prepare = stop_at_signal },
		  ERROR_SYSTEM,
		  "the worker process at the source was killed by SIGTERM",
		  1 },
		{ { .act = other_end_stopped }, ERROR_PEER, "sink: stopped on request", 1 },
		{ { .act = exit_now },
		  ERROR_SYSTEM,
		  "the worker process at the source died: exit status 5",
		  0 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct worker worker = start(&scripted, XFER_SOURCE, &cases[i].script);
		run_to_end(&worker);
		/* A worker that is gone may be killed before its status is asked for. */
		if (cases[i].script.act == exit_now || cases[i].script.act == abort_now ||
		    cases[i].script.prepare == abort_now)
			assert_int_equal(strncmp(worker.error.message,
						 "the worker process at the source died: ", 39),
					 0);
		else
			assert_string_equal(worker.error.message, cases[i].message);
		assert_int_equal(worker.error.kind, cases[i].kind);
		assert_int_equal(sight->cleaned, cases[i].cleaned);
		assert_true(worker.done_ns > 0);
	}
}

/* ---- stopping ---- */

static int wait_for_stop(struct xfer *xfer, struct error *err)
{
	struct io_limit limit = xfer_limit(xfer);
	return io_wait(-1, POLLIN, &limit, err);
}

static void wait_until_moved(void)
{
	for (int i = 0; i < 12000 && sight->moved == 0; i++)
		usleep(5000);
	assert_int_equal(sight->moved, 1);
}

static void test_stop(void **state)
{
	(void)state;
	const struct script script = { .act = wait_for_stop };
	struct worker worker = start(&scripted, XFER_SINK, &script);
	wait_until_moved();
	worker_stop(&worker);
	wait_stage(&worker, WORKER_ENDED);
	assert_int_equal(worker.error.kind, ERROR_CANCELLED);
	assert_int_equal(sight->cleaned, 1);
	worker_end(&worker);
	assert_true(processes_none());
}

static void test_stop_before_go(void **state)
{
	(void)state;
	const struct script script = { 0 };
	struct worker worker = start(&scripted, XFER_SOURCE, &script);
	wait_stage(&worker, WORKER_READY);
	worker_stop(&worker);
	wait_stage(&worker, WORKER_ENDED);
	assert_int_equal(worker.error.kind, ERROR_CANCELLED);
	assert_int_equal(sight->moved, 0);
	assert_int_equal(sight->cleaned, 1);
	worker_end(&worker);
	assert_true(processes_none());
}

static void test_end_of_a_deaf_one(void **state)
{
	(void)state;
	const struct script script = { .act = hang };
	struct worker worker = start(&scripted, XFER_SINK, &script);
	wait_until_moved();
	while (!sight->pids[0])
		usleep(1000);
	worker_stop(&worker);
	struct pollfd polled = { .fd = worker.fd, .events = POLLIN };
	wait_stage(&worker, WORKER_READY);
	assert_int_equal(poll(&polled, 1, 100), 0);
	worker_end(&worker);
	assert_true(processes_gone(sight->pids[0]));
	worker_end(&worker); /* again: nothing happens */
	assert_true(processes_none());
}

static void test_end_of_none(void **state)
{
	(void)state;
	struct worker worker = WORKER_NONE;
	worker_stop(&worker);
	worker_end(&worker);
	assert_int_equal(worker.stage, WORKER_ENDED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_driver),
		cmocka_unit_test(test_listener),
		cmocka_unit_test(test_served_end),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_stop_before_go),
		cmocka_unit_test(test_end_of_a_deaf_one),
		cmocka_unit_test(test_end_of_none),
	};
	return cmocka_run_group_tests(tests, group_setup, processes_check);
}
