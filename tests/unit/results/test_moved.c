/* Bytes that never travelled are no throughput: who skips holes is no rival of who sends them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/cleanup.h"
#include "results/summary.h"
#include "results/verdict.h"

#define UNKNOWN RESULT_UNKNOWN_COUNT
#define GIB     (INT64_C(1) << 30)

struct run {
	const char *name;
	int64_t data_source, data_sink, line;
	double goodput_bps;
};

static void add(struct results *results, const struct run *run)
{
	struct result row;
	result_init(&row);
	text_copy(row.case_name, sizeof(row.case_name), run->name);
	row.round = 1;
	row.status = STATUS_OK;
	row.verified = VERIFIED_YES;
	row.payload_bytes = GIB;
	row.goodput_bps = run->goodput_bps;
	row.total_s = 8.0 * (double)GIB / run->goodput_bps;
	row.data_source_bytes = run->data_source;
	row.data_sink_bytes = run->data_sink;
	row.line_bytes = run->line;
	results_add(results, &row);
}

/* The runs of a study, a case each; ends with a NULL name. */
static void check(const struct run *runs, const enum case_kind *kinds, const char *says)
{
	struct results results = { 0 };
	struct summary summary;
	AUTO_TEXT text = { 0 };
	AUTO_TEXT table = { 0 };
	for (size_t i = 0; runs[i].name; i++)
		add(&results, &runs[i]);
	summary_make(&results, &summary);
	size_t ranked = 0;
	for (size_t i = 0; runs[i].name; i++) {
		assert_int_equal(summary.cases[i].kind, kinds[i]);
		assert_int_equal(summary.cases[i].rank > 0, kinds[i] == CASE_RANKED);
		ranked += kinds[i] == CASE_RANKED;
	}
	assert_int_equal(summary.ranked_size, ranked);
	verdict_moved(&summary, &text);
	if (text.length)
		text.data[text.length - 1] = '\0';
	assert_string_equal(text_string(&text), says);
	summary_table(&summary, &table);
	assert_int_equal(strstr(table.data, "less moved") != NULL, strstr(says, "less") != NULL);
	if (*says)
		assert_non_null(strstr(table.data, says));
	/* Nothing is lost: each case has its line. */
	for (size_t i = 0; runs[i].name; i++)
		assert_non_null(strstr(table.data, runs[i].name));
	summary_free(&summary);
	results_free(&results);
}

static void test_skippers_are_set_apart(void **state)
{
	(void)state;
	static const struct run runs[] = {
		{ "one-skips", 4096, 4096, 0, 3e12 },
		{ "two-sends", 4096, GIB, UNKNOWN, 1e9 },
		/* It made the holes at the sink: what was sent is known, and was all. */
		{ "three-sends", 4096, 4096, GIB, 2e9 },
		{ "four-stores", 4096, 4096, UNKNOWN, 5e9 },
		{ 0 },
	};
	static const enum case_kind kinds[] = { CASE_PART, CASE_RANKED, CASE_RANKED, CASE_PART };
	check(runs, kinds,
	      "less than the payload was sent (one-skips 0 B of 1.0 GiB, four-stores 4.0 KiB "
	      "of 1.0 GiB stored): the rest are holes or hard links; these rates are not ranked with those of "
	      "whole payloads");
}

static void test_all_skip(void **state)
{
	(void)state;
	static const struct run runs[] = {
		{ "one-skips", 4096, 4096, 4096, 3e12 },
		{ "two-skips", 4096, 4096, UNKNOWN, 1e12 },
		{ 0 },
	};
	static const enum case_kind kinds[] = { CASE_RANKED, CASE_RANKED };
	check(runs, kinds,
	      "less than the payload was sent (one-skips 4.0 KiB of 1.0 GiB, two-skips 4.0 KiB of "
	      "1.0 GiB stored): the rest are holes or hard links; the rates count them, too");
}

static void test_all_send(void **state)
{
	(void)state;
	static const struct run runs[] = {
		{ "one", GIB / 2, GIB, GIB, 3e9 },
		{ "two", GIB / 2, GIB, UNKNOWN, 1e9 },
		{ 0 },
	};
	static const enum case_kind kinds[] = { CASE_RANKED, CASE_RANKED };
	check(runs, kinds,
	      "of the payload, 512.0 MiB of 1.0 GiB are holes at the source, which all sent as zeros");
}

/* The last per cent is no matter, and old rows do not know. */
static void test_no_holes(void **state)
{
	(void)state;
	static const struct run runs[] = {
		{ "one", GIB, GIB, GIB, 3e9 },
		{ "two", UNKNOWN, UNKNOWN, UNKNOWN, 1e9 },
		{ "three", GIB / 1000 * 992, GIB / 1000 * 992, GIB / 1000 * 992, 2e9 },
		{ 0 },
	};
	static const enum case_kind kinds[] = { CASE_RANKED, CASE_RANKED, CASE_RANKED };
	check(runs, kinds, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_skippers_are_set_apart),
		cmocka_unit_test(test_all_skip),
		cmocka_unit_test(test_all_send),
		cmocka_unit_test(test_no_holes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
