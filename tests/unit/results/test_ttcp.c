#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/cleanup.h"
#include "results/ttcp.h"

static struct result ok_row(const char *name, int round, double total_s)
{
	struct result row;
	result_init(&row);
	snprintf(row.case_name, sizeof(row.case_name), "%s", name);
	snprintf(row.label, sizeof(row.label), "%s", name);
	row.round = round;
	row.status = STATUS_OK;
	row.payload_bytes = 8192000000;
	row.total_s = total_s;
	return row;
}

static void assert_has(const struct text *text, const char *wanted)
{
	if (!strstr(text->data, wanted))
		fail_msg("no '%s' in:\n%s", wanted, text->data);
}

/* The published example: 8,192,000,000 bytes in 19.569 s are 408815.576 KB/sec at 8 % CPU. */
static void test_published_example(void **state)
{
	(void)state;
	AUTO_TEXT out = { 0 };
	struct result row = ok_row("e1000", 1, 8000000 / 408815.576);
	row.cpu_source_user_s = 0.066;
	row.cpu_source_system_s = 1.5;
	row.source_counts = (struct result_counts){ .io_calls = 1000000,
						    .maxrss_bytes = 2048 * 1024,
						    .minor_faults = 21,
						    .major_faults = 0,
						    .csw_voluntary = 13654,
						    .csw_involuntary = 12 };
	ttcp_lines(&row, &out);
	assert_has(&out,
		   "ttcp-t: 8192000000 bytes in 19.569 real seconds = 408815.576 KB/sec +++\n");
	assert_has(&out, "ttcp-t: 1000000 I/O calls, msec/call = 0.020, calls/sec = 51101.95\n");
	assert_has(&out,
		   "ttcp-t: 0.066user 1.500sys 19.569real 8% 2048maxrss 0+21pf 13654+12csw\n");
}

static void test_unknown_is_never_zero(void **state)
{
	(void)state;
	AUTO_TEXT out = { 0 };
	struct result row = ok_row("tool", 1, 2);
	ttcp_lines(&row, &out);
	assert_has(&out,
		   "ttcp-r: 8192000000 bytes in 2.000 real seconds = 4000000.000 KB/sec +++\n");
	assert_has(&out, "ttcp-r: - I/O calls, msec/call = -, calls/sec = -\n");
	assert_has(&out, "ttcp-r: -user -sys 2.000real -% -maxrss -+-pf -+-csw\n");
}

/* One block a case, in the order of the file: the median run; what is not ok has no lines. */
static void test_report_takes_the_median(void **state)
{
	(void)state;
	AUTO_TEXT out = { 0 };
	struct result rows[] = { ok_row("a", 1, 9), ok_row("b", 1, 4), ok_row("a", 2, 2),
				 ok_row("b", 2, 3), ok_row("a", 3, 5), ok_row("bad", 1, 1) };
	rows[5].status = STATUS_FAILED;
	const struct results results = { .rows = rows, .count = ARRAY_SIZE(rows) };
	ttcp_report(&results, &out);
	assert_has(&out, "\na, round 3:\nttcp-t: 8192000000 bytes in 5.000 real");
	assert_has(&out, "\nb, round 2:\nttcp-t: 8192000000 bytes in 3.000 real");
	assert_null(strstr(out.data, "bad"));
	assert_null(strstr(out.data, "9.000"));
	assert_true(strstr(out.data, "\na, ") < strstr(out.data, "\nb, "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_published_example),
		cmocka_unit_test(test_unknown_is_never_zero),
		cmocka_unit_test(test_report_takes_the_median),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
