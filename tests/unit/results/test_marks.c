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
		cmocka_unit_test(test_pairs_by_round),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
