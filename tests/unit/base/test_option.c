#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/option.h"

struct values {
	bool fast;
	uint64_t streams;
	uint64_t buffer;
	double rate;
	int cipher;
	char note[OPTION_TEXT_SIZE];
	char macs[OPTION_TEXT_SIZE];
	double wait_s;
};

static const char *const ciphers[] = { "none", "aes", "chacha", NULL };

static const struct option_def table[] = {
	{ .name = "fast",
	  .type = OPTION_FLAG,
	  .offset = offsetof(struct values, fast),
	  .fallback = "no",
	  .help = "be fast" },
	{ .name = "streams",
	  .type = OPTION_COUNT,
	  .offset = offsetof(struct values, streams),
	  .fallback = "4",
	  .min = 1,
	  .max = 64,
	  .help = "connections" },
	{ .name = "buffer",
	  .type = OPTION_SIZE,
	  .offset = offsetof(struct values, buffer),
	  .fallback = "64KiB",
	  .min = 4096,
	  .help = "bytes a call" },
	{ .name = "rate",
	  .type = OPTION_NUMBER,
	  .offset = offsetof(struct values, rate),
	  .fallback = "0.5",
	  .unit = "Gbit/s",
	  .max = 100,
	  .help = "limit" },
	{ .name = "cipher",
	  .type = OPTION_CHOICE,
	  .offset = offsetof(struct values, cipher),
	  .fallback = "aes",
	  .choices = ciphers,
	  .plain = "none",
	  .help = "cipher" },
	{ .name = "note",
	  .type = OPTION_TEXT,
	  .offset = offsetof(struct values, note),
	  .fallback = "",
	  .plain = "open clear",
	  .help = "a word" },
	{ .name = "macs",
	  .type = OPTION_LIST,
	  .offset = offsetof(struct values, macs),
	  .fallback = "",
	  .help = "a list" },
	{ .name = "wait",
	  .type = OPTION_NUMBER,
	  .offset = offsetof(struct values, wait_s),
	  .fallback = "1m",
	  .unit = "s",
	  .max = 3600,
	  .help = "patience" },
	{ 0 },
};

static struct values defaults(void)
{
	struct values values;
	memset(&values, 0xa5, sizeof(values));
	assert_int_equal(option_defaults(table, &values, NULL), 0);
	return values;
}

static void test_defaults(void **state)
{
	(void)state;
	struct values values = defaults();
	assert_false(values.fast);
	assert_int_equal(values.streams, 4);
	assert_int_equal(values.buffer, 65536);
	assert_true(values.rate == 0.5);
	assert_int_equal(values.cipher, 1);
	assert_string_equal(values.note, "");
}

static void test_errors(void **state)
{
	(void)state;
	static const struct {
		const char *key, *value, *message;
	} cases[] = {
		{ "steams", "1", "unknown option 'steams': did you mean 'streams'?" },
		{ "zzzzzzzzz", "1",
		  "unknown option 'zzzzzzzzz': known are fast, streams, buffer, rate, cipher, "
		  "note, "
		  "macs, wait" },
		{ "streams", "0", "streams = 0 is out of range: 1 to 64" },
		{ "streams", "65", "streams = 65 is out of range: 1 to 64" },
		{ "streams", "many", "streams = many: a whole number is expected" },
		{ "buffer", "1B", "buffer = 1B is out of range: at least 4096" },
		{ "buffer", "0x10000",
		  "buffer = 0x10000: a size such as 64KiB or 10MB is expected" },
		{ "buffer", "64",
		  "buffer = 64: of bytes? Below 1 KiB a size needs its unit: 64B, 64KiB or 64MiB" },
		{ "rate", "0x1", "rate = 0x1: a number is expected, in Gbit/s" },
		{ "rate", "1e1", "rate = 1e1: a number is expected, in Gbit/s" },
		{ "wait", "5 minutes",
		  "wait = 5 minutes: a time such as 90, 1.5s, 5m or 2h is expected" },
		{ "wait", "2h", "wait = 2h is out of range: 0 to 3600 s" },
		{ "macs", "a b",
		  "macs = a b: one list is expected here, its names joined by commas" },
		{ "buffer", "x", "buffer = x: a size such as 64KiB or 10MB is expected" },
		{ "rate", "101", "rate = 101 is out of range: 0 to 100 Gbit/s" },
		{ "rate", "x", "rate = x: a number is expected, in Gbit/s" },
		{ "fast", "maybe", "fast = maybe: yes or no is expected" },
		{ "cipher", "chacah",
		  "cipher = chacah: did you mean 'chacha'? (known are none, aes, chacha)" },
		{ "cipher", "", "cipher = : known are none, aes, chacha" },
	};
	struct values values = defaults();
	struct values before = values;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = { 0 };
		assert_int_equal(option_set(table, &values, cases[i].key, cases[i].value, &err),
				 -1);
		assert_int_equal(err.kind, ERROR_CONFIG);
		assert_string_equal(err.message, cases[i].message);
		assert_memory_equal(&values, &before, sizeof(values));
	}
	struct error err = { 0 };
	assert_int_equal(option_set(NULL, &values, "x", "1", &err), -1);
	char big[OPTION_TEXT_SIZE + 1];
	memset(big, 'b', sizeof(big) - 1);
	big[OPTION_TEXT_SIZE] = '\0';
	assert_int_equal(option_set(table, &values, "note", big, &err), -1);
}

