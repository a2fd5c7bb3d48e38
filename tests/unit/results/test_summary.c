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

static void assert_near(double value, double wanted)
{
	if (!(fabs(value - wanted) <= 1e-9 * fmax(1, fabs(wanted))))
		fail_msg("%.12g is not %.12g", value, wanted);
}

static void assert_has(const char *haystack, const char *needle)
{
	if (!strstr(haystack, needle))
		fail_msg("'%s' is not in:\n%s", needle, haystack);
}

/* An ok, verified run of 1 GiB. */
static struct result ok_row(const char *name, int64_t round, double goodput_bps)
{
	struct result row;
	result_init(&row);
	text_copy(row.case_name, sizeof(row.case_name), name);
	row.round = round;
	row.status = STATUS_OK;
	row.verified = VERIFIED_YES;
	row.payload_bytes = INT64_C(1) << 30;
	row.goodput_bps = goodput_bps;
	row.total_s = 8.0 * (double)row.payload_bytes / goodput_bps;
	row.cpu_source_s = 0.5;
	row.cpu_sink_s = 1.5;
	row.cpu_source_host_pct = 40;
	row.cpu_sink_host_pct = 80;
	return row;
}

static void add_ok(struct results *results, const char *name, int64_t round, double goodput_bps)
{
	struct result row = ok_row(name, round, goodput_bps);
	results_add(results, &row);
}

static void add_bad(struct results *results, const char *name, enum result_status status,
		    const char *error)
{
	struct result row;
	result_init(&row);
	text_copy(row.case_name, sizeof(row.case_name), name);
	text_copy(row.error, sizeof(row.error), error);
	row.status = status;
	results_add(results, &row);
}

/* Three copies of different speed, a ceiling, one case that fails at times, and two without rate.
 */
static void fill(struct results *results)
{
	for (int64_t round = 1; round <= 3; round++) {
		add_ok(results, "slow", round, 1e9 + 1e7 * (double)round);
		add_ok(results, "fast", round, 9e9 + 1e8 * (double)round);
		struct result ceiling = ok_row("memory", round, 2e10);
		ceiling.verified = VERIFIED_COUNT;
		results_add(results, &ceiling);
		if (round == 2)
			add_bad(results, "shaky", STATUS_TIMEOUT, "no progress\nfor 60 s");
		else
			add_ok(results, "shaky", round, 4e9);
		add_bad(results, "broken", STATUS_FAILED, round == 1 ? "first" : "later");
	}
	add_bad(results, "links", STATUS_UNSUPPORTED, "cannot carry links");
}

static const struct summary_case *find(const struct summary *summary, const char *name)
{
	for (size_t i = 0; i < summary->count; i++)
		if (strcmp(summary->cases[i].row->case_name, name) == 0)
			return &summary->cases[i];
	fail_msg("no case %s", name);
	return NULL;
}

static void test_cases_and_ranks(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		enum case_kind kind;
		size_t rank, runs, counted;
	} wanted[] = {
		{ "slow", CASE_RANKED, 3, 3, 3 },    { "fast", CASE_RANKED, 1, 3, 3 },
		{ "memory", CASE_CEILING, 0, 3, 3 }, { "shaky", CASE_RANKED, 2, 3, 2 },
		{ "broken", CASE_NO_RATE, 0, 3, 0 }, { "links", CASE_NO_RATE, 0, 1, 0 },
	};
	AUTO_RESULTS results = { 0 };
	AUTO_SUMMARY summary = { 0 };
	fill(&results);
	summary_make(&results, &summary);
	assert_int_equal(summary.count, ARRAY_SIZE(wanted));
	assert_int_equal(summary.ranked_size, 3);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		const struct summary_case *one = &summary.cases[i];
		assert_string_equal(one->row->case_name, wanted[i].name);
		assert_int_equal(one->kind, wanted[i].kind);
		assert_int_equal(one->rank, wanted[i].rank);
		assert_int_equal(one->runs, wanted[i].runs);
		assert_int_equal(one->counted_size, wanted[i].counted);
	}
	assert_string_equal(find(&summary, "broken")->first_of[STATUS_FAILED]->error, "first");
	assert_int_equal(summary_failed_runs(find(&summary, "shaky"), STATUS_TIMEOUT), 1);
}

static void test_medians(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	AUTO_SUMMARY summary = { 0 };
	fill(&results);
	results.rows[1].setup_s = 0.25; /* known in one run of "fast" only */
	summary_make(&results, &summary);
	const struct summary_case *fast = find(&summary, "fast");
	assert_near(fast->median.goodput_bps, 9.2e9);
	assert_near(fast->median.setup_s, 0.25);
	assert_near(fast->median.cpu_source_s_per_gib, 0.5);
	assert_near(fast->median.cpu_sink_s_per_gib, 1.5);
	assert_near(fast->median.cpu_sink_host_pct, 80);
	assert_true(isnan(find(&summary, "slow")->median.setup_s));
	assert_true(isnan(find(&summary, "broken")->median.goodput_bps));
	assert_true(isnan(fast->median.sd_sink_us_per_kib));
}

