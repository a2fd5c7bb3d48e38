#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "harness/base/cleanup.h"
#include "harness/protocol/message.h"
#include "tests/unit/processes.h"

static int pair[2];

static int open_pair(void **state)
{
	(void)state;
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair);
}

static int close_pair(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pair); i++)
		if (pair[i] >= 0)
			close(pair[i]);
	return 0;
}

static void hang_up(void)
{
	close(pair[0]);
	pair[0] = -1;
}

static void put(const void *bytes, size_t count)
{
	assert_int_equal(write(pair[0], bytes, count), count);
}

/* A message as it goes over the wire, whatever its lengths claim; returns how long it is. */
static size_t build(unsigned char *to, uint32_t json_length, uint32_t bytes_length,
		    const char *json, const char *bytes)
{
	uint32_t sizes[2] = { htonl(json_length), htonl(bytes_length) };
	memcpy(to, "LF2\n", 4);
	memcpy(to + 4, sizes, sizeof(sizes));
	memcpy(to + 12, json, strlen(json));
	memcpy(to + 12 + strlen(json), bytes, strlen(bytes));
	return 12 + strlen(json) + strlen(bytes);
}

static void test_format_on_the_wire(void **state)
{
	(void)state;
	static const char wanted[] = "LF2\n\0\0\0\x0e\0\0\0\3{\"a\":\"b\\\\x0a\"}xyz";
	char seen[64];
	char bytes[] = "xyz";
	struct message message = { .json = json_pack("{s:s}", "a", "b\n"),
				   .bytes = bytes,
				   .bytes_count = 3 };
	assert_int_equal(message_send(pair[0], &message, within(10), NULL), 0);
	json_decref(message.json);
	assert_int_equal(read(pair[1], seen, sizeof(seen)), sizeof(wanted) - 1);
	assert_memory_equal(seen, wanted, sizeof(wanted) - 1);
}

static void test_there_and_back(void **state)
{
	(void)state;
	static const size_t sizes[] = { 0, 1, 70000 };
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		AUTO_MESSAGE got = { 0 };
		AUTO_FREE unsigned char *bytes = calloc(1, sizes[i] + 1);
		for (size_t j = 0; j < sizes[i]; j++)
			bytes[j] = (unsigned char)(j * 31);
		struct message sent = { .json = json_pack("{s:i,s:s}", "n", 7, "s", "\xc3\xa4"),
					.bytes = bytes,
					.bytes_count = sizes[i] };
		assert_int_equal(message_send(pair[0], &sent, within(10), NULL), 0);
		assert_int_equal(message_receive(pair[1], &got, within(10), NULL), 1);
		assert_true(json_equal(sent.json, got.json));
		assert_int_equal(got.bytes_count, sizes[i]);
		if (sizes[i])
			assert_memory_equal(got.bytes, bytes, sizes[i]);
		else
			assert_null(got.bytes);
		json_decref(sent.json);
	}
}

