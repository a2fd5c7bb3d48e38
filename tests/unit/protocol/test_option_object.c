#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/protocol/message.h"
#include "harness/protocol/option_object.h"

struct values {
	bool flag;
	uint64_t count, size;
	double number;
	int choice;
	char text[OPTION_TEXT_SIZE], list[OPTION_TEXT_SIZE];
};

static const char *const colours[] = { "red", "green", NULL };

#define VALUE(member) .offset = offsetof(struct values, member)
static const struct option_def table[] = {
	{ .name = "flag", .type = OPTION_FLAG, VALUE(flag), .fallback = "no" },
	{ .name = "count", .type = OPTION_COUNT, VALUE(count), .fallback = "1" },
	{ .name = "size", .type = OPTION_SIZE, VALUE(size), .fallback = "1MiB" },
	{ .name = "number", .type = OPTION_NUMBER, VALUE(number), .fallback = "0.5" },
	{ .name = "choice",
	  .type = OPTION_CHOICE,
	  VALUE(choice),
	  .fallback = "red",
	  .choices = colours },
	{ .name = "text", .type = OPTION_TEXT, VALUE(text), .fallback = "" },
	{ .name = "list", .type = OPTION_LIST, VALUE(list), .fallback = "" },
	{ 0 },
};

/* What a line of key=value,key=value cannot carry. */
static void test_there_and_back(void **state)
{
	(void)state;
	static const char *const texts[] = { "cubic,block=4KiB", "\xff",  "X,links=skip", "a=b",
					     " in blanks ",      "\\xff", "\n",           "" };
	/* Blanks are no part of a list. */
	static const char *const lists[] = { "a,b", "\xff", "+a,b", "a=b", "", "\\xff", "^a", "x" };
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct values sent = { .flag = true,
				       .count = UINT64_MAX,
				       .size = 1000,
				       .number = 1.0 / 3,
				       .choice = 1 };
		struct values got = { 0 };
		struct error err = { 0 };
		text_copy(sent.text, sizeof(sent.text), texts[i]);
		text_copy(sent.list, sizeof(sent.list), lists[i]);
		json_t *object = option_object(table, &sent);
		if (option_object_read(object, table, &got, &err) < 0)
			fail_msg("%s", err.message);
		assert_true(got.flag && got.count == UINT64_MAX && got.size == 1000);
		assert_true(got.number == sent.number);
		assert_int_equal(got.choice, 1);
		assert_string_equal(got.text, texts[i]);
		assert_string_equal(got.list, lists[i]);
		json_decref(object);
	}
}

static void test_nothing_is_filled_in(void **state)
{
	(void)state;
	struct values values = { 0 };
	for (const struct option_def *def = table; def->name; def++) {
		struct error err = { 0 };
		AUTO_TEXT wanted = { 0 };
		json_t *object = option_object(table, &values);
		json_object_del(object, def->name);
		text_addf(&wanted, "the option '%s' is missing", def->name);
		assert_int_equal(option_object_read(object, table, &values, &err), -1);
		assert_int_equal(err.kind, ERROR_PEER);
		assert_string_equal(err.message, text_string(&wanted));
		json_decref(object);
	}
}

static void test_what_is_wrong_is_named(void **state)
{
	(void)state;
	static const struct {
		const char *key, *value, *part;
	} cases[] = {
		{ "count", "many", "count = many" },
		{ "choice", "blue", "choice = blue" },
		{ "colour", "red", "unknown option 'colour'" },
	};
	struct values values = { 0 };
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = { 0 };
		json_t *object = option_object(table, &values);
		message_put_text(object, cases[i].key, cases[i].value);
		assert_int_equal(option_object_read(object, table, &values, &err), -1);
		assert_int_equal(err.kind, ERROR_CONFIG);
		assert_non_null(strstr(err.message, cases[i].part));
		json_decref(object);
	}
	json_t *none = option_object(NULL, NULL);
	assert_int_equal(option_object_read(none, NULL, NULL, NULL), 0);
	json_decref(none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_nothing_is_filled_in),
		cmocka_unit_test(test_what_is_wrong_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
