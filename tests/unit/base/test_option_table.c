#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/option_table.h"

struct values {
	bool flag;
	uint64_t count;
	int choice;
	char text[OPTION_TEXT_SIZE];
};

#define AT(member) .offset = offsetof(struct values, member)
static const char *const words[] = { "one", "two", NULL };

#define FLAG                                                                                 \
	{                                                                                    \
		.name = "flag", .type = OPTION_FLAG, AT(flag), .fallback = "no", .help = "h" \
	}
#define COUNT                                                                                  \
	{                                                                                      \
		.name = "count", .type = OPTION_COUNT, AT(count), .fallback = "1", .help = "h" \
	}
#define TEXT                                                                               \
	{                                                                                  \
		.name = "text", .type = OPTION_TEXT, AT(text), .fallback = "", .help = "h" \
	}
#define CHOICE                                                                          \
	{                                                                               \
		.name = "choice", .type = OPTION_CHOICE, AT(choice), .fallback = "two", \
		.choices = words, .help = "h"                                           \
	}

static const struct {
	struct option_def defs[5];
	size_t size;
	const char *problem; /* NULL: there is none */
} cases[] = {
	{ { FLAG, COUNT, CHOICE, TEXT }, sizeof(struct values), NULL },
	{ { { .name = NULL } }, 0, NULL },
	{ { FLAG }, 0, "option flag lies outside" },
	{ { FLAG }, sizeof(bool), NULL },
	{ { COUNT }, offsetof(struct values, count) + 7, "option count lies outside" },
	{ { TEXT }, offsetof(struct values, text) + 8, "option text lies outside" },
	{ { COUNT, FLAG, COUNT }, sizeof(struct values), "option count is there twice" },
	{ { { .name = "count", .type = OPTION_COUNT, AT(count), .help = "h" } },
	  sizeof(struct values),
	  "option count has no default" },
	{ { { .name = "flag", .type = OPTION_FLAG, AT(flag), .fallback = "no" } },
	  sizeof(struct values),
	  "option flag has no .help" },
	{ { { .name = "choice", .type = OPTION_CHOICE, AT(choice), .fallback = "", .help = "h" } },
	  sizeof(struct values),
	  "option choice has no .choices" },
	{ { { .name = "odd", .type = (enum option_type)77, .fallback = "", .help = "h" } },
	  sizeof(struct values),
	  "option odd has no known type" },
	{ { { .name = "count", .type = OPTION_COUNT, AT(count), .fallback = "many", .help = "h" } },
	  sizeof(struct values),
	  "default of count" },
};

static void test_tables(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = { 0 };
		int result = option_table_check(cases[i].defs, cases[i].size, &err);
		if (!cases[i].problem) {
			assert_int_equal(result, 0);
			continue;
		}
		assert_int_equal(result, -1);
		assert_int_equal(err.kind, ERROR_CONFIG);
		if (!strstr(err.message, cases[i].problem))
			fail_msg("'%s' instead of '%s'", err.message, cases[i].problem);
	}
	assert_int_equal(option_table_check(NULL, 0, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_tables) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