/* The largest that is allowed, which no socket buffer holds: both ends must take turns. */
static void test_largest(void **state)
{
	(void)state;
	AUTO_FREE unsigned char *bytes = calloc(1, MESSAGE_BYTES_MAX + 1);
	AUTO_FREE char *string = malloc(MESSAGE_JSON_MAX);
	memset(string, 'x', MESSAGE_JSON_MAX);
	string[MESSAGE_JSON_MAX - strlen("{\"a\":\"\"}")] = '\0';
	struct message sent = { .json = json_pack("{s:s}", "a", string),
				.bytes = bytes,
				.bytes_count = MESSAGE_BYTES_MAX };
	bytes[MESSAGE_BYTES_MAX - 1] = 0x5a;
	pid_t pid = fork();
	if (pid == 0) {
		AUTO_MESSAGE got = { 0 };
		bool same = message_receive(pair[1], &got, within(60), NULL) == 1 &&
			    json_equal(sent.json, got.json) &&
			    got.bytes_count == MESSAGE_BYTES_MAX &&
			    memcmp(got.bytes, bytes, MESSAGE_BYTES_MAX) == 0;
		_exit(same ? 0 : 1);
	}
	int status = -1;
	assert_int_equal(message_send(pair[0], &sent, within(60), NULL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	struct error err = { 0 };
	sent.bytes_count = MESSAGE_BYTES_MAX + 1;
	assert_int_equal(message_send(pair[0], &sent, within(10), &err), -1);
	assert_int_equal(err.kind, ERROR_SYSTEM);
	sent.bytes_count = 0;
	json_object_set_new(sent.json, "b", json_integer(1));
	assert_int_equal(message_send(pair[0], &sent, within(10), &err), -1);
	json_decref(sent.json);
	char nothing;
	assert_int_equal(read(pair[1], &nothing, 1), -1); /* refused before a byte went out */
}

/* In names and values, at any depth. */
static void test_any_bytes_travel(void **state)
{
	(void)state;
	AUTO_MESSAGE got = { 0 };
	char bytes[256];
	for (int i = 0; i < 255; i++)
		bytes[i] = (char)(i + 1);
	bytes[255] = '\0';
	struct message sent = { .json = message_object() };
	json_t *inner = message_object();
	json_t *list = message_list();
	message_append_text(list, "\xff");
	message_append_text(list, "\\xff");
	message_put_text(inner, bytes, "a\xc3\xa4\xed\xa0\x80");
	message_put_text(sent.json, "bytes", bytes);
	message_put(sent.json, "inner", inner);
	message_put(sent.json, "list", list);
	assert_int_equal(message_send(pair[0], &sent, within(10), NULL), 0);
	assert_int_equal(message_receive(pair[1], &got, within(10), NULL), 1);
	assert_string_equal(message_text(got.json, "bytes"), bytes);
	assert_true(json_equal(sent.json, got.json));
	message_free(&sent);
}

static const struct {
	uint32_t json_length, bytes_length;
	const char *json, *bytes;
	const char *message; /* NULL: it is fine */
} wires[] = {
	{ 2, 0, "{}", "", NULL },
	{ 2, 3, "{}", "xyz", NULL },
	{ 9, 0, "{\"a\":[1]}", "", NULL },
	{ 0, 0, "", "", "a message is not JSON: " },
	{ 1, 0, "{", "", "a message is not JSON: " },
	{ 4, 0, "{} x", "", "a message is not JSON: " },
	{ 2, 0, "[]", "", "a message is not a JSON object" },
	{ 4, 0, "null", "", "a message is not JSON: " },
	{ 13, 0, "{\"a\":1,\"a\":2}", "", "a message is not JSON: duplicate object key" },
	{ 9, 0, "{\"a\":\"\xff\"}", "", "a message is not JSON: " },
	{ 14, 0, "{\"a\":\"\\u0000\"}", "", "a message is not JSON: " },
	{ 12, 0, "{\"a\":\"\\\\\\\\\"}", "", NULL },
	{ 12, 0, "{\"a\":\"\\\\xf\"}", "", "a message has a wrong escape in a text" },
	{ 13, 0, "{\"a\":\"\\\\x00\"}", "", "a message has a wrong escape in a text" },
	{ 13, 0, "{\"a\":\"\\\\xFF\"}", "", "a message has a wrong escape in a text" },
	{ 11, 0, "{\"a\":\"\\\\n\"}", "", "a message has a wrong escape in a text" },
	{ 9, 0, "{\"a\\\\\":1}", "", "a message has a wrong escape in a text" },
	{ 17, 0, "{\"a\":1,\"\\\\x61\":2}", "", "a message has a wrong escape in a text" },
	{ 11, 0, "{\"a\":1e999}", "", "a message is not JSON: real number overflow" },
	{ UINT32_MAX, 0, "{}", "", "a message is too long: 4294967295 and 0 bytes" },
	{ 2, UINT32_MAX, "{}", "", "a message is too long: 2 and 4294967295 bytes" },
	{ MESSAGE_JSON_MAX + 1, 0, "{}", "", "a message is too long: 4194305 and 0 bytes" },
	{ 2, MESSAGE_BYTES_MAX + 1, "{}", "", "a message is too long: 2 and 8388609 bytes" },
};

static void assert_outcome(size_t i, int outcome, int fine, const struct error *err)
{
	if (!wires[i].message && outcome != fine)
		fail_msg("%zu: %s", i, err->message);
	if (!wires[i].message)
		return;
	assert_int_equal(outcome, -1);
	assert_int_equal(err->kind, ERROR_PEER);
	if (strncmp(err->message, wires[i].message, strlen(wires[i].message)) != 0)
		assert_string_equal(err->message, wires[i].message);
}

static void test_hostile_messages(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wires); i++) {
		unsigned char wire[128];
		AUTO_MESSAGE parsed = { 0 };
		AUTO_MESSAGE received = { 0 };
		struct error err = { 0 };
		size_t count = build(wire, wires[i].json_length, wires[i].bytes_length,
				     wires[i].json, wires[i].bytes);
		assert_outcome(i, message_parse(wire, count, &parsed, &err), 0, &err);
		assert_int_equal(open_pair(NULL), 0);
		put(wire, count);
		assert_outcome(i, message_receive(pair[1], &received, within(10), &err), 1, &err);
		close_pair(NULL);
		if (!wires[i].message)
			assert_int_equal(received.bytes_count, wires[i].bytes_length);
		else
			assert_true(!parsed.json && !received.json);
	}
	assert_int_equal(open_pair(NULL), 0);
}

