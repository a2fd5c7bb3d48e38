#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/base/clock.h"
#include "harness/control/pair.h"
#include "harness/control/peer.h"
#include "tests/unit/processes.h"

/* Its words for one request, once it is told to stop; NULL message: it waits for that in vain. */
struct script {
	enum error_kind kind;
	const char *message;
	bool at_once;
};

_Noreturn static void play_agent(int fd, const struct script *script)
{
	const struct io_limit *limit = within(60);
	struct message heard = { 0 };
	const struct error error = { .kind = script->kind };
	for (int i = 0; i < (script->at_once ? 1 : 2); i++)
		if (message_receive(fd, &heard, limit, NULL) <= 0)
			_exit(1);
	struct error said = error;
	error_set(&said, script->kind, 0, "%s", script->message);
	struct message reply = { .json = message_from_error(&said) };
	_exit(message_send(fd, &reply, limit, NULL) < 0);
}

static struct peer start(enum xfer_side side, const struct script *script)
{
	int ends[2];
	struct peer peer = PEER_NONE;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends),
			 0);
	int child = child_fork(&peer.child, NULL);
	if (child == 0)
		play_agent(ends[1], script);
	assert_int_equal(child, 1);
	close(ends[1]);
	peer.side = side;
	peer.name = side == XFER_SOURCE ? "source" : "sink";
	peer.fd = ends[0];
	peer.alive = true;
	return peer;
}

static void end(struct peer *peer)
{
	child_end(&peer->child);
	close(peer->fd);
	message_free(&peer->reply);
}

static void test_who_takes_too_long_and_at_what(void **state)
{
	(void)state;
	static const struct {
		const char *what;
		struct script script;
		const char *message;
	} cases[] = {
		{ "verify",
		  { ERROR_CANCELLED, "stopped on request", false },
		  "the sink agent took too long while verifying the copy" },
		{ "dataset",
		  { ERROR_TIMEOUT, "single: no answer before the deadline", true },
		  "the sink agent took too long while making the dataset: single: no answer before "
		  "the deadline" },
		{ "dance",
		  { ERROR_CANCELLED, "stopped on request", false },
		  "the sink agent took too long while at work" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error err = { 0 };
		struct peer peer = start(XFER_SINK, &cases[i].script);
		const struct io_limit *limit = within(cases[i].script.at_once ? 60 : 0.1);
		assert_int_equal(peer_call(&peer, cases[i].what, NULL, limit, &err), -1);
		assert_string_equal(err.message, cases[i].message);
		assert_int_equal(err.kind, ERROR_TIMEOUT);
		end(&peer);
	}
}

static void test_other_failures_stay_as_they_are(void **state)
{
	(void)state;
	const struct script script = { ERROR_SYSTEM, "the disk is full", true };
	struct error err = { 0 };
	struct peer peer = start(XFER_SOURCE, &script);
	assert_int_equal(peer_call(&peer, "dataset", NULL, within(60), &err), -1);
	assert_string_equal(err.message, "the disk is full");
	assert_int_equal(err.kind, ERROR_SYSTEM);
	end(&peer);
}

/* No agent is waited for by the hour unless there is work for hours. */
static void test_limits_grow_with_the_work(void **state)
{
	(void)state;
	struct pair pair = { .dataset.totals = { .count = 5000, .bytes = 1000000000 } };
	assert_true(pair_work_s(0, 0, 1) == 60);
	assert_true(pair_work_s(1, 0, 3) == 3 * 60.01);
	assert_true(pair_pass_s(&pair) == 60 + 50 + 50);
	assert_true(pair_work_s(1, UINT64_C(1) << 40, 1) > 10 * 3600);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_takes_too_long_and_at_what),
		cmocka_unit_test(test_other_failures_stay_as_they_are),
		cmocka_unit_test(test_limits_grow_with_the_work),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
