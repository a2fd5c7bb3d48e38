/* A half in a process of its own, as in an agent; the test is the other half, word by word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "harness/agent/half.h"
#include "harness/base/cancel.h"
#include "harness/base/cleanup.h"
#include "harness/protocol/link.h"
#include "tests/unit/processes.h"
#include "tests/unit/tree_folder.h"

/* Shared by the test, the half and its workers. */
struct sight {
	_Atomic int moving, moved;
	_Atomic bool release; /* workers may end */
	_Atomic uint16_t link_port;
	_Atomic pid_t holder; /* of the half's reserve of memory */
	struct half_result result;
	struct error prepare_error;
	struct cancel cancel;
};

static struct sight *sight;
static const struct token token = { .bytes = "0123456789abcdef" };

/* ---- a transport that moves when it may ---- */

static int nothing(struct xfer *xfer, struct error *err)
{
	(void)xfer;
	(void)err;
	return 0;
}

static int move(struct xfer *xfer, struct error *err)
{
	sight->moving++;
	while (!sight->release) {
		struct io_limit limit = xfer_limit(xfer);
		struct error slept = { 0 };
		limit.deadline_ns = clock_deadline_ns(0.005);
		if (io_wait(-1, POLLIN, &limit, &slept) < 0 && slept.kind != ERROR_TIMEOUT) {
			*err = slept;
			return -1;
		}
	}
	xfer_progress_add(xfer->progress, 1000);
	xfer->report->counted_bytes = 1000;
	xfer->report->streams = 2;
	sight->moved++;
	return 0;
}

static int fail_as_asked(struct xfer *xfer, struct error *err)
{
	(void)xfer;
	return error_set(err, ERROR_TOOL, 3, "as asked");
}

static void no_cleanup(struct xfer *xfer)
{
	(void)xfer;
}

#define SCRIPTED(what, act)                                                               \
	{                                                                                 \
		.name = what, .summary = what, .driver = XFER_SOURCE, .prepare = nothing, \
		.send = act, .receive = act, .cleanup = no_cleanup                        \
	}
static const struct transport moves = SCRIPTED("moves", move);
static const struct transport fails = SCRIPTED("fails", fail_as_asked);
static const struct transport unready = { .name = "unready",
					  .summary = "is never ready",
					  .driver = XFER_SOURCE,
					  .prepare = fail_as_asked,
					  .send = move,
					  .receive = move,
					  .cleanup = no_cleanup };
/* A server does the listening end, which has nothing to do but to wait. */
static const struct transport served = { .name = "served",
					 .summary = "a server does the sink's end",
					 .driver = XFER_SOURCE,
					 .prepare = nothing,
					 .send = move,
					 .cleanup = no_cleanup };

/* ---- the half ---- */

struct start {
	const struct transport *transport;
	enum xfer_side side;
	size_t instances;
	double timeout_s;
	uint16_t link_port; /* driving half: where the test listens */
	bool flush, reserve;
};

static struct half_plan plan_of(const struct start *start)
{
	struct half_plan plan = { .transport = start->transport,
				  .side = start->side,
				  .timeout_s = start->timeout_s ? start->timeout_s : 60,
				  .flush = start->flush,
				  .bind_host = strdup("127.0.0.1"),
				  .peer_host = strdup("127.0.0.1"),
				  .token = token,
				  .link = { .host = "127.0.0.1", .port = start->link_port },
				  .keep_pids = { -1, -1 } };
	plan.instances = start->instances ? start->instances : 1;
	plan.shares = calloc(plan.instances, sizeof(*plan.shares));
	for (size_t i = 0; i < plan.instances; i++)
		plan.shares[i].root = strdup(tree_folder);
	return plan;
}

_Noreturn static void half_main(const struct start *start)
{
	static struct half half;
	static struct memory_reserve reserve = { .holder = CHILD_NONE, .fd = -1 };
	struct half_plan plan = plan_of(start);
	if (start->reserve) {
		if (memory_reserve_take(&reserve, "", 1 << 20, within(60), NULL) < 0)
			_exit(5);
		plan.reserve = &reserve;
		plan.keep_pids[0] = sight->holder = reserve.holder.pid;
	}
	uint16_t port = 0;
	int status = 0;
	if (half_prepare(&half, &plan, &port, within(60), &sight->prepare_error) == 0) {
		sight->link_port = port;
		half_run(&half, &sight->cancel, &sight->result);
	} else {
		status = 3;
	}
	half_close(&half);
	_exit(processes_none() ? status : 4);
}

