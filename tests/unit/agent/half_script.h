/* A half in a process of its own, as in an agent; the test is the other half, word by word. For
 * cmocka. */
#ifndef LINEFILL_TESTS_UNIT_AGENT_HALF_SCRIPT_H
#define LINEFILL_TESTS_UNIT_AGENT_HALF_SCRIPT_H

#include <math.h>
#include <poll.h>
#include <signal.h>
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

static inline int nothing(struct xfer *xfer, struct error *err)
{
	(void)xfer;
	(void)err;
	return 0;
}

static inline int move(struct xfer *xfer, struct error *err)
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

static inline int fail_as_asked(struct xfer *xfer, struct error *err)
{
	(void)xfer;
	return error_set(err, ERROR_TOOL, 3, "as asked");
}

static inline void no_cleanup(struct xfer *xfer)
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

static inline struct half_plan plan_of(const struct start *start)
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

_Noreturn static inline void half_main(const struct start *start)
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

static inline pid_t start_half(const struct start *start)
{
	pid_t pid = fork();
	if (pid == 0)
		half_main(start);
	assert_true(pid > 0);
	return pid;
}

/* Its result is in sight; no worker is left. */
static inline void end_half(pid_t pid, int wanted)
{
	int status = -1;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), wanted);
}

/* ---- the test as the other half ---- */

static inline void say(int fd, enum link_word word)
{
	assert_int_equal(link_say(fd, word, within(60), NULL), 0);
}

static inline void hear(int fd, enum link_word wanted)
{
	enum link_word word = 0;
	struct error err = { 0 };
	if (link_hear(fd, &word, within(60), &err) < 0)
		fail_msg("%s instead of %c", err.message, wanted);
	assert_int_equal(word, wanted);
}

/* It can only pass too easily: what was said is there at once. */
static inline void hear_nothing(int fd)
{
	struct pollfd polled = { .fd = fd, .events = POLLIN };
	assert_int_equal(poll(&polled, 1, 50), 0);
}

static inline void await(const _Atomic int *count, int wanted)
{
	for (int i = 0; i < 12000 && *count < wanted; i++)
		usleep(5000);
	assert_int_equal(*count, wanted);
}

static inline int connect_to_half(void)
{
	for (int i = 0; i < 12000 && !sight->link_port; i++)
		usleep(5000);
	const struct endpoint endpoint = { .host = "127.0.0.1", .port = sight->link_port };
	int fd = link_connect(&endpoint, &token, within(60), NULL);
	assert_true(fd >= 0);
	return fd;
}

/* A driving half that has connected to us, and whose port we are. */
static inline pid_t start_driver(struct start *start, int *fd)
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

static inline int setup(void **state)
{
	memset(sight, 0, sizeof(*sight));
	return tree_folder_make(state) == 0 ? cancel_open(&sight->cancel, NULL) : -1;
}

static inline int teardown(void **state)
{
	cancel_close(&sight->cancel);
	return tree_folder_drop(state) == 0 ? processes_check(state) : -1;
}

#define HALF_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

/* For cmocka_run_group_tests. */
static inline int half_group(void **state)
{
	sight = mmap(NULL, sizeof(*sight), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	signal(SIGPIPE, SIG_IGN);
	return sight == MAP_FAILED ? -1 : processes_adopt(state);
}

#endif
