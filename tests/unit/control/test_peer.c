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
	const char *json; /* said instead of an error */
};

_Noreturn static void play_agent(int fd, const struct script *script)
{
	const struct io_limit *limit = within(60);
	struct message heard = { 0 };
	for (int i = 0; i < (script->at_once ? 1 : 2); i++)
		if (message_receive(fd, &heard, limit, NULL) <= 0)
			_exit(1);
	struct error said = { 0 };
	error_set(&said, script->kind, 0, "%s", script->message);
	struct message reply = { .json = script->json ? json_loads(script->json, 0, NULL)
						      : message_from_error(&said) };
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
	if (peer->fd >= 0)
		close(peer->fd);
	message_free(&peer->reply);
}

static void test_who_takes_too_long_and_at_what(void **state)
{
	(void)state;
	static const struct {
		enum request what;
		struct script script;
		const char *message;
	} cases[] = {
		{ REQUEST_VERIFY,
		  { ERROR_CANCELLED, "stopped on request", false, NULL },
		  "the sink agent took too long while verifying the copy" },
		{ REQUEST_DATASET,
		  { ERROR_TIMEOUT, "single: no answer before the deadline", true, NULL },
		  "the sink agent took too long while making the dataset: single: no answer before "
		  "the deadline" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error err = { 0 };
		struct peer peer = start(XFER_SINK, &cases[i].script);
		/* Ours ends 10 s after the agent's. */
		double seconds = cases[i].script.at_once ? 60 : -9.9;
		assert_int_equal(peer_ask(&peer, cases[i].what, NULL, seconds, NULL, &err), -1);
		assert_string_equal(err.message, cases[i].message);
		assert_int_equal(err.kind, ERROR_TIMEOUT);
		end(&peer);
	}
}

static void test_other_failures_stay_as_they_are(void **state)
{
	(void)state;
	const struct script script = { ERROR_SYSTEM, "the disk is full", true, NULL };
	struct error err = { 0 };
	struct peer peer = start(XFER_SOURCE, &script);
	assert_int_equal(peer_ask(&peer, REQUEST_DATASET, NULL, 60, NULL, &err), -1);
	assert_string_equal(err.message, "the disk is full");
	assert_int_equal(err.kind, ERROR_SYSTEM);
	end(&peer);
}

/* What an agent says instead of what the table has. */
static void test_answers_that_are_none(void **state)
{
	(void)state;
	static const struct {
		enum request what;
		const char *json, *message;
	} cases[] = {
		{ REQUEST_VERIFY, "{}", "sink: the answer to 'verify': 'bytes' is missing" },
		{ REQUEST_VERIFY, "{\"bytes\": \"7\"}",
		  "sink: the answer to 'verify': 'bytes': a whole number is expected" },
		{ REQUEST_VERIFY, "{\"bytes\": -7}",
		  "sink: the answer to 'verify': 'bytes': -7 is out of range" },
		{ REQUEST_END_RUN, "{\"bytes\": 7}",
		  "sink: the answer to 'end-run': 'bytes' is not known" },
		{ REQUEST_RUN, "{\"error\": {\"kind\": \"tool\"}}",
		  "sink: the answer to 'run': 'error': 'code' is missing" },
		{ REQUEST_HELLO, "{\"protocol\": 1, \"version\": \"0.0.1\"}",
		  "sink: the other end is linefill 0.0.1 (protocol 1), this one is linefill " },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error err = { 0 };
		const struct script script = { .json = cases[i].json, .at_once = true };
		struct peer peer = start(XFER_SINK, &script);
		assert_int_equal(peer_ask(&peer, cases[i].what, NULL, 60, NULL, &err), -1);
		if (strncmp(err.message, cases[i].message, strlen(cases[i].message)) != 0)
			assert_string_equal(err.message, cases[i].message);
		assert_int_equal(err.kind, ERROR_PEER);
		assert_null(peer.reply.json);
		end(&peer);
	}
}

/* Whoever of several is dead: nobody keeps the reply of an earlier request. */
static void test_no_stale_reply(void **state)
{
	(void)state;
	const struct script script = { .json = "{\"bytes\": 7, \"data_bytes\": 7}",
				       .at_once = true };
	for (int dead = 0; dead < 2; dead++) {
		struct error err = { 0 };
		struct peer peers[] = { start(XFER_SINK, &script), start(XFER_SOURCE, &script) };
		struct peer *both[] = { &peers[0], &peers[1] };
		const struct peer_question question = { .what = REQUEST_VERIFY, .seconds = 60 };
		for (int i = 0; i < 2; i++)
			peers[i].reply.json = json_pack("{s:i}", "bytes", 1);
		peer_kill(&peers[dead], "for the test");
		assert_int_equal(peer_ask_all(both, 2, &question, NULL, &err), -1);
		assert_string_equal(err.message, dead == 0 ? "the sink agent is gone"
							   : "the source agent is gone");
		assert_null(peers[dead].reply.json);
		assert_int_equal(message_whole(peers[1 - dead].reply.json, "bytes"), 7);
		for (int i = 0; i < 2; i++)
			end(&peers[i]);
	}
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
		cmocka_unit_test(test_answers_that_are_none),
		cmocka_unit_test(test_no_stale_reply),
		cmocka_unit_test(test_limits_grow_with_the_work),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
