/* What the rows of a study say, case by case. Only ok rows whose copy was verified give rates. */
#ifndef LINEFILL_RESULTS_SUMMARY_H
#define LINEFILL_RESULTS_SUMMARY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "harness/api/result.h"
#include "harness/base/error.h"
#include "harness/base/text.h"
#include "results/compare.h"
#include "results/csv.h"

enum spread_kind {
	SPREAD_NONE,
	SPREAD_RANGE,    /* least and greatest: below 6 runs */
	SPREAD_INTERVAL, /* 95 % interval of the median: from 6 runs */
};

enum case_kind {
	CASE_RANKED,
	CASE_CEILING, /* bytes were counted, no copy was made, or it never saw the line: an upper
			 bound, not a rival */
	CASE_NO_RATE, /* no run that counts; see first_of */
};
extern const char *const case_kind_names[];   /* ranked, ceiling, none; ends with NULL */
extern const char *const spread_kind_names[]; /* none, range, interval; ends with NULL */

/* Medians over the runs that count; NAN where no run knows the value. */
struct case_medians {
	double goodput_bps, total_s, setup_s;
	double cpu_source_s, cpu_sink_s;
	double cpu_source_host_pct, cpu_sink_host_pct;
	double cpu_source_s_per_gib, cpu_sink_s_per_gib;
	double sd_source_us_per_kib, sd_sink_us_per_kib;
};

struct summary_case {
	const struct result *row; /* one that speaks for the case: the first that counts, else the
				     first */
	const struct result **counted; /* rows that give rates, in order of time */
	size_t counted_size;
	size_t runs;
	size_t by_status[STATUS_COUNT];
	size_t missing; /* planned runs without a row; see summary_expect */
	enum case_kind kind;
	size_t rank; /* from 1, the fastest; 0 unless CASE_RANKED */
	struct case_medians median;
	enum spread_kind spread;
	double goodput_low_bps, goodput_high_bps;    /* the spread */
	const struct result *first_of[STATUS_COUNT]; /* first row of that status that does not
							count, or NULL */
};

struct summary {
	struct summary_case *cases; /* in the order in which the rows name them */
	size_t count;
	size_t *ranked; /* indices of CASE_RANKED cases, the fastest first */
	size_t ranked_size;
	size_t planned, missing; /* runs, and those of them without a row, also of cases that have
				    none at all; planned 0: unknown */
};

/* The rows must outlive the summary. */
void summary_make(const struct results *results, struct summary *summary);
/* Counts what is missing, as after a study that was killed, from study.json (an empty object says
 * nothing). One row that says that its case cannot be run stands for all rounds. */
void summary_expect(struct summary *summary, const struct results *results, const json_t *study);
/* "2 of 6 planned runs have no row ..." as a sentence without its full stop; nothing when none is
 * missing. */
void summary_missing_text(const struct summary *summary, struct text *out);
void summary_free(struct summary *summary);
#define AUTO_SUMMARY __attribute__((cleanup(summary_free))) struct summary

/* The case's label, or its name where it has none. */
const char *summary_label(const struct summary_case *one);
/* Every run that counts was compared with the original. */
bool summary_compared(const struct summary_case *one);
/* A row that gives rates: ok, verified, with a rate. */
bool summary_row_counts(const struct result *row);
/* How many runs of that status do not count; for STATUS_OK those that are ok without a rate. */
size_t summary_failed_runs(const struct summary_case *one, enum result_status status);
/* "unsupported", "2 failed, 1 timeout": what became of the runs that do not count. */
void summary_failed_text(const struct summary_case *one, struct text *out);
/* Goodput of a against b, paired by round: the last counted row of each in every round both have.
 */
struct comparison summary_compare(const struct summary_case *a, const struct summary_case *b);
/* Every pair of ranked cases, with Holm over all of them: entry [i * ranked_size + j], i < j by
 * rank from 0, compares the i-th with the j-th; the other entries have no rounds. The caller frees.
 */
struct comparison *summary_compare_all(const struct summary *summary);

/* summary.csv: a line a case. */
int summary_write(const struct summary *summary, const char *path, struct error *err) MUST_CHECK;
/* The table for a terminal: ranked cases, ceilings, then failures with their errors. */
void summary_table(const struct summary *summary, struct text *out);

/* Mbit/s (decimal) with three digits or more: "9812", "98.1", "0.98"; "-" for NAN. */
#define SUMMARY_NUMBER_SIZE 32
const char *summary_mbit_text(double bps, char text[SUMMARY_NUMBER_SIZE]);
/* %.*f, or "-" for NAN. */
const char *summary_number_text(double number, int decimals, char text[SUMMARY_NUMBER_SIZE]);
#endif
