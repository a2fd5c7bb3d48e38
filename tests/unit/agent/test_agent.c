/* A whole agent in a process of its own; the test is its controller, message by message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "harness/agent/agent.h"
#include "harness/agent/workspace.h"
#include "harness/base/cleanup.h"
#include "harness/protocol/message.h"
#include "harness/protocol/request.h"
#include "tests/unit/processes.h"
#include "tests/unit/tree_folder.h"
#include "transports/catalog.h"

static pid_t agent;
static int line; /* to the agent */

static int start_agent(void **state)
{
	int ends[2];
	if (tree_folder_make(state) < 0 || setenv("TMPDIR", tree_folder, 1) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
		return -1;
	agent = fork();
	if (agent == 0) {
		struct error err = { 0 };
		close(ends[0]);
		_exit(agent_serve(ends[1], ends[1], "test", &err) < 0 ? 1 : 0);
	}
	close(ends[1]);
	line = ends[0];
	return agent > 0 ? 0 : -1;
}

static void hang_up(void)
{
	if (line >= 0)
		close(line);
	line = -1;
}

/* Nothing of the agent's is left in its folders. */
static bool nothing_left(void)
{
	bool empty = false;
	return folder_is_empty(tree_folder, &empty, NULL) == 0 && empty;
}

static void assert_ended(int wanted)
{
	int status = -1;
	assert_int_equal(waitpid(agent, &status, 0), agent);
	agent = 0;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), wanted);
	assert_true(nothing_left());
}

static int end_agent(void **state)
{
	hang_up();
	if (agent > 0)
		waitpid(agent, NULL, 0);
	return tree_folder_drop(state) == 0 ? processes_check(state) : -1;
}

/* ---- asking ---- */

static void send_json(json_t *json)
{
	struct message message = { .json = json };
	assert_int_equal(message_send(line, &message, within(60), NULL), 0);
	json_decref(json);
}

static struct message hear(void)
{
	struct message reply;
	struct error err = { 0 };
	if (message_receive(line, &reply, within(60), &err) != 1)
		fail_msg("no answer: %s", err.message);
	return reply;
}

/* The answer, as the table has it; err tells which error it carries. */
static struct message ask(enum request request, json_t *members, struct error *err)
{
	*err = (struct error){ 0 };
	request_finish(members, request, 60);
	send_json(members);
	struct message reply = hear();
	struct error wrong = { 0 };
	if (request_check_answer(request, reply.json, &wrong) < 0)
		fail_msg("%s", wrong.message);
	if (message_to_error(&reply, err) < 0)
		assert_true(err->message[0]);
	return reply;
}

static void assert_refused(json_t *question, const char *part)
{
	struct error err = { 0 };
	send_json(question);
	AUTO_MESSAGE reply = hear();
	assert_int_equal(message_to_error(&reply, &err), -1);
	assert_int_equal(err.kind, ERROR_PEER);
	if (!strstr(err.message, part))
		assert_string_equal(err.message, part);
}

static json_t *hello(const char *side)
{
	json_t *members = message_object();
	request_introduce(members);
	message_put_text(members, "side", side);
	message_put(members, "tools", message_list());
	return members;
}

static void greet(const char *side)
{
	struct error err;
	AUTO_MESSAGE reply = ask(REQUEST_HELLO, hello(side), &err);
	assert_string_equal(err.message, "");
	assert_int_equal(message_whole(message_member(reply.json, "facts"), "user_id"), geteuid());
}

static json_t *workspace(void)
{
	json_t *members = message_object();
	message_put_text(members, "location", tree_folder);
	message_put_text(members, "preserve", "mode");
	return members;
}

static void make_folders(void)
{
	struct error err;
	AUTO_MESSAGE reply = ask(REQUEST_WORKSPACE, workspace(), &err);
	assert_string_equal(err.message, "");
	const char *data = message_text(reply.json, "data");
	assert_int_equal(strncmp(data, tree_folder, strlen(tree_folder)), 0);
}

/* So many files of 1 MiB. */
static json_t *dataset(const char *count)
{
	json_t *members = message_object();
	json_t *options = json_pack("{s:s,s:s,s:s,s:s}", "files", count, "size", "1MiB",
				    "per-folder", "100", "compressible", "0");
	message_put_text(members, "recipe", "small-files");
	message_put(members, "options", options);
	message_put_text(members, "seed", "18446744073709551615");
	return members;
}

/* ---- tests ---- */

static void test_hello_comes_first(void **state)
{
	(void)state;
	struct error err;
	AUTO_MESSAGE reply = ask(REQUEST_WORKSPACE, workspace(), &err);
	assert_string_equal(err.message, "the request 'workspace' came before 'hello'");
	json_t *other = hello("sink");
	message_put_text(other, "version", "0.0.0");
	request_finish(other, REQUEST_HELLO, 60);
	assert_refused(other, "install the same one at both ends");
	greet("sink");
	make_folders();
	hang_up();
	assert_ended(0);
}