static pid_t start_half(const struct start *start)
{
	pid_t pid = fork();
	if (pid == 0)
		half_main(start);
	assert_true(pid > 0);
	return pid;
}

/* Its result is in sight; no worker is left. */
static void end_half(pid_t pid, int wanted)
{
	int status = -1;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), wanted);
}

/* ---- the test as the other half ---- */

static void say(int fd, enum link_word word)
{
	assert_int_equal(link_say(fd, word, within(60), NULL), 0);
}

static void hear(int fd, enum link_word wanted)
{
	enum link_word word = 0;
	struct error err = { 0 };
	if (link_hear(fd, &word, within(60), &err) < 0)
		fail_msg("%s instead of %c", err.message, wanted);
	assert_int_equal(word, wanted);
}

/* It can only pass too easily: what was said is there at once. */
static void hear_nothing(int fd)
{
	struct pollfd polled = { .fd = fd, .events = POLLIN };
	assert_int_equal(poll(&polled, 1, 50), 0);
}

static void await(const _Atomic int *count, int wanted)
{
	for (int i = 0; i < 12000 && *count < wanted; i++)
		usleep(5000);
	assert_int_equal(*count, wanted);
}

static int connect_to_half(void)
{
	for (int i = 0; i < 12000 && !sight->link_port; i++)
		usleep(5000);
	const struct endpoint endpoint = { .host = "127.0.0.1", .port = sight->link_port };
	int fd = link_connect(&endpoint, &token, within(60), NULL);
	assert_true(fd >= 0);
	return fd;
}

/* A driving half that has connected to us, and whose port we are. */
static pid_t start_driver(struct start *start, int *fd)
{
	uint16_t port = 0;
	struct link_door *door = link_door_open("127.0.0.1", &token, &port, NULL);
	assert_non_null(door);
	start->link_port = port;
	pid_t pid = start_half(start);
	*fd = link_accept(door, within(60), NULL);
	link_door_close(door);
	assert_true(*fd >= 0);
	return pid;
}

/* ---- the order ---- */

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

/* ---- what is not in order ---- */

/* Says these, one for each word of the half's, and then hangs up. */
static void play(int fd, const char *words)
{
	for (; *words; words++) {
		enum link_word heard;
		if (*words == '.') {
			if (link_hear(fd, &heard, within(60), NULL) < 0)
				return;
		} else if (link_say(fd, (enum link_word) * words, within(60), NULL) < 0) {
			return;
		}
	}
}

