#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/text.h"
#include "harness/protocol/message.h"
#include "harness/protocol/request.h"

static json_t *parse(const char *json)
{
	json_error_t problem;
	json_t *object = json_loads(json, 0, &problem);
	if (!object)
		fail_msg("%s: %s", problem.text, json);
	return object;
}

/* A question with all that "prepare" needs. */
static json_t *prepare(void)
{
	json_t *question = parse(
		"{\"transport\": \"tcp\", \"options\": {\"block\": \"8KiB\"}, \"preserve\": "
		"\"mode\","
		" \"timeout_s\": 600, \"flush\": false, \"open_listener\": false,"
		" \"bind_host\": \"127.0.0.1\", \"peer_host\": \"127.0.0.1\", \"token\": \"00\","
		" \"release_memory\": \"at-go\","
		" \"tokens\": [\"00\"], \"source_roots\": [\"/a\"], \"sink_roots\": [\"/b\"],"
		" \"endpoints\": [{\"host\": \"127.0.0.1\", \"port\": 0}],"
		" \"link\": {\"host\": \"127.0.0.1\", \"port\": 65535}}");
	request_finish(question, REQUEST_PREPARE, 60);
	return question;
}

static bool may_be_left_out(const char *key)
{
	return strcmp(key, "endpoints") == 0 || strcmp(key, "link") == 0;
}

/* Nothing has a default. */
static void test_each_member_is_missed(void **state)
{
	(void)state;
	json_t *whole = prepare();
	const char *key;
	json_t *value;
	json_object_foreach(whole, key, value)
	{
		struct error err = { 0 };
		enum request request = REQUESTS;
		AUTO_TEXT wanted = { 0 };
		json_t *question = json_copy(whole);
		json_object_del(question, key);
		int outcome = request_check_question(question, &request, &err);
		json_decref(question);
		if (may_be_left_out(key)) {
			assert_int_equal(outcome, 0);
			continue;
		}
		assert_int_equal(outcome, -1);
		assert_int_equal(err.kind, ERROR_PEER);
		text_addf(&wanted, "the request 'prepare': '%s' is missing", key);
		assert_string_equal(err.message, strcmp(key, "do") == 0 ? "a request lacks 'do'"
									: text_string(&wanted));
	}
	json_decref(whole);
}