static void test_another_protocol(void **state)
{
	(void)state;
	static const char banner[] = "Welcome to this host!\n";
	AUTO_MESSAGE message = { 0 };
	struct error err = { 0 };
	put(banner, sizeof(banner));
	assert_int_equal(message_receive(pair[1], &message, within(10), &err), -1);
	assert_int_equal(err.kind, ERROR_PEER);
	assert_non_null(strstr(err.message, "is something printed when it starts?"));
}

/* Every length that is cut short, in memory and on a stream, is an error; nothing is none. */
static void test_cut_short(void **state)
{
	(void)state;
	unsigned char wire[64];
	size_t count = build(wire, 2, 3, "{}", "xyz");
	for (size_t length = 0; length < count; length++) {
		AUTO_FREE unsigned char *exact = malloc(length + (length == 0));
		struct message message;
		struct error err = { 0 };
		memcpy(exact, wire, length);
		assert_int_equal(message_parse(exact, length, &message, &err), -1);
		assert_int_equal(err.kind, ERROR_PEER);
		close_pair(NULL);
		assert_int_equal(open_pair(NULL), 0);
		put(wire, length);
		hang_up();
		assert_int_equal(message_receive(pair[1], &message, within(10), &err),
				 length == 0 ? 0 : -1);
		assert_null(message.json);
		if (length > 0)
			assert_int_equal(err.kind, ERROR_PEER);
	}
	unsigned char longer[65];
	struct message message;
	memcpy(longer, wire, count);
	longer[count] = 'x';
	assert_int_equal(message_parse(longer, count + 1, &message, NULL), -1);
}

static void test_silence(void **state)
{
	(void)state;
	struct message message;
	struct error err = { 0 };
	assert_int_equal(message_receive(pair[1], &message, within(0.02), &err), -1);
	assert_int_equal(err.kind, ERROR_TIMEOUT);
	put("LF2\n\0\0", 6);
	assert_int_equal(message_receive(pair[1], &message, within(0.02), &err), -1);
	assert_int_equal(err.kind, ERROR_TIMEOUT);
}

