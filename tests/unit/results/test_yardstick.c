/* What copies of files, and memory copies, are held against. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/cleanup.h"
#include "results/yardstick.h"

static struct result *add(struct results *results, const char *name, int64_t round, double bps)
{
	struct result row;
	result_init(&row);
	text_copy(row.case_name, sizeof(row.case_name), name);
	text_copy(row.transport, sizeof(row.transport), name);
	row.round = round;
	row.status = STATUS_OK;
	row.verified = VERIFIED_YES;
	row.goodput_bps = bps;
	results_add(results, &row);
	return &results->rows[results->count - 1];
}

static void assert_lines(const struct results *results, const char *wanted)
{
	AUTO_SUMMARY summary = { 0 };
	AUTO_TEXT lines = { 0 };
	summary_make(results, &summary);
	yardstick_lines(&summary, &lines);
	assert_string_equal(text_string(&lines), wanted);
}

static void test_files(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	for (int64_t round = 1; round <= 2; round++) {
		add(&results, "tcp", round, round == 1 ? 4e9 : 9e9);
		add(&results, "scp", round, 1e9);
		add(&results, "local", round, round == 1 ? 8e9 : 2e9)->ceiling = 1;
	}
	add(&results, "late", 3, 1e9); /* shares no round with it */
	/* 0.5 and 4.5, 0.125 and 0.5, by round. */
	assert_lines(&results, "of local, 5.00 Gbit/s: tcp 1.50, scp 0.25\n");
}

static void test_memory(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	add(&results, "tcp", 1, 9e9);
	add(&results, "iperf3", 1, 2e10)->verified = VERIFIED_COUNT;
	add(&results, "memory", 1, 3e10)->verified = VERIFIED_COUNT;
	struct result *null = add(&results, "null", 1, 9e10);
	null->verified = VERIFIED_COUNT;
	null->ceiling = 1;
	assert_lines(&results, "of iperf3, 20.0 Gbit/s: memory 1.50\n");
}

/* Without a yardstick, or with nothing to hold against it, nothing is said. */
static void test_nothing(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	add(&results, "local", 1, 8e9)->ceiling = 1;
	assert_lines(&results, "");
	AUTO_RESULTS others = { 0 };
	add(&others, "tcp", 1, 8e9);
	add(&others, "local", 1, 8e9)->ceiling = 1;
	others.rows[1].status = STATUS_FAILED;
	assert_lines(&others, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
