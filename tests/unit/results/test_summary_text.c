/* Summaries as tables, numbers and CSV. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "results/grid.h"
#include "results/summary.h"
#include "tests/unit/results/summary_rows.h"

static void test_numbers(void **state)
{
	(void)state;
	static const struct {
		double bps;
		const char *text;
	} cases[] = {
		{ 9.8123e9, "9812" },     { 99.96e6, "100" }, { 98.14e6, "98.1" },
		{ 9.996e6, "10.0" },      { 9.8e6, "9.80" },  { 0.98e6, "0.98" },
		{ 1234, "0.0012" },       { 31, "0.000031" }, { 0.3, "0.00000030" },
		{ 3428593e6, "3428593" },
	};
	char text[SUMMARY_NUMBER_SIZE];
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(summary_mbit_text(cases[i].bps, text), cases[i].text);
	assert_string_equal(summary_mbit_text((double)NAN, text), "-");
	static const struct {
		double bps;
		const char *text;
	} rates[] = {
		{ 9.81e9, "9.81 Gbit/s" },  { 123.4e9, "123 Gbit/s" }, { 999.4e6, "999 Mbit/s" },
		{ 999.6e6, "1.00 Gbit/s" }, { 31.2e3, "31.2 kbit/s" }, { 31, "31.0 bit/s" },
		{ 0.3, "0.30 bit/s" },
	};
	char rate[SUMMARY_RATE_SIZE];
	for (size_t i = 0; i < ARRAY_SIZE(rates); i++)
		assert_string_equal(summary_rate_text(rates[i].bps, rate), rates[i].text);
}

static void test_table(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	AUTO_SUMMARY summary = { 0 };
	AUTO_TEXT table = { 0 };
	fill(&results);
	text_copy(results.rows[0].label, sizeof(results.rows[0].label), "sl\x1b[2Jow \xc3\xa9");
	summary_make(&results, &summary);
	summary_table(&summary, &table);
	const char *text = text_string(&table);
	assert_has(text, "\n1  fast");
	assert_has(text, "9200    9100 to 9300");
	assert_has(text, "\n3  sl\\x1b[2Jow \xc3\xa9  ");
	assert_has(text, "\n-  memory");
	assert_has(text, "ceiling    3/3");
	assert_has(text, "  shaky: 1 of 3 runs: timeout: no progress\\x0afor 60 s\n");
	assert_has(text, "  broken: 3 of 3 runs: failed: first\n");
	assert_has(text, "  links: unsupported: cannot carry links\n");
	assert_null(strchr(text, '\x1b'));
	assert_true(strstr(text, "fast") < strstr(text, "shaky"));
	assert_true(strstr(text, "sl\\x1b") < strstr(text, "memory"));
}

static void test_table_without_rates(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	AUTO_SUMMARY empty = { 0 };
	AUTO_TEXT table = { 0 };
	summary_make(&results, &empty);
	summary_table(&empty, &table);
	assert_string_equal(text_string(&table), "No run gave a rate.\n");
}

static void test_grid_aligns_by_letters(void **state)
{
	(void)state;
	struct grid grid;
	AUTO_TEXT out = { 0 };
	grid_init(&grid, "lr");
	grid_add(&grid, "\xc3\xa9\xc3\xa9");
	grid_add(&grid, "1");
	grid_add(&grid, "abcd");
	grid_addf(&grid, "%d", 100);
	grid_print(&grid, 1, &out);
	grid_free(&grid);
	assert_string_equal(text_string(&out), " \xc3\xa9\xc3\xa9      1\n abcd  100\n");
}

/* A study that was killed: some runs, and some cases, have no row. */
static void test_missing_runs(void **state)
{
	(void)state;
	const struct {
		const char *study;
		size_t planned, missing;
	} cases[] = {
		{ "{}", 0, 0 },
		{ "{\"rounds\": 3, \"cases\": 3}", 0, 0 },
		{ "{\"rounds\": 0, \"cases\": [1, 2, 3]}", 0, 0 },
		{ "{\"rounds\": 1000000000, \"cases\": [1, 2, 3]}", 0, 0 },
		/* Not of this study. */
		{ "{\"rounds\": 3, \"cases\": [1]}", 0, 0 },
		{ "{\"rounds\": 2, \"cases\": [1, 2]}", 4, 0 },
		{ "{\"rounds\": 3, \"cases\": [1, 2]}", 6, 1 },
		{ "{\"rounds\": 3, \"cases\": [1, 2, 3]}", 9, 4 },
	};
	/* Round 2 of a was done twice; b cannot be run at all. */
	struct result rows[4];
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		result_init(&rows[i]);
		text_copy(rows[i].case_name, sizeof(rows[i].case_name), i < 3 ? "a" : "b");
		rows[i].status = i < 3 ? STATUS_FAILED : STATUS_UNSUPPORTED;
		rows[i].round = i == 0 || i == 3 ? 1 : 2;
	}
	const struct results results = { .rows = rows, .count = ARRAY_SIZE(rows) };
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_SUMMARY summary = { 0 };
		AUTO_TEXT text = { 0 };
		json_t *study = json_loads(cases[i].study, 0, NULL);
		assert_non_null(study);
		summary_make(&results, &summary);
		summary_expect(&summary, &results, study);
		json_decref(study);
		assert_int_equal(summary.planned, cases[i].planned);
		assert_int_equal(summary.missing, cases[i].missing);
		summary_table(&summary, &text);
		assert_int_equal(cases[i].missing > 0,
				 strstr(text_string(&text), "planned runs have no row") != NULL);
	}
}

static void test_csv(void **state)
{
	(void)state;
	char path[] = "/tmp/linefill-test-summary-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	AUTO_RESULTS results = { 0 };
	AUTO_SUMMARY summary = { 0 };
	AUTO_FREE char *bytes = NULL;
	size_t count = 0;
	fill(&results);
	summary_make(&results, &summary);
	assert_int_equal(summary_write(&summary, path, NULL), 0);
	assert_int_equal(file_read_all(path, 1 << 20, &bytes, &count, NULL), 0);
	unlink(path);
	struct csv_reader reader;
	csv_reader_init(&reader, "summary.csv", bytes, count);
	size_t records = 0;
	size_t fields = 0;
	while (csv_reader_next(&reader, NULL) == 1) {
		if (records == 0)
			fields = reader.fields;
		assert_int_equal(reader.fields, fields);
		if (records == 4) {
			assert_string_equal(csv_reader_field(&reader, 0), "shaky");
			assert_string_equal(csv_reader_field(&reader, fields - 1),
					    "no progress\\x0afor 60 s");
		}
		records++;
	}
	csv_reader_free(&reader);
	assert_int_equal(records, 7);
	assert_has(bytes, "\nfast,,,,ranked,1,yes,range,3,3,3,0,0,0,0,0,0,0,9200000000,9100000000,"
			  "9300000000,");
	assert_has(bytes, "\nlinks,,,,none,,no,none,1,0,0,0,0,0,0,0,1,0,,,,");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_table_without_rates),
		cmocka_unit_test(test_grid_aligns_by_letters),
		cmocka_unit_test(test_missing_runs),
		cmocka_unit_test(test_csv),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
