/* Halves whose workers fail, or whose peer says what is not in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/agent/half_script.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		HALF_TEST(test_other_words),
		HALF_TEST(test_a_worker_that_fails),
		HALF_TEST(test_a_worker_that_is_never_ready),
		HALF_TEST(test_time_is_up),
		HALF_TEST(test_cancel),
	};
	return cmocka_run_group_tests(tests, half_group, processes_check);
}