static void test_flag_words(void **state)
{
	(void)state;
	static const char *const yes[] = { "yes", "on", "TRUE", "1" };
	static const char *const no[] = { "no", "Off", "false", "0" };
	struct values values = defaults();
	for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
		assert_int_equal(option_set(table, &values, "fast", yes[i], NULL), 0);
		assert_true(values.fast);
		assert_int_equal(option_set(table, &values, "fast", no[i], NULL), 0);
		assert_false(values.fast);
	}
}

static void test_set_all(void **state)
{
	(void)state;
	struct values values = defaults();
	struct error err = { 0 };
	assert_int_equal(option_set_all(table, &values,
					" fast , streams = 8,macs=a,b,c,cipher=none,,note=x=y,z ",
					&err),
			 0);
	assert_true(values.fast);
	assert_int_equal(values.streams, 8);
	assert_string_equal(values.macs, "a,b,c");
	assert_int_equal(values.cipher, 0);
	assert_string_equal(values.note, "x=y,z");
	assert_int_equal(option_set_all(table, &values, "note=a,fast,macs=b,fast", &err), 0);
	assert_string_equal(values.note, "a");
	assert_string_equal(values.macs, "b");
	assert_int_equal(option_set_all(table, &values, "", &err), 0);
	assert_int_equal(option_set_all(table, &values, "streams=8,nonsense=1", &err), -1);
	assert_int_equal(option_set_all(table, &values, "streams=8,=1", &err), -1);
	assert_int_equal(option_set_all(table, &values, "note", &err), -1);
	assert_string_equal(err.message, "'note' needs a value: note=...");
}

/* However it is written, it is kept in one form. */
static void test_lists(void **state)
{
	(void)state;
	static const struct {
		const char *written, *kept;
	} cases[] = {
		{ "a", "a" },         { "a,b", "a,b" },   { "a, b", "a,b" }, { "a ,\tb", "a,b" },
		{ "a+b+c", "a,b,c" }, { "+a+b", "+a,b" }, { "", "" },        { " a ", "a" },
	};
	static const char *const several[] = { "a b", "a,b c", "a , b c+d" };
	const struct option_def *def = option_find(table, "macs");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct values values = defaults();
		assert_int_equal(option_set(table, &values, "macs", cases[i].written, NULL), 0);
		assert_string_equal(values.macs, cases[i].kept);
		assert_false(option_is_swept(def, cases[i].written));
	}
	for (size_t i = 0; i < ARRAY_SIZE(several); i++)
		assert_true(option_is_swept(def, several[i]));
	assert_true(option_is_swept(option_find(table, "streams"), "1 2"));
	assert_false(option_is_swept(option_find(table, "note"), "1 2"));
	assert_false(option_is_swept(NULL, "1 2"));
}

static void test_format_reads_back(void **state)
{
	(void)state;
	static const char *const strings[] = {
		"",
		"fast=yes",
		"streams=64,buffer=1MiB",
		"buffer=4097,rate=1.25",
		"cipher=chacha,note=word,macs=a,b,c",
		"note=two words, and a comma,macs=+a,b,wait=0.00001",
	};
	for (size_t i = 0; i < ARRAY_SIZE(strings); i++) {
		struct values values = defaults();
		AUTO_TEXT text = { 0 };
		assert_int_equal(option_set_all(table, &values, strings[i], NULL), 0);
		option_format(table, &values, false, &text);
		assert_string_equal(text_string(&text), strings[i]);
	}
	struct values values = defaults();
	struct values again = defaults();
	AUTO_TEXT all = { 0 };
	values.streams = 9;
	option_format(table, &values, true, &all);
	assert_int_equal(option_set_all(table, &again, text_string(&all), NULL), 0);
	assert_int_equal(again.streams, 9);
}

static void test_plain(void **state)
{
	(void)state;
	struct values values =
		defaults(); /* an empty note is no plain value, and no endless loop */
	assert_false(option_is_plain(table, &values));
	values.cipher = 0;
	assert_true(option_is_plain(table, &values));
	values.cipher = 1;
	static const struct {
		const char *note;
		bool plain;
	} cases[] = { { "open", true },  { "clear", true },      { "ope", false },
		      { "lear", false }, { "open clear", true }, { "closed", false } };
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		text_copy(values.note, sizeof(values.note), cases[i].note);
		assert_int_equal(option_is_plain(table, &values), cases[i].plain);
	}
	assert_false(option_is_plain(NULL, NULL));
}

static void test_help(void **state)
{
	(void)state;
	AUTO_TEXT text = { 0 };
	option_help(table, 2, &text);
	assert_non_null(strstr(text_string(&text), "  fast=yes|no"));
	assert_non_null(strstr(text_string(&text), "cipher=none|aes|chacha"));
	assert_non_null(strstr(text_string(&text), "(default: 64KiB)"));
	assert_non_null(strstr(text_string(&text), "(default: not set)"));
}

static void test_bad_table(void **state)
{
	(void)state;
	static const struct option_def bad[] = {
		{ .name = "n", .type = OPTION_COUNT, .fallback = "x", .help = "" }, { 0 }
	};
	uint64_t value = 0;
	struct error err = { 0 };
	assert_int_equal(option_defaults(bad, &value, &err), -1);
	assert_string_equal(err.message, "default of n: n = x: a whole number is expected");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),   cmocka_unit_test(test_errors),
		cmocka_unit_test(test_flag_words), cmocka_unit_test(test_set_all),
		cmocka_unit_test(test_lists),      cmocka_unit_test(test_format_reads_back),
		cmocka_unit_test(test_plain),      cmocka_unit_test(test_help),
		cmocka_unit_test(test_bad_table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
