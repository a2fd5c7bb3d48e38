#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/cleanup.h"
#include "results/marks.h"

#define GIB 1073741824

static struct result ok_row(const char *name, int round, double bps, double cpu_s)
{
	struct result row;
	result_init(&row);
	snprintf(row.case_name, sizeof(row.case_name), "%s", name);
	row.round = round;
	row.status = STATUS_OK;
	row.payload_bytes = GIB;
	row.goodput_bps = bps;
	row.cpu_source_s = cpu_s / 2;
	row.cpu_sink_s = cpu_s / 2;
	return row;
}

static struct mark make_mark(enum mark_measure measure, double required)
{
	return (struct mark){ "s", "a", "b", measure, required };
}

static void test_pairs_by_round(void **state)
{
	(void)state;
	struct result rows[] = { ok_row("a", 1, 10, 1), ok_row("b", 1, 5, 2), ok_row("b", 2, 4, 2),
				 ok_row("a", 2, 4, 1),  ok_row("a", 3, 9, 3), ok_row("b", 3, 3, 2),
				 ok_row("a", 4, 99, 1), ok_row("b", 4, 1, 1) };
	rows[7].status = STATUS_FAILED; /* round 4 has no pair */
	const struct results results = { .rows = rows, .count = ARRAY_SIZE(rows) };
	struct mark mark = make_mark(MARK_RATE, 2);
	struct mark_figures figures;
	mark_measure(&mark, &results, &figures);
	assert_int_equal(figures.rounds, 3);
	assert_true(figures.ratio == 2 && figures.ratio_low == 1 && figures.ratio_high == 3);
	assert_true(figures.ours_bps == 9 && figures.against_bps == 4);
	assert_string_equal(mark_verdict(&mark, &figures), "yes");
	mark.required = 2.01;
	assert_string_equal(mark_verdict(&mark, &figures), "no");
	mark = make_mark(MARK_CPU, 0.5);
	mark_measure(&mark, &results, &figures);
	assert_true(figures.ratio == 0.5 && figures.against_cpu_s_per_gib == 2);
	assert_string_equal(mark_verdict(&mark, &figures), "yes");
	mark.required = 0.49;
	assert_string_equal(mark_verdict(&mark, &figures), "no");
}

static void test_unknown(void **state)
{
	(void)state;
	struct result row = ok_row("a", 1, 10, 1);
	const struct results results = { .rows = &row, .count = 1 };
	struct mark mark = make_mark(MARK_RATE, 1);
	struct mark_figures figures;
	AUTO_TEXT csv = { 0 };
	mark_measure(&mark, &results, &figures);
	assert_int_equal(figures.rounds, 0);
	assert_string_equal(mark_verdict(&mark, &figures), "unknown");
	mark_row(&mark, &figures, &csv);
	assert_string_equal(csv.data, "s,a,b,rate,0,,,,,,,,1.00,unknown\n");
	mark.required = (double)NAN;
	assert_string_equal(mark_verdict(&mark, &figures), "");
}

static void test_sums(void **state)
{
	(void)state;
	struct result rows[] = { ok_row("a", 1, 10, 3), ok_row("b", 1, 5, 2),
				 ok_row("c", 1, 9, 0.5), ok_row("a", 2, 10, 3),
				 ok_row("b", 2, 5, 2) };
	const struct results results = { .rows = rows, .count = ARRAY_SIZE(rows) };
	struct mark mark = { "s", "a", "b+c", MARK_CPU, 1.3 };
	struct mark_figures figures;
	mark_measure(&mark, &results, &figures);
	assert_int_equal(figures.rounds, 1); /* c has none in the second */
	assert_true(figures.against_cpu_s_per_gib == 2.5 && figures.ratio == 1.2);
	assert_true(isnan(figures.against_bps));
	assert_string_equal(mark_verdict(&mark, &figures), "yes");
}