/* It says what is wrong, and serves on. */
static void test_requests_that_are_none(void **state)
{
	(void)state;
	greet("source");
	assert_refused(json_pack("{s:i}", "a", 1), "a request lacks 'do'");
	assert_refused(json_pack("{s:s}", "do", "dance"), "unknown request 'dance'");
	assert_refused(json_pack("{s:s}", "do", "bye"),
		       "the request 'bye': 'deadline_s' is missing");
	assert_refused(json_pack("{s:s,s:f}", "do", "cache", "deadline_s", 1.0),
		       "the request 'cache': 'mode' is missing");
	assert_refused(
		json_pack("{s:s,s:f,s:i}", "do", "shares", "deadline_s", 1.0, "instances", 65),
		"the request 'shares': 'instances': 65 is out of range");
	make_folders();
}

/* Without what must come before it. */
static void test_requests_out_of_order(void **state)
{
	(void)state;
	static const enum request requests[] = { REQUEST_RUN, REQUEST_VERIFY };
	greet("source");
	make_folders();
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		struct error err;
		json_t *members = message_object();
		if (requests[i] == REQUEST_VERIFY)
			message_put_text(members, "preserve", "mode");
		AUTO_MESSAGE reply = ask(requests[i], members, &err);
		assert_int_equal(err.kind, ERROR_PEER);
	}
}

static void test_bytes_that_are_no_message(void **state)
{
	(void)state;
	greet("source");
	make_folders();
	assert_int_equal(write(line, "Welcome to this host!\n", 22), 22);
	assert_ended(1);
}

static void test_a_dataset_and_its_shares(void **state)
{
	(void)state;
	struct error err;
	greet("source");
	make_folders();
	AUTO_MESSAGE made = ask(REQUEST_DATASET, dataset("3"), &err);
	assert_string_equal(err.message, "");
	const json_t *manifest = message_member(made.json, "manifest");
	assert_int_equal(message_whole(manifest, "files"), 3);
	assert_int_equal(message_whole(manifest, "bytes"), 3 << 20);
	AUTO_MESSAGE piece = ask(REQUEST_MANIFEST_READ, json_pack("{s:i}", "offset", 0), &err);
	assert_int_equal(piece.bytes_count, message_whole(manifest, "manifest_bytes"));
	AUTO_MESSAGE shares = ask(REQUEST_SHARES, json_pack("{s:i}", "instances", 2), &err);
	assert_string_equal(err.message, "");
	const json_t *roots = message_member(shares.json, "roots");
	assert_int_equal(json_array_size(roots), 2);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(access(json_string_value(json_array_get(roots, i)), F_OK), 0);
	AUTO_MESSAGE bye = ask(REQUEST_BYE, message_object(), &err);
	assert_ended(0);
}

static void test_a_wrong_option_is_named(void **state)
{
	(void)state;
	struct error err;
	json_t *members = dataset("many");
	greet("source");
	make_folders();
	AUTO_MESSAGE wrong = ask(REQUEST_DATASET, members, &err);
	assert_int_equal(err.kind, ERROR_CONFIG);
	assert_non_null(strstr(err.message, "files = many"));
	members = dataset("3");
	json_object_del((json_t *)message_member(members, "options"), "size");
	AUTO_MESSAGE missing = ask(REQUEST_DATASET, members, &err);
	assert_string_equal(err.message, "the option 'size' is missing");
}

/* Whatever is said while it works means stop; what it was doing is undone, and it serves on. */
static void test_cancel(void **state)
{
	(void)state;
	struct error err;
	greet("source");
	make_folders();
	json_t *members = dataset("100000");
	json_t *stop = message_object();
	request_finish(members, REQUEST_DATASET, 600);
	send_json(members);
	request_finish(stop, REQUEST_CANCEL, 60);
	send_json(stop);
	AUTO_MESSAGE reply = hear();
	assert_int_equal(message_to_error(&reply, &err), -1);
	assert_int_equal(err.kind, ERROR_CANCELLED);
	AUTO_MESSAGE made = ask(REQUEST_DATASET, dataset("2"), &err);
	assert_string_equal(err.message, "");
	/* One that comes too late is nothing. */
	stop = message_object();
	request_finish(stop, REQUEST_CANCEL, 60);
	send_json(stop);
	AUTO_MESSAGE shares = ask(REQUEST_SHARES, json_pack("{s:i}", "instances", 1), &err);
	hang_up();
	assert_ended(0);
}

/* In the midst of work: it stops, and undoes all. */
static void test_controller_is_gone(void **state)
{
	(void)state;
	greet("source");
	make_folders();
	json_t *members = dataset("100000");
	request_finish(members, REQUEST_DATASET, 600);
	send_json(members);
	hang_up();
	/* It has nobody to answer to, which is an error of its own. */
	int status = -1;
	assert_int_equal(waitpid(agent, &status, 0), agent);
	agent = 0;
	assert_true(WIFEXITED(status));
	assert_true(nothing_left());
}

#define AGENT_TEST(test) cmocka_unit_test_setup_teardown(test, start_agent, end_agent)

int main(void)
{
	const struct CMUnitTest tests[] = {
		AGENT_TEST(test_hello_comes_first),
		AGENT_TEST(test_requests_that_are_none),
		AGENT_TEST(test_requests_out_of_order),
		AGENT_TEST(test_bytes_that_are_no_message),
		AGENT_TEST(test_a_dataset_and_its_shares),
		AGENT_TEST(test_a_wrong_option_is_named),
		AGENT_TEST(test_cancel),
		AGENT_TEST(test_controller_is_gone),
	};
	signal(SIGPIPE, SIG_IGN);
	catalog_load();
	return cmocka_run_group_tests(tests, processes_adopt, processes_check);
}