static void test_spread(void **state)
{
	(void)state;
	for (int64_t runs = 1; runs <= 9; runs++) {
		AUTO_RESULTS results = { 0 };
		AUTO_SUMMARY summary = { 0 };
		for (int64_t round = 1; round <= runs; round++)
			add_ok(&results, "x", round, 1e9 * (double)round);
		summary_make(&results, &summary);
		const struct summary_case *one = &summary.cases[0];
		assert_int_equal(one->spread, runs < 6 ? SPREAD_RANGE : SPREAD_INTERVAL);
		/* From 9 runs the outermost no longer belong to the interval. */
		assert_near(one->goodput_low_bps, runs < 9 ? 1e9 : 2e9);
		assert_near(one->goodput_high_bps, 1e9 * (double)(runs < 9 ? runs : 8));
	}
}

/* Rows that must not give a rate, whatever else they hold. */
static void test_what_does_not_count(void **state)
{
	(void)state;
	struct result row = ok_row("x", 1, 1e9);
	assert_true(summary_row_counts(&row));
	row.verified = VERIFIED_NO;
	assert_false(summary_row_counts(&row));
	row = ok_row("x", 1, (double)NAN);
	assert_false(summary_row_counts(&row));
	row = ok_row("x", 1, 0);
	assert_false(summary_row_counts(&row));
	for (int status = STATUS_OK + 1; status < STATUS_COUNT; status++) {
		row = ok_row("x", 1, 1e9);
		row.status = status;
		assert_false(summary_row_counts(&row));
	}
}

/* It copies on one machine: no rival for what uses the line. */
static void test_ceiling_is_never_ranked(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	AUTO_SUMMARY summary = { 0 };
	AUTO_TEXT table = { 0 };
	add_ok(&results, "copies", 1, 9e9);
	results.rows[0].ceiling = 1;
	add_ok(&results, "tcp", 1, 1e9);
	summary_make(&results, &summary);
	assert_int_equal(summary.cases[0].kind, CASE_CEILING);
	assert_int_equal(summary.cases[0].rank, 0);
	assert_int_equal(summary.cases[1].rank, 1);
	assert_int_equal(summary.ranked_size, 1);
	summary_table(&summary, &table);
	assert_has(text_string(&table), "\n-  copies");
}

/* Nothing went wrong where there was nothing to move. */
static void test_ok_without_a_rate(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	AUTO_SUMMARY summary = { 0 };
	AUTO_TEXT table = { 0 };
	add_ok(&results, "empty", 1, 1e9);
	results.rows[0].goodput_bps = NAN;
	summary_make(&results, &summary);
	summary_table(&summary, &table);
	assert_string_equal(text_string(&table), "No run gave a rate.\n\nOk, but without a rate:\n"
						 "  empty: no bytes to rate\n");
}

static void test_one_counted_run_makes_a_ceiling(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	AUTO_SUMMARY summary = { 0 };
	add_ok(&results, "x", 1, 1e9);
	add_ok(&results, "x", 2, 1e9);
	results.rows[1].verified = VERIFIED_COUNT;
	summary_make(&results, &summary);
	assert_int_equal(summary.cases[0].kind, CASE_CEILING);
	assert_int_equal(summary.ranked_size, 0);
}

static void test_compare_by_round(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	AUTO_SUMMARY summary = { 0 };
	for (int64_t round = 1; round <= 7; round++) {
		add_ok(&results, "a", round, 2e9 * (double)round);
		if (round != 7)
			add_ok(&results, "b", round, 1e9 * (double)round);
	}
	/* Round 1 was repeated: the later run stands. */
	add_ok(&results, "b", 1, 1e9);
	results.rows[1].goodput_bps = 5e9;
	summary_make(&results, &summary);
	struct comparison found = summary_pair(&summary, &summary.cases[0], &summary.cases[1]);
	assert_int_equal(found.rounds, 6);
	assert_near(found.ratio, 2);
	assert_int_equal(compare_verdict(&found), COMPARE_DIFFERS);
	found = summary_pair(&summary, &summary.cases[1], &summary.cases[0]);
	assert_near(found.ratio, 0.5);
	assert_ptr_equal(summary_reference(&summary), &summary.cases[0]);
}

/* Rows that do not say their round cannot be paired. */
static void test_no_round_no_pair(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	AUTO_SUMMARY summary = { 0 };
	for (int i = 0; i < 6; i++) {
		add_ok(&results, "a", RESULT_UNKNOWN_COUNT, 2e9);
		add_ok(&results, "b", RESULT_UNKNOWN_COUNT, 1e9);
	}
	summary_make(&results, &summary);
	struct comparison found = summary_pair(&summary, &summary.cases[0], &summary.cases[1]);
	assert_int_equal(found.rounds, 0);
	assert_int_equal(summary.cases[0].rank, 1);
}