/* One case alone: how far its runs are apart. */
static void test_spreads(void **state)
{
	(void)state;
	struct result rows[] = { ok_row("a", 1, 80, 2), ok_row("a", 2, 100, 3),
				 ok_row("a", 3, 110, 4), ok_row("b", 1, 9999, 99) };
	const struct results results = { .rows = rows, .count = ARRAY_SIZE(rows) };
	struct mark mark = { "s", "a", "", MARK_SPREAD, 0.25 };
	struct mark_figures figures;
	mark_measure(&mark, &results, &figures);
	assert_int_equal(figures.rounds, 3);
	assert_true(figures.ours_bps == 100 && figures.ratio_low == 0.8);
	assert_true(figures.ratio > 0.199 && figures.ratio < 0.201); /* the slow one is farther */
	assert_string_equal(mark_verdict(&mark, &figures), "yes");
	rows[0].goodput_bps = 70;
	mark_measure(&mark, &results, &figures);
	assert_string_equal(mark_verdict(&mark, &figures), "no");
	mark = (struct mark){ "s", "a", "", MARK_CPU_SINK_SPREAD, 1.9 };
	mark_measure(&mark, &results, &figures);
	assert_true(figures.ratio == 2 && figures.ours_cpu_s_per_gib == 1.5);
	assert_string_equal(mark_verdict(&mark, &figures), "no");
}

/* What is not installed is no failure of ours, and is said. */
static void test_skipped(void **state)
{
	(void)state;
	struct result rows[] = { ok_row("a", 1, 10, 3), ok_row("bb", 1, 0, 0) };
	rows[1].status = STATUS_UNAVAILABLE;
	const struct results results = { .rows = rows, .count = ARRAY_SIZE(rows) };
	struct mark mark = { "s", "a", "bb", MARK_RATE, 4 };
	struct mark_figures figures;
	mark_measure(&mark, &results, &figures);
	assert_string_equal(mark_verdict(&mark, &figures), "skipped");
	text_copy(mark.against, sizeof(mark.against), "b");
	mark_measure(&mark, &results, &figures);
	assert_string_equal(mark_verdict(&mark, &figures), "unknown");
}

static void test_bad_lines(void **state)
{
	(void)state;
	static const char *const lines[] = { "s,a,b,speed,1\n", "s,a,b,spread,1\n",
					     "s,a,,rate,1\n",   "s,a,b+c,rate,1\n",
					     "s,a,b,rate,x\n",  "s,a,b,rate\n" };
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct csv_reader reader;
		struct error err = { 0 };
		struct mark mark;
		csv_reader_init(&reader, "marks", lines[i], strlen(lines[i]));
		assert_int_equal(mark_read(&reader, &mark, &err), -1);
		assert_int_equal(err.kind, ERROR_CONFIG);
		csv_reader_free(&reader);
	}
}

static void test_file(void **state)
{
	(void)state;
	static const char text[] = "study,ours,against,measure,required\n"
				   "s,a,b,rate,1.05\ns,a,c,cpu,\ns,a,c,speed,1\n";
	struct csv_reader reader;
	struct error err = { 0 };
	struct mark mark;
	csv_reader_init(&reader, "marks", text, sizeof(text) - 1);
	assert_int_equal(mark_read_header(&reader, &err), 0);
	assert_int_equal(mark_read(&reader, &mark, &err), 1);
	assert_string_equal(mark.against, "b");
	assert_true(mark.required == 1.05 && mark.measure == MARK_RATE);
	assert_int_equal(mark_read(&reader, &mark, &err), 1);
	assert_true(isnan(mark.required) && mark.measure == MARK_CPU);
	assert_int_equal(mark_read(&reader, &mark, &err), -1);
	assert_int_equal(err.kind, ERROR_CONFIG);
	csv_reader_free(&reader);
	csv_reader_init(&reader, "marks", text + 6, sizeof(text) - 7);
	assert_int_equal(mark_read_header(&reader, &err), -1);
	csv_reader_free(&reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs_by_round), cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_sums),           cmocka_unit_test(test_spreads),
		cmocka_unit_test(test_skipped),        cmocka_unit_test(test_bad_lines),
		cmocka_unit_test(test_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