static void test_other_words(void **state)
{
	(void)state;
	static const struct {
		enum xfer_side side;
		const char *words, *message; /* '.' hears one */
	} cases[] = {
		{ XFER_SINK, "",
		  "the source agent: the peer closed the connection after 0 of 1 bytes" },
		{ XFER_SINK, "G", "the other end gave up" },
		{ XFER_SINK, "F", "the other end gave up" },
		{ XFER_SINK, "A.",
		  "the source agent: the peer closed the connection after 0 of 1 bytes" },
		{ XFER_SINK, "A.D", "the other end gave up" },
		{ XFER_SINK, "A.GF", "the other end gave up" },
		{ XFER_SINK, "A.GA", "the other end gave up" },
		{ XFER_SINK, "A.GDF", "the other end gave up" },
		{ XFER_SOURCE, ".",
		  "the sink agent: the peer closed the connection after 0 of 1 bytes" },
		{ XFER_SOURCE, ".C", "the other end gave up" },
		{ XFER_SOURCE, ".a.F", "the other end gave up" },
		/* Before its own workers are through. */
		{ XFER_SOURCE, ".a.C", "the other end gave up" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct start start = { .transport = &moves, .side = cases[i].side };
		int fd = -1;
		memset(&sight->result, 0, sizeof(sight->result));
		sight->link_port = 0;
		pid_t pid =
			cases[i].side == XFER_SINK ? start_half(&start) : start_driver(&start, &fd);
		if (fd < 0)
			fd = connect_to_half();
		play(fd, cases[i].words);
		/* The half must not find the end of the stream before it is where we want it. */
		shutdown(fd, SHUT_WR);
		end_half(pid, 0);
		close(fd);
		if (strcmp(sight->result.error.message, cases[i].message) != 0)
			fail_msg("'%s': '%s' instead of '%s'", cases[i].words,
				 sight->result.error.message, cases[i].message);
		assert_int_equal(sight->result.error.kind, ERROR_PEER);
		assert_true(isnan(sight->result.total_s));
	}
}

static void test_a_worker_that_fails(void **state)
{
	(void)state;
	int connected = -1;
	struct start start = { .transport = &fails, .side = XFER_SOURCE };
	pid_t pid = start_driver(&start, &connected);
	AUTO_FD fd = connected;
	hear(fd, LINK_ARM);
	say(fd, LINK_ARMED);
	hear(fd, LINK_GO);
	hear(fd, LINK_FAILED);
	end_half(pid, 0);
	assert_int_equal(sight->result.error.kind, ERROR_TOOL);
	assert_int_equal(sight->result.error.code, 3);
	assert_string_equal(sight->result.error.message, "as asked");
}

static void test_a_worker_that_is_never_ready(void **state)
{
	(void)state;
	pid_t pid = start_half(&(struct start){ .transport = &unready, .side = XFER_SINK });
	end_half(pid, 3);
	assert_string_equal(sight->prepare_error.message, "as asked");
}

static void test_time_is_up(void **state)
{
	(void)state;
	int connected = -1;
	struct start start = { .transport = &moves, .side = XFER_SOURCE, .timeout_s = 0.2 };
	pid_t pid = start_driver(&start, &connected);
	AUTO_FD fd = connected;
	hear(fd, LINK_ARM);
	say(fd, LINK_ARMED);
	hear(fd, LINK_GO);
	hear(fd, LINK_FAILED);
	end_half(pid, 0);
	assert_int_equal(sight->result.error.kind, ERROR_TIMEOUT);
	assert_non_null(strstr(sight->result.error.message, "its timeout of 0.2 s"));
}

static void test_cancel(void **state)
{
	(void)state;
	pid_t pid = start_half(&(struct start){ .transport = &moves, .side = XFER_SINK });
	AUTO_FD fd = connect_to_half();
	say(fd, LINK_ARM);
	hear(fd, LINK_ARMED);
	say(fd, LINK_GO);
	await(&sight->moving, 1);
	cancel_request(&sight->cancel); /* its descriptor is the half's, too */
	hear(fd, LINK_FAILED);
	end_half(pid, 0);
	assert_int_equal(sight->result.error.kind, ERROR_CANCELLED);
	assert_int_equal(sight->moved, 0);
}

static int setup(void **state)
{
	memset(sight, 0, sizeof(*sight));
	return tree_folder_make(state) == 0 ? cancel_open(&sight->cancel, NULL) : -1;
}

static int teardown(void **state)
{
	cancel_close(&sight->cancel);
	return tree_folder_drop(state) == 0 ? processes_check(state) : -1;
}

#define HALF_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HALF_TEST(test_order_of_the_listening_half),
		HALF_TEST(test_order_of_the_driving_half),
		HALF_TEST(test_a_sink_that_drives_stops_the_clock),
		HALF_TEST(test_done_lets_a_waiting_worker_end),
		HALF_TEST(test_a_listening_sink_lets_go_of_memory),
		HALF_TEST(test_a_driving_sink_lets_go_of_memory),
		HALF_TEST(test_other_words),
		HALF_TEST(test_a_worker_that_fails),
		HALF_TEST(test_a_worker_that_is_never_ready),
		HALF_TEST(test_time_is_up),
		HALF_TEST(test_cancel),
	};
	sight = mmap(NULL, sizeof(*sight), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (sight == MAP_FAILED)
		return 1;
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, processes_adopt, processes_check);
}
