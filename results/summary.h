/* What the rows of a study say, case by case. Only ok rows whose copy was verified give rates. */
#ifndef LINEFILL_RESULTS_SUMMARY_H
#define LINEFILL_RESULTS_SUMMARY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "harness/api/result.h"
#include "harness/base/error.h"
#include "harness/base/text.h"
#include "results/contest.h"
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
	CASE_PART,    /* a copy that is right, but not all of its payload travelled, while that of
			 others did */
	CASE_NO_RATE, /* no run that counts; see first_of */
};
extern const char *const case_kind_names[];   /* ranked, ceiling, part, none; ends with NULL */
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
	bool *far;       /* one a counted row: is it far from the case's median? */
	size_t far_size; /* how many are */
	size_t runs;
	size_t by_status[STATUS_COUNT];
	size_t missing; /* planned runs without a row; see summary_expect */
	enum case_kind kind;
	bool moved_less; /* in some run that counts less than the payload travelled: holes did not
			  */
	size_t rank;     /* from 1, the fastest; 0 unless CASE_RANKED */
	struct case_medians median;
	enum spread_kind spread;
	double goodput_low_bps, goodput_high_bps; /* the spread */
	double coverage; /* of the interval: 0.992 for 8 runs; NAN without one */
	size_t seat;     /* in the contest, from 1; 0: it takes no part */
	const struct result *first_of[STATUS_COUNT]; /* first row of that status that does not
							count, or NULL */
};

struct summary {
	struct summary_case *cases; /* in the order in which the rows name them */
	size_t count;
	size_t *ranked; /* indices of CASE_RANKED cases, the first first; see contest.h */
	size_t ranked_size;
	struct contest contest;
	size_t *seats;             /* case index of each seat of the contest */
	size_t rounds;             /* the last round of any row */
	const char *baseline_lost; /* a baseline that has no rate, so that the winner is taken */
	size_t planned, missing;   /* runs, and those of them without a row, also of cases that have
				      none at all; planned 0: unknown */
};

/* The rows must outlive the summary. The fastest is held against each other. */
void summary_make(const struct results *results, struct summary *summary);
/* Who is held against whom instead: the case of that name against each other (NULL: the fastest),
 * or all pairs. baseline must outlive the summary. */
void summary_choose_pairs(struct summary *summary, const char *baseline, bool all_pairs);
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
/* Sets apart, as CASE_PART, what did not send holes from what did; see moved_less. */
void summary_set_apart(struct summary *summary);
/* What was sent of the payload, where that is known; else what lies at the sink. */
int64_t summary_moved_bytes(const struct result *row);
/* The bytes are known, and less than 99 % of the payload: what lies at the end of blocks is no
 * matter. */
bool summary_is_less(int64_t bytes, const struct result *row);
/* The run that counts in which least of the payload was moved, or NULL where all moved all. */
const struct result *summary_least_moved(const struct summary_case *one);
/* Every run that counts was compared with the original. */
bool summary_compared(const struct summary_case *one);
/* A row that gives rates: ok, verified, with a rate. */
bool summary_row_counts(const struct result *row);
/* How many runs of that status do not count; for STATUS_OK those that are ok without a rate. */
size_t summary_failed_runs(const struct summary_case *one, enum result_status status);
/* "unsupported", "2 failed, 1 timeout": what became of the runs that do not count. */
void summary_failed_text(const struct summary_case *one, struct text *out);
/* Goodput of a by that of b, paired by round: the last counted row of each in every round that both
 * have. No rounds where one of them takes no part in the contest. */
struct comparison summary_pair(const struct summary *summary, const struct summary_case *a,
			       const struct summary_case *b);
/* The case that is held against each other; NULL where nothing is ranked. */
const struct summary_case *summary_reference(const struct summary *summary);
/* The case of that rank, from 1. */
const struct summary_case *summary_ranked(const struct summary *summary, size_t rank);

/* A pair that is compared: the reference against another; another against a named baseline; or any
 * two, the first by rank as x. */
struct summary_duel {
	const struct summary_case *x, *y;
	struct comparison pair; /* x by y */
};
/* The next one; *at starts as 0. False when there is none left. */
bool summary_next_duel(const struct summary *summary, size_t *at, struct summary_duel *duel);

/* summary.csv: a line a case. */
int summary_write(const struct summary *summary, const char *path, struct error *err) MUST_CHECK;
/* The table for a terminal: ranked cases, ceilings, what the comparisons say (verdict.h), then
 * failures with their errors. */
void summary_table(const struct summary *summary, struct text *out);

/* Mbit/s (decimal) with three digits or more: "9812", "98.1", "0.98", "0.000031"; "-" for NAN. */
#define SUMMARY_NUMBER_SIZE 48
const char *summary_mbit_text(double bps, char text[SUMMARY_NUMBER_SIZE]);
/* %.*f, or "-" for NAN. */
const char *summary_number_text(double number, int decimals, char text[SUMMARY_NUMBER_SIZE]);
/* "9.81 Gbit/s", "981 Mbit/s", "31.2 bit/s": three digits, decimal. */
#define SUMMARY_RATE_SIZE 64
const char *summary_rate_text(double bps, char text[SUMMARY_RATE_SIZE]);
/* The real coverage of the cases' intervals: "99.2 %", "96.9 to 99.2 %"; nothing without one. */
void summary_coverage_text(const struct summary *summary, struct text *out);
#endif