static void test_errors_there_and_back(void **state)
{
	(void)state;
	for (int kind = ERROR_NONE + 1; kind < ERROR_KINDS; kind++) {
		struct error sent = { .kind = (enum error_kind)kind, .code = -kind };
		struct error got = { 0 };
		strcpy(sent.message, "text with \"quotes\", \n and \xff");
		struct message message = { .json = message_from_error(&sent) };
		assert_non_null(message.json);
		assert_int_equal(message_to_error(&message, &got), -1);
		assert_int_equal(got.kind, sent.kind);
		assert_int_equal(got.code, sent.code);
		assert_string_equal(got.message, "text with \"quotes\", \\x0a and \\xff");
		message_free(&message);
	}
}

static void test_strange_errors(void **state)
{
	(void)state;
	static const struct {
		const char *json;
		int outcome;
		enum error_kind kind;
	} cases[] = {
		{ "{}", 0, ERROR_NONE },
		{ "{\"error\":null}", -1, ERROR_PEER },
		{ "{\"error\":{}}", -1, ERROR_PEER },
		{ "{\"error\":\"x\"}", -1, ERROR_PEER },
		{ "{\"error\":{\"kind\":\"none\",\"code\":0,\"message\":\"x\"}}", -1, ERROR_PEER },
		{ "{\"error\":{\"kind\":\"flood\",\"code\":1,\"message\":\"\"}}", -1, ERROR_PEER },
		{ "{\"error\":{\"kind\":7,\"code\":\"x\",\"message\":[]}}", -1, ERROR_PEER },
		{ "{\"error\":{\"kind\":\"timeout\",\"code\":0,\"message\":\"%s%n\"}}", -1,
		  ERROR_TIMEOUT },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct message reply = { .json = json_loads(cases[i].json, 0, NULL) };
		struct error err = { 0 };
		assert_non_null(reply.json);
		assert_int_equal(message_to_error(&reply, &err), cases[i].outcome);
		assert_int_equal(err.kind, cases[i].kind);
		assert_true(cases[i].outcome == 0 || err.message[0]);
		message_free(&reply);
	}
}

static void test_members(void **state)
{
	(void)state;
	json_t *object = message_object();
	message_put_text(object, "text", "word");
	message_put_whole(object, "whole", INT64_MIN);
	message_put_real(object, "real", 0.5);
	message_put_real(object, "unknown", NAN);
	message_put_flag(object, "flag", true);
	message_put(object, "list", message_list());
	assert_string_equal(message_text(object, "text"), "word");
	assert_string_equal(message_text_or(object, "text", "x"), "word");
	assert_string_equal(message_text_or(object, "none", "x"), "x");
	assert_true(message_whole(object, "whole") == INT64_MIN);
	assert_int_equal(message_whole_or(object, "none", 9), 9);
	assert_true(message_real(object, "real") == 0.5);
	assert_true(message_real_or(object, "unknown", 7) == 7);
	assert_true(message_flag(object, "flag"));
	assert_ptr_equal(message_member(object, "list"), json_object_get(object, "list"));
	assert_int_equal(json_object_size(object), 5);
	json_decref(object);
}

/* A user of the table who asks for what it does not promise is told at once. */
static void test_a_member_that_is_not_there(void **state)
{
	(void)state;
	static const char *const objects[] = { "{}", "{\"a\": 3}", "{\"a\": null}" };
	for (size_t i = 0; i < ARRAY_SIZE(objects); i++) {
		int status = 0;
		pid_t pid = fork();
		if (pid == 0) {
			close(STDERR_FILENO);
			_exit(message_text(json_loads(objects[i], 0, NULL), "a") ? 0 : 1);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	}
}

#define WITH_PAIR(test) cmocka_unit_test_setup_teardown(test, open_pair, close_pair)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_PAIR(test_format_on_the_wire),
		WITH_PAIR(test_there_and_back),
		WITH_PAIR(test_largest),
		WITH_PAIR(test_any_bytes_travel),
		cmocka_unit_test_teardown(test_hostile_messages, close_pair),
		WITH_PAIR(test_another_protocol),
		WITH_PAIR(test_cut_short),
		WITH_PAIR(test_silence),
		cmocka_unit_test(test_errors_there_and_back),
		cmocka_unit_test(test_strange_errors),
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_a_member_that_is_not_there),
	};
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
