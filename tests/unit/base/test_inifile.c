#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/inifile.h"
#include "harness/base/text.h"

static int parse(struct inifile *file, const char *text, struct error *err)
{
	return inifile_parse(file, "a.ini", text, strlen(text), err);
}

/* Everything in one line: "section@line{key@line=value ...}". */
static void describe(const struct inifile *file, struct text *out)
{
	for (size_t i = 0; i < file->sections_count; i++) {
		text_addf(out, "%s@%u{", file->sections[i].name, file->sections[i].line);
		for (size_t j = 0; j < file->entries_count; j++)
			if (file->entries[j].section == i)
				text_addf(out, "%s@%u=%s|", file->entries[j].key,
					  file->entries[j].line, file->entries[j].value);
		text_add(out, "}");
	}
}

static void test_good_files(void **state)
{
	(void)state;
	static const struct {
		const char *text, *meaning;
	} cases[] = {
		{ "", "" },
		{ "\n\n; nothing\n# here\n", "" },
		{ "[a]\nx = 1\n", "a@1{x@2=1|}" },
		{ "[a]\nx=1", "a@1{x@2=1|}" },
		{ "[a]\r\nx = 1\r\n", "a@1{x@2=1|}" },
		{ "\xef\xbb\xbf[a]\nx = 1\n", "a@1{x@2=1|}" },
		{ "[a]\n[b]\n\n[c]\n", "a@1{}b@2{}c@4{}" },
		{ "[a]\nx = 1\n[b]\nx = 2\n", "a@1{x@2=1|}b@3{x@4=2|}" },
		{ "  [a]\n [b]\t# c\n[c] ;d\n  [d]\r\n", "a@1{}b@2{}c@3{}d@4{}" },
		/* What is indented continues, whatever it looks like. */
		{ "[a]\nx = 1\n  [b] c\n", "a@1{x@2=1 [b] c|}" },
		{ "[a]\nx = 1\n\n\r", "a@1{x@2=1|}" },
		{ "[case one two]\nx = a b\n", "case one two@1{x@2=a b|}" },
		{ "[a]\nx = -e \"ssh -F c\" = d\n", "a@1{x@2=-e \"ssh -F c\" = d|}" },
		{ "[a]\nx = 1 ; a remark\ny = a;b\n", "a@1{x@2=1|y@3=a;b|}" },
		{ "[a]\nx = 1\n  2\n\t3\ny = 4\n", "a@1{x@2=1 2 3|y@5=4|}" },
		{ "[a]\nx =\n  1\n  2\n", "a@1{x@2=1 2|}" },
		{ "[a]\nx = 1\n  ; a remark\n  2\n", "a@1{x@2=1 2|}" },
		{ "[a]\nx = 1\n  2 ; a remark\n  3;4\n  5\t; \"\n", "a@1{x@2=1 2 3;4 5|}" },
		{ "[a]\nx = \"1 ; 2\"\n  \"3 ; 4\"\n", "a@1{x@2=\"1 \"3|}" },
		{ "[a] ; b\nx = 1 # 2\n  # a remark\n  3 #4\n\t;\n", "a@1{x@2=1 # 2 3 #4|}" },
		{ "[a]\nx =\ny=\n", "a@1{x@2=|y@3=|}" },
		/* Indented, but there is nothing to continue. */
		{ "[a]\n  x = 1\n", "a@1{x@2=1|}" },
		{ "[a]\nx = 1\n  y = 2\n", "a@1{x@2=1 y = 2|}" },
		{ "x = 1\n", "@1{x@1=1|}" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct inifile file = { 0 };
		struct error err = { 0 };
		AUTO_TEXT meaning = { 0 };
		if (parse(&file, cases[i].text, &err) < 0)
			fail_msg("case %zu: %s", i, err.message);
		describe(&file, &meaning);
		assert_string_equal(text_string(&meaning), cases[i].meaning);
		assert_string_equal(file.path, "a.ini");
		inifile_free(&file);
		assert_int_equal(file.entries_count + file.sections_count, 0);
	}
}

static void test_bad_files(void **state)
{
	(void)state;
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "[a]\nx\n", "a.ini:2: neither a section nor key = value" },
		{ "[a\nx = 1\n", "a.ini:1: neither a section nor key = value" },
		{ "[a]\nx = 1\n\nx = 2\n", "a.ini:4: 'x' is already set in line 2" },
		{ "[a]\nx = 1\n[b]\n[a]\ny = 2\n",
		  "a.ini:4: there is a section [a] already, in line 1" },
		{ "\n[a] x = 1\n", "a.ini:2: text behind [a]: put 'x = 1' into a line of its own" },
		{ "[a]]\n", "a.ini:1: text behind [a]: put ']' into a line of its own" },
		{ "[a]#b\n", "a.ini:1: text behind [a]: put '#b' into a line of its own" },
		{ "[a]\rx = 1\r",
		  "a.ini:1: a carriage return inside a line: lines end with a line feed, which may "
		  "have one before it" },
		{ "[a]\nx = 1\r2\r\n",
		  "a.ini:2: a carriage return inside a line: lines end with a line feed, which may "
		  "have one before it" },
		{ "[a]\n= 1\n", "a.ini:2: a value without a key" },
		{ "[a]\nx\n[b]\ny\n", "a.ini:2: neither a section nor key = value" },
		{ "[0123456789012345678901234567890123456789012345678]\n",
		  "a.ini:1: a section's name is longer than 48 bytes" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct inifile file = { 0 };
		struct error err = { 0 };
		assert_int_equal(parse(&file, cases[i].text, &err), -1);
		assert_string_equal(err.message, cases[i].message);
		assert_int_equal(err.kind, ERROR_CONFIG);
		assert_null(file.entries);
		assert_null(file.path);
	}
}

