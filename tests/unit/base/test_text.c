#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/text.h"

static void test_grows(void **state)
{
	(void)state;
	AUTO_TEXT text = { 0 };
	assert_string_equal(text_string(&text), "");
	for (int i = 0; i < 1000; i++)
		text_addf(&text, "%03d", i);
	assert_int_equal(text.length, 3000);
	assert_int_equal(strncmp(text_string(&text) + 2997, "999", 4), 0);
	text_add_bytes(&text, "a\0b", 3);
	assert_int_equal(text.length, 3003);
	AUTO_FREE char *taken = text_take(&text);
	assert_int_equal(strlen(taken), 3001);
	assert_int_equal(text.length, 0);
	AUTO_FREE char *empty = text_take(&text);
	assert_string_equal(empty, "");
}

static void test_copy(void **state)
{
	(void)state;
	char to[4] = "zzz";
	text_copy(to, sizeof(to), "abcdef");
	assert_string_equal(to, "abc");
	text_copy(to, sizeof(to), "");
	assert_string_equal(to, "");
	text_copy(to, 0, "abc");
	assert_string_equal(to, "");
}

static void test_escape(void **state)
{
	(void)state;
	static const struct {
		const char *from, *to;
	} cases[] = {
		{ "", "" },
		{ "plain ASCII ~", "plain ASCII ~" },
		{ "a\nb\tc\r", "a\\x0ab\\x09c\\x0d" },
		{ "\x1b[31m", "\\x1b[31m" },
		{ "\x7f", "\\x7f" },
		{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" },
		{ "\xe9", "\\xe9" },          /* Latin-1 */
		{ "\xc2\x9b", "\\xc2\\x9b" }, /* a C1 control */
		{ "\xc2\xa0", "\xc2\xa0" },   /* the first after them */
		{ "\xc0\xaf", "\\xc0\\xaf" }, /* overlong */
		{ "\xe0\x80\xaf", "\\xe0\\x80\\xaf" },
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80" }, /* a surrogate */
		{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" },
		{ "\xe2\x82", "\\xe2\\x82" }, /* cut short */
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char to[64];
		text_escape_terminal(to, sizeof(to), cases[i].from);
		assert_string_equal(to, cases[i].to);
	}
	char small[5];
	text_escape_terminal(small, sizeof(small), "ab\n");
	assert_string_equal(small, "ab"); /* never half an escape */
	text_escape_terminal(small, 0, "ab");
}

static void test_trim(void **state)
{
	(void)state;
	char a[] = " \t a b \n";
	char b[] = "   ";
	char c[] = "";
	assert_string_equal(text_trim(a), "a b");
	assert_string_equal(text_trim(b), "");
	assert_string_equal(text_trim(c), "");
}

static void test_whole_numbers(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool good;
		uint64_t value;
	} cases[] = {
		{ "0", true, 0 },
		{ "007", true, 7 },
		{ "18446744073709551615", true, UINT64_MAX },
		{ "18446744073709551616", false, 0 },
		{ "", false, 0 },
		{ "-1", false, 0 },
		{ "+1", false, 0 },
		{ " 1", false, 0 },
		{ "1 ", false, 0 },
		{ "1x", false, 0 },
		{ "0x10", false, 0 },
		{ "1.0", false, 0 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t value = 99;
		assert_int_equal(text_to_u64(cases[i].text, &value), cases[i].good);
		assert_int_equal(value, cases[i].good ? cases[i].value : 99);
	}
}

static void test_reals(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool good;
		double value;
	} cases[] = {
		{ "0", true, 0 },     { "-1.5", true, -1.5 }, { ".5", true, 0.5 },
		{ "1e3", true, 1e3 }, { "1e999", false, 0 },  { "", false, 0 },
		{ "-", false, 0 },    { "-inf", false, 0 },   { "nan", false, 0 },
		{ "1,5", false, 0 },  { "1 s", false, 0 },    { "0x10", false, 0 },
		{ "-0x1", false, 0 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		double value = 99;
		assert_int_equal(text_to_double(cases[i].text, &value), cases[i].good);
		assert_true(value == (cases[i].good ? cases[i].value : 99));
	}
}

static void test_numbers_of_users(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool good;
		double value;
	} cases[] = {
		{ "0", true, 0 },      { "1.5", true, 1.5 }, { ".5", true, 0.5 },
		{ "7.", false, 0 },    { ".", false, 0 },    { "-1", false, 0 },
		{ "+1", false, 0 },    { "1e3", false, 0 },  { "0x10", false, 0 },
		{ "1.2.3", false, 0 }, { "1 ", false, 0 },   { "", false, 0 },
		{ "1,000", false, 0 }, { "007", true, 7 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		double value = 99;
		assert_int_equal(text_to_number(cases[i].text, &value), cases[i].good);
		assert_true(value == (cases[i].good ? cases[i].value : 99));
	}
}

static void test_times(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool good;
		double value;
	} cases[] = {
		{ "90", true, 90 },     { "1.5s", true, 1.5 },  { "2 s", true, 2 },
		{ "5m", true, 300 },    { "5 min", true, 300 }, { "0.5h", true, 1800 },
		{ "250ms", true, .25 }, { "5M", false, 0 },     { "m", false, 0 },
		{ "1m30s", false, 0 },  { "-5m", false, 0 },    { "5 ", false, 0 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		double value = 99;
		assert_int_equal(text_to_seconds(cases[i].text, &value), cases[i].good);
		assert_true(value == (cases[i].good ? cases[i].value : 99));
	}
}

static void test_rates(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool good;
		double value;
	} cases[] = {
		{ "1000", true, 1000 },    { "2.5Gbit/s", true, 2.5e9 }, { "100 M", true, 1e8 },
		{ "9kbit/s", true, 9000 }, { "1 bit/s", true, 1 },       { "1e9", false, 0 },
		{ "1GB", false, 0 },       { "1m", false, 0 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		double value = 99;
		assert_int_equal(text_to_bits_per_s(cases[i].text, &value), cases[i].good);
		assert_true(value == (cases[i].good ? cases[i].value : 99));
	}
}

static void test_sizes(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool good;
		uint64_t value;
	} cases[] = {
		{ "4096", true, 4096 },
		{ "64KiB", true, 65536 },
		{ "64K", true, 65536 },
		{ "64 KiB", true, 65536 },
		{ "1.5GiB", true, 1610612736 },
		{ "10MB", true, 10000000 },
		{ "1kB", true, 1000 },
		{ "3 B", true, 3 },
		{ "18446744073709551615", true, UINT64_MAX },
		{ "99999999999TiB", false, 0 },
		{ "1XB", false, 0 },
		{ "0x10", false, 0 },
		{ "1e9", false, 0 },
		{ "1.5", false, 0 },
		{ "1.5B", false, 0 },
		{ "2.0B", true, 2 },
		{ "5 ", false, 0 },
		{ "KiB", false, 0 },
		{ "-1K", false, 0 },
		{ "1 K x", false, 0 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t value = 99;
		assert_int_equal(text_to_bytes(cases[i].text, &value), cases[i].good);
		assert_int_equal(value, cases[i].good ? cases[i].value : 99);
	}
	char to[32];
	assert_string_equal(text_from_bytes(to, sizeof(to), 0), "0 B");
	assert_string_equal(text_from_bytes(to, sizeof(to), 1023), "1023 B");
	assert_string_equal(text_from_bytes(to, sizeof(to), 1536), "1.5 KiB");
	assert_string_equal(text_from_bytes(to, sizeof(to), UINT64_MAX), "16384.0 PiB");
}

static void test_nearest(void **state)
{
	(void)state;
	static const char *const words[] = { "streams", "window", "cipher", NULL };
	assert_string_equal(text_nearest_in("stream", words), "streams");
	assert_string_equal(text_nearest_in("steams", words), "streams");
	assert_string_equal(text_nearest_in("widnow", words), "window");
	assert_null(text_nearest_in("x", words));
	assert_null(text_nearest_in("completely-else", words));
	char big[200];
	memset(big, 's', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	assert_null(text_nearest_in(big, words));
}

static void test_split(void **state)
{
	(void)state;
	static const struct {
		const char *line, *words; /* joined by '|' */
	} cases[] = {
		{ "", "" },
		{ "  ", "" },
		{ "a", "a|" },
		{ " a  b\tc ", "a|b|c|" },
		{ "'a b' c", "a b|c|" },
		{ "a\"b c\"d", "ab cd|" },
		{ "'' \"\"", "||" },
		{ "\"it's\" '\"'", "it's|\"|" },
		{ "a\\ b", "a\\|b|" },
		{ "$HOME `x` ;", "$HOME|`x`|;|" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = { 0 };
		AUTO_FREE char **words = text_split_words(cases[i].line, &err);
		AUTO_TEXT joined = { 0 };
		assert_non_null(words);
		for (size_t j = 0; words[j]; j++)
			text_addf(&joined, "%s|", words[j]);
		assert_string_equal(text_string(&joined), cases[i].words);
	}
	static const char *const open[] = { "'", "a \"b", "'a\"" };
	for (size_t i = 0; i < ARRAY_SIZE(open); i++) {
		struct error err = { 0 };
		assert_null(text_split_words(open[i], &err));
		assert_int_equal(err.kind, ERROR_CONFIG);
	}
}

static void test_shown(void **state)
{
	(void)state;
	static const struct {
		const char *from;
		size_t most;
		const char *shown;
	} cases[] = {
		{ "", SIZE_MAX, "" },
		{ "a\xff\n", SIZE_MAX, "a\\xff\\x0a" },
		{ "abc", 2, "ab" },
		{ "a\xc3\xa9", 2, "a" },
		{ "a\xc3\xa9", 3, "a\xc3\xa9" },
		{ "a\xff", 4, "a" },
		{ "a\xff", 5, "a\\xff" },
		{ "abc", 0, "" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *shown = text_shown(cases[i].from, cases[i].most);
		assert_string_equal(shown, cases[i].shown);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shown),
		cmocka_unit_test(test_grows),
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_escape),
		cmocka_unit_test(test_trim),
		cmocka_unit_test(test_whole_numbers),
		cmocka_unit_test(test_reals),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_nearest),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_numbers_of_users),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_rates),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