/* Rates of 8 rounds: a 10, b about 9.9 (not told apart), c 1; memory is a ceiling. */
static void fill_duels(struct results *results)
{
	for (int64_t round = 1; round <= 8; round++) {
		add_ok(results, "c", round, 1e9 * (1 + 0.01 * (double)(round % 3)));
		add_ok(results, "b", round, 9.9e9 * (1 + 0.03 * ((double)(round % 4) - 1.5)));
		add_ok(results, "a", round, 1e10);
		add_ok(results, "memory", round, 2e10);
		results->rows[results->count - 1].verified = VERIFIED_COUNT;
	}
}

static void test_duels(void **state)
{
	(void)state;
	static const struct {
		const char *baseline;
		bool all;
		const char *lost, *shown; /* x by y */
	} cases[] = {
		{ NULL, false, NULL, "a/b a/c " },
		{ NULL, true, NULL, "a/b a/c b/c " },
		{ "c", false, NULL, "a/c b/c " },
		{ "c", true, NULL, "a/b a/c b/c " },
		{ "memory", false, NULL, "a/memory b/memory c/memory " },
		{ "gone", false, "gone", "a/b a/c " },
	};
	AUTO_RESULTS results = { 0 };
	AUTO_SUMMARY summary = { 0 };
	fill_duels(&results);
	summary_make(&results, &summary);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_TEXT shown = { 0 };
		struct summary_duel duel;
		summary_choose_pairs(&summary, cases[i].baseline, cases[i].all);
		for (size_t at = 0; summary_next_duel(&summary, &at, &duel);)
			text_addf(&shown, "%s/%s ", summary_label(duel.x), summary_label(duel.y));
		assert_string_equal(text_string(&shown), cases[i].shown);
		assert_int_equal(summary.baseline_lost != NULL, cases[i].lost != NULL);
		assert_int_equal(summary.ranked_size, 3);
	}
}

static void test_far_runs(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	AUTO_SUMMARY summary = { 0 };
	AUTO_TEXT table = { 0 };
	for (int64_t round = 1; round <= 8; round++)
		add_ok(&results, "x", round, 1e9 * (1 + 0.01 * (double)(round % 3)));
	results.rows[3].goodput_bps = 0.5e9;
	summary_make(&results, &summary);
	assert_int_equal(summary.cases[0].far_size, 1);
	assert_true(summary.cases[0].far[3]);
	/* It is never dropped. */
	assert_int_equal(summary.cases[0].counted_size, 8);
	assert_near(summary.cases[0].goodput_low_bps, 0.5e9);
	summary_table(&summary, &table);
	assert_has(text_string(&table),
		   "x, round 4: 500 Mbit/s, far from the median 1.01 Gbit/s; it counts\n");
}

static void test_coverage_is_the_real_one(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	AUTO_TEXT table = { 0 };
	for (int64_t round = 1; round <= 8; round++)
		add_ok(&results, "eight", round, 2e9 + (double)round);
	AUTO_SUMMARY summary = { 0 };
	summary_make(&results, &summary);
	summary_table(&summary, &table);
	assert_has(text_string(&table), "99.2 % interval");
	for (int64_t round = 1; round <= 6; round++)
		add_ok(&results, "six", round, 1e9 + (double)round);
	for (int64_t round = 1; round <= 3; round++)
		add_ok(&results, "three", round, 1e9 + (double)round);
	AUTO_SUMMARY mixed = { 0 };
	text_free(&table);
	summary_make(&results, &mixed);
	summary_table(&mixed, &table);
	assert_has(text_string(&table), "or 96.9 to 99.2 % interval");
	assert_near(find(&mixed, "six")->coverage, 1 - 2.0 / 64);
}

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
		cmocka_unit_test(test_cases_and_ranks),
		cmocka_unit_test(test_medians),
		cmocka_unit_test(test_spread),
		cmocka_unit_test(test_what_does_not_count),
		cmocka_unit_test(test_ceiling_is_never_ranked),
		cmocka_unit_test(test_ok_without_a_rate),
		cmocka_unit_test(test_one_counted_run_makes_a_ceiling),
		cmocka_unit_test(test_compare_by_round),
		cmocka_unit_test(test_no_round_no_pair),
		cmocka_unit_test(test_duels),
		cmocka_unit_test(test_far_runs),
		cmocka_unit_test(test_coverage_is_the_real_one),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_table_without_rates),
		cmocka_unit_test(test_grid_aligns_by_letters),
		cmocka_unit_test(test_missing_runs),
		cmocka_unit_test(test_csv),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