static void test_section_of_48_bytes(void **state)
{
	(void)state;
	static const char name[] = "012345678901234567890123456789012345678901234567";
	AUTO_TEXT text = { 0 };
	struct inifile file = { 0 };
	text_addf(&text, "[%s]\nx = 1\n", name);
	assert_int_equal(parse(&file, text_string(&text), NULL), 0);
	assert_int_equal(file.sections_count, 1);
	assert_string_equal(file.sections[0].name, name);
	inifile_free(&file);
}

/* The longest line that fits is taken whole, one byte more is refused: nothing is ever cut. */
static void test_long_lines(void **state)
{
	(void)state;
	for (size_t length = 190; length < 210; length++) {
		AUTO_TEXT text = { 0 };
		struct inifile file = { 0 };
		struct error err = { 0 };
		text_add(&text, "[a]\nx=");
		while (text.length < length + 4)
			text_add(&text, "v");
		text_add(&text, "\ny = 1\n");
		int outcome = parse(&file, text_string(&text), &err);
		if (length > 198) {
			assert_int_equal(outcome, -1);
			assert_string_equal(err.message, "a.ini:2: the line is longer than 198 "
							 "bytes: continue it in an indented one");
			continue;
		}
		assert_int_equal(outcome, 0);
		assert_int_equal(file.entries_count, 2);
		assert_int_equal(strlen(file.entries[0].value), length - 2);
		inifile_free(&file);
	}
}

static void test_zero_bytes(void **state)
{
	(void)state;
	static const char text[] = "[a]\nx = 1\0 2\n";
	struct inifile file = { 0 };
	struct error err = { 0 };
	assert_int_equal(inifile_parse(&file, "a.ini", text, sizeof(text) - 1, &err), -1);
	assert_string_equal(err.message, "a.ini:2: the line has a zero byte");
}

static void test_many_keys(void **state)
{
	(void)state;
	AUTO_TEXT text = { 0 };
	struct inifile file = { 0 };
	text_add(&text, "[a]\n");
	for (int i = 0; i < 1000; i++)
		text_addf(&text, "key%d = %d\n", i, i);
	assert_int_equal(parse(&file, text_string(&text), NULL), 0);
	assert_int_equal(file.entries_count, 1000);
	assert_string_equal(file.entries[999].key, "key999");
	assert_int_equal(file.entries[999].line, 1001);
	inifile_free(&file);
}

static void test_errors_with_their_place(void **state)
{
	(void)state;
	static const char *const known[] = { "rounds", "seed", NULL };
	struct inifile file = { 0 };
	struct error err = { 0 };
	assert_int_equal(parse(&file, "[a]\n", NULL), 0);
	error_set(&err, ERROR_TOOL, 3, "what");
	assert_int_equal(inifile_error_at(&file, 7, &err), -1);
	assert_string_equal(err.message, "a.ini:7: what");
	assert_int_equal(err.kind, ERROR_TOOL);
	assert_int_equal(inifile_unknown(&file, 9, "key", "rouds", known, &err), -1);
	assert_string_equal(err.message, "a.ini:9: unknown key 'rouds': did you mean 'rounds'?");
	assert_int_equal(err.kind, ERROR_CONFIG);
	assert_int_equal(inifile_unknown(&file, 9, "key", "colour", known, &err), -1);
	assert_string_equal(err.message, "a.ini:9: unknown key 'colour': known are rounds, seed");
	inifile_free(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_files),
		cmocka_unit_test(test_bad_files),
		cmocka_unit_test(test_section_of_48_bytes),
		cmocka_unit_test(test_long_lines),
		cmocka_unit_test(test_zero_bytes),
		cmocka_unit_test(test_many_keys),
		cmocka_unit_test(test_errors_with_their_place),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
