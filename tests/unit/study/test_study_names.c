/* What cases are called, and which one is meant. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/cleanup.h"
#include "harness/study/study.h"

/* Names and labels are kept as rows show them, with whole letters: 127 bytes fit. */
static void test_odd_and_long_names(void **state)
{
	(void)state;
	static const struct {
		const char *start;
		size_t length;
	} labels[] = { { "x", 127 }, { "xy", 126 } };
	for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
		struct study study;
		struct error err = { 0 };
		AUTO_TEXT text = { 0 };
		text_addf(
			&text,
			"[case \xff]\ntransport = tcp\nlabel = a\xfe\n[case b]\ntransport = http\n"
			"label = %s",
			labels[i].start);
		for (size_t letter = 0; letter < 64; letter++)
			text_add(&text, "\xc3\xa9");
		text_add(&text, "\n");
		if (study_parse(&study, "s.ini", text.data, text.length, &err) < 0)
			fail_msg("%s", err.message);
		assert_string_equal(study.cases[0].name, "\\xff");
		assert_string_equal(study.cases[0].label, "a\\xfe");
		assert_int_equal(strlen(study.cases[1].label), labels[i].length);
		study_free(&study);
	}
}

static void test_baseline(void **state)
{
	(void)state;
	static const char cases[] = "[case a]\ntransport = multi\nstreams = 1 2\n[case b]\n"
				    "transport = tcp\n[case \xff]\ntransport = http\n";
	static const struct {
		const char *baseline, *name, *message;
	} settings[] = {
		{ "b", "b", NULL },
		{ "a streams=2", "a streams=2", NULL },
		{ "\xff", "\\xff", NULL },
		{ "\\xff", "\\xff", NULL },
		{ "", NULL, NULL },
		{ "a", NULL, "s.ini:2: baseline: 'a' is several cases" },
		{ "c", NULL, "s.ini:2: baseline: there is no case 'c'" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		struct study study;
		struct error err = { 0 };
		AUTO_TEXT text = { 0 };
		text_addf(&text, "[study]\nbaseline = %s\n%s", settings[i].baseline, cases);
		int read = study_parse(&study, "s.ini", text.data, text.length, &err);
		assert_int_equal(read, settings[i].message ? -1 : 0);
		if (settings[i].message) {
			assert_non_null(strstr(err.message, settings[i].message));
			continue;
		}
		if (settings[i].name)
			assert_string_equal(study.baseline, settings[i].name);
		else
			assert_null(study.baseline);
		study_free(&study);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_odd_and_long_names),
		cmocka_unit_test(test_baseline),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