static void test_each_member_has_its_type(void **state)
{
	(void)state;
	static const struct {
		const char *key, *value, *message;
	} cases[] = {
		{ "bind_host", "7", "the request 'prepare': 'bind_host': text is expected" },
		{ "bind_host", "null", "the request 'prepare': 'bind_host': text is expected" },
		{ "timeout_s", "\"600\"",
		  "the request 'prepare': 'timeout_s': a number is "
		  "expected" },
		{ "flush", "0", "the request 'prepare': 'flush': true or false is expected" },
		{ "tokens", "{}", "the request 'prepare': 'tokens': a list is expected" },
		{ "tokens", "[\"a\", 3]",
		  "the request 'prepare': 'tokens': item 2: text is expected" },
		{ "options", "\"block=8KiB\"",
		  "the request 'prepare': 'options': an object is expected" },
		{ "options", "{\"block\": 8}",
		  "the request 'prepare': 'options': 'block': text is expected" },
		{ "preserve", "\"most\"",
		  "the request 'prepare': 'preserve': 'most' is not one of its words" },
		{ "link", "{\"host\": \"::1\"}",
		  "the request 'prepare': 'link': 'port' is missing" },
		{ "link", "{\"host\": \"::1\", \"port\": 65536}",
		  "the request 'prepare': 'link': 'port': 65536 is out of range" },
		{ "endpoints", "[{\"host\": \"::1\", \"port\": -1}]",
		  "the request 'prepare': 'endpoints': item 1: 'port': -1 is out of range" },
		{ "colour", "1", "the request 'prepare': 'colour' is not known" },
		{ "deadline_s", "true",
		  "the request 'prepare': 'deadline_s': a number is "
		  "expected" },
		{ "do", "\"dance\"", "unknown request 'dance'" },
		{ "do", "3", "a request lacks 'do'" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = { 0 };
		enum request request = REQUESTS;
		json_t *question = prepare();
		json_object_set_new(question, cases[i].key,
				    json_loads(cases[i].value, JSON_DECODE_ANY, NULL));
		assert_int_equal(request_check_question(question, &request, &err), -1);
		assert_int_equal(err.kind, ERROR_PEER);
		assert_string_equal(err.message, cases[i].message);
		json_decref(question);
	}
}

static void test_what_is_right_passes(void **state)
{
	(void)state;
	struct error err = { 0 };
	enum request request = REQUESTS;
	json_t *question = prepare();
	assert_int_equal(request_check_question(question, &request, &err), 0);
	assert_int_equal(request, REQUEST_PREPARE);
	json_decref(question);
	for (int i = 0; i < REQUESTS; i++) {
		assert_true(request_name((enum request)i) && request_doing((enum request)i));
		question = message_object();
		request_finish(question, (enum request)i, 60);
		/* Those that carry nothing are complete, the others name what they lack. */
		if (request_check_question(question, &request, &err) < 0)
			assert_non_null(strstr(err.message, "is missing"));
		assert_int_equal(request, i);
		json_decref(question);
	}
}

static json_t *hello(void)
{
	json_t *question = parse("{\"side\": \"sink\", \"tools\": []}");
	request_introduce(question);
	request_finish(question, REQUEST_HELLO, 60);
	return question;
}

static void test_both_ends_are_one_program(void **state)
{
	(void)state;
	static const struct {
		const char *key, *value;
	} cases[] = { { "protocol", "1" }, { "protocol", "1000" }, { "version", "\"0.0.0\"" } };
	struct error err = { 0 };
	enum request request;
	json_t *question = hello();
	assert_int_equal(request_check_question(question, &request, &err), 0);
	json_decref(question);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		question = hello();
		json_object_set_new(question, cases[i].key,
				    json_loads(cases[i].value, JSON_DECODE_ANY, NULL));
		/* Whatever else it says or lacks. */
		json_object_set_new(question, "mood", json_true());
		json_object_del(question, "tools");
		assert_int_equal(request_check_question(question, &request, &err), -1);
		assert_int_equal(err.kind, ERROR_PEER);
		assert_non_null(strstr(err.message, "install the same one at both ends"));
		assert_int_equal(request_check_answer(REQUEST_HELLO, question, &err), -1);
		assert_non_null(strstr(err.message, "install the same one at both ends"));
		json_decref(question);
	}
}

static void test_answers(void **state)
{
	(void)state;
	static const struct {
		enum request request;
		const char *json, *message; /* NULL: it is right */
	} cases[] = {
		{ REQUEST_BYE, "{}", NULL },
		{ REQUEST_VERIFY, "{\"bytes\": 0, \"data_bytes\": 0}", NULL },
		{ REQUEST_CACHE, "{}", NULL },
		{ REQUEST_CACHE, "{\"resident_pct\": 3}", NULL },
		{ REQUEST_CACHE, "{\"resident_pct\": \"3\"}",
		  "the answer to 'cache': 'resident_pct': a number is expected" },
		{ REQUEST_PROBE, "{\"probes\": {\"a\": {\"version\": \"\"}, \"b\": {}}}", NULL },
		{ REQUEST_PROBE, "{\"probes\": {\"a\": {\"error\": {}}}}",
		  "the answer to 'probe': 'probes': 'a': 'error': 'kind' is missing" },
		{ REQUEST_VERIFY,
		  "{\"error\": {\"kind\": \"tool\", \"code\": -1, \"message\": \"\"}}", NULL },
		{ REQUEST_VERIFY,
		  "{\"error\": {\"kind\": \"tool\", \"code\": 9999999999, \"message\": \"\"}}",
		  "the answer to 'verify': 'error': 'code': 9999999999 is out of range" },
		{ REQUEST_VERIFY, "{\"error\": null}",
		  "the answer to 'verify': 'error': an object is expected" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = { 0 };
		json_t *answer = parse(cases[i].json);
		int outcome = request_check_answer(cases[i].request, answer, &err);
		assert_string_equal(err.message, cases[i].message ? cases[i].message : "");
		assert_int_equal(outcome, cases[i].message ? -1 : 0);
		json_decref(answer);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_member_is_missed),
		cmocka_unit_test(test_each_member_has_its_type),
		cmocka_unit_test(test_what_is_right_passes),
		cmocka_unit_test(test_both_ends_are_one_program),
		cmocka_unit_test(test_answers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
