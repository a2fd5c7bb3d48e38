/* Rows for tests of summaries. For cmocka. */
#ifndef LINEFILL_TESTS_UNIT_RESULTS_SUMMARY_ROWS_H
#define LINEFILL_TESTS_UNIT_RESULTS_SUMMARY_ROWS_H

#include <math.h>
#include <string.h>

#include "results/summary.h"

static inline void assert_near(double value, double wanted)
{
	if (!(fabs(value - wanted) <= 1e-9 * fmax(1, fabs(wanted))))
		fail_msg("%.12g is not %.12g", value, wanted);
}

static inline void assert_has(const char *haystack, const char *needle)
{
	if (!strstr(haystack, needle))
		fail_msg("'%s' is not in:\n%s", needle, haystack);
}

/* An ok, verified run of 1 GiB. */
static inline struct result ok_row(const char *name, int64_t round, double goodput_bps)
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

static inline void add_ok(struct results *results, const char *name, int64_t round,
			  double goodput_bps)
{
	struct result row = ok_row(name, round, goodput_bps);
	results_add(results, &row);
}

static inline void add_bad(struct results *results, const char *name, enum result_status status,
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
static inline void fill(struct results *results)
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

static inline const struct summary_case *find(const struct summary *summary, const char *name)
{
	for (size_t i = 0; i < summary->count; i++)
		if (strcmp(summary->cases[i].row->case_name, name) == 0)
			return &summary->cases[i];
	fail_msg("no case %s", name);
	return NULL;
}

#endif
