/* The order of words between two halves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/agent/half_script.h"

static void test_order_of_the_listening_half(void **state)
{
	(void)state;
	pid_t pid = start_half(&(struct start){ .transport = &moves, .side = XFER_SINK });
	AUTO_FD fd = connect_to_half();
	hear_nothing(fd);
	say(fd, LINK_ARM);
	hear(fd, LINK_ARMED);
	say(fd, LINK_GO);
	await(&sight->moving, 1);
	say(fd, LINK_DONE);
	/* Not before its own worker is through. */
	hear_nothing(fd);
	assert_int_equal(sight->moved, 0);
	sight->release = true;
	hear(fd, LINK_COMPLETE);
	assert_int_equal(sight->moved, 1);
	end_half(pid, 0);
	assert_string_equal(sight->result.error.message, "");
	assert_true(isnan(sight->result.total_s)); /* the driving half's to say */
	assert_true(sight->result.setup_s >= 0);
	assert_true(sight->result.usage_known);
	assert_int_equal(sight->result.counted_bytes, 1000);
}

static void test_order_of_the_driving_half(void **state)
{
	(void)state;
	int connected = -1;
	struct start start = { .transport = &moves, .side = XFER_SOURCE, .instances = 3 };
	pid_t pid = start_driver(&start, &connected);
	AUTO_FD fd = connected;
	hear(fd, LINK_ARM);
	hear_nothing(fd);
	assert_int_equal(sight->moving, 0); /* nobody goes before the other half is armed */
	say(fd, LINK_ARMED);
	hear(fd, LINK_GO);
	await(&sight->moving, 3);
	hear_nothing(fd);
	sight->release = true;
	hear(fd, LINK_DONE);
	int64_t done_ns = clock_now_ns();
	usleep(100000);
	double waited_s = (double)(clock_now_ns() - done_ns) / (double)NS_PER_S;
	say(fd, LINK_COMPLETE);
	end_half(pid, 0);
	const struct half_result *result = &sight->result;
	assert_string_equal(result->error.message, "");
	/* Until the sink has completed. */
	assert_true(result->total_s >= waited_s);
	assert_true(isnan(result->setup_s)); /* the sink's to say */
	assert_true(result->start_utc[0] != '\0');
	assert_int_equal(result->progress_bytes, 3000);
	assert_int_equal(result->counted_bytes, 3000);
	assert_int_equal(result->streams, 6);
}

/* A driver that is the sink is through when it says so: what comes after is not its time. */
static void test_a_sink_that_drives_stops_the_clock(void **state)
{
	(void)state;
	struct transport pulls = moves;
	int connected = -1;
	pulls.driver = XFER_SINK;
	struct start start = { .transport = &pulls, .side = XFER_SINK, .flush = true };
	pid_t pid = start_driver(&start, &connected);
	AUTO_FD fd = connected;
	int64_t go_ns = clock_now_ns();
	sight->release = true;
	hear(fd, LINK_ARM);
	say(fd, LINK_ARMED);
	hear(fd, LINK_GO);
	hear(fd, LINK_DONE);
	double at_most_s = (double)(clock_now_ns() - go_ns) / (double)NS_PER_S;
	usleep(100000);
	say(fd, LINK_COMPLETE);
	end_half(pid, 0);
	assert_string_equal(sight->result.error.message, "");
	assert_true(sight->result.total_s > 0 && sight->result.total_s <= at_most_s);
	assert_true(sight->result.setup_s >= 0);
}

/* Its worker has nothing to move and waits for the driver. */
static void test_done_lets_a_waiting_worker_end(void **state)
{
	(void)state;
	pid_t pid = start_half(&(struct start){ .transport = &served, .side = XFER_SINK });
	AUTO_FD fd = connect_to_half();
	say(fd, LINK_ARM);
	hear(fd, LINK_ARMED);
	say(fd, LINK_GO);
	hear_nothing(fd);
	say(fd, LINK_DONE);
	hear(fd, LINK_COMPLETE);
	end_half(pid, 0);
	assert_string_equal(sight->result.error.message, "");
}

/* Memory for the copy is held until the last moment before go, by whichever end is the sink. */
static void test_a_listening_sink_lets_go_of_memory(void **state)
{
	(void)state;
	pid_t pid = start_half(
		&(struct start){ .transport = &moves, .side = XFER_SINK, .reserve = true });
	AUTO_FD fd = connect_to_half();
	hear_nothing(fd);
	assert_int_equal(kill(sight->holder, 0), 0);
	say(fd, LINK_ARM);
	hear(fd, LINK_ARMED);
	assert_int_equal(kill(sight->holder, 0), -1);
	say(fd, LINK_GO);
	sight->release = true;
	say(fd, LINK_DONE);
	hear(fd, LINK_COMPLETE);
	end_half(pid, 0);
	assert_string_equal(sight->result.error.message, "");
}

static void test_a_driving_sink_lets_go_of_memory(void **state)
{
	(void)state;
	struct transport pulls = moves;
	int connected = -1;
	pulls.driver = XFER_SINK;
	struct start start = { .transport = &pulls, .side = XFER_SINK, .reserve = true };
	pid_t pid = start_driver(&start, &connected);
	AUTO_FD fd = connected;
	sight->release = true;
	hear(fd, LINK_ARM);
	assert_int_equal(kill(sight->holder, 0), 0); /* the other half may take its time */
	say(fd, LINK_ARMED);
	hear(fd, LINK_GO);
	assert_int_equal(kill(sight->holder, 0), -1);
	hear(fd, LINK_DONE);
	say(fd, LINK_COMPLETE);
	end_half(pid, 0);
	assert_string_equal(sight->result.error.message, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HALF_TEST(test_order_of_the_listening_half),
		HALF_TEST(test_order_of_the_driving_half),
		HALF_TEST(test_a_sink_that_drives_stops_the_clock),
		HALF_TEST(test_done_lets_a_waiting_worker_end),
		HALF_TEST(test_a_listening_sink_lets_go_of_memory),
		HALF_TEST(test_a_driving_sink_lets_go_of_memory),
	};
	return cmocka_run_group_tests(tests, half_group, processes_check);
}
