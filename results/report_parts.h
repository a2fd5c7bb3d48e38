/* Between the report's own files only: what it is made from, and its parts. */
#ifndef LINEFILL_RESULTS_REPORT_PARTS_H
#define LINEFILL_RESULTS_REPORT_PARTS_H

#include <jansson.h>
#include <stdbool.h>

#include "harness/base/text.h"
#include "results/compare.h"
#include "results/csv.h"
#include "results/summary.h"

struct report {
	struct results results;
	struct summary summary;
	struct comparison *pairs; /* of the ranked cases: summary_compare_all */
	json_t *study;            /* never NULL; an empty object where study.json is missing */
	char *svg;                /* the chart from "<svg" on, or NULL */
	struct error chart_error; /* why there is no chart */
	bool same_host;
};

/* "9.81 Gbit/s", "981 Mbit/s": three digits, decimal. */
#define REPORT_RATE_SIZE 48
const char *report_rate_text(double bps, char text[REPORT_RATE_SIZE]);
/* Ranked i against ranked j (i < j), by rank from 0. */
const struct comparison *report_pair(const struct report *report, size_t i, size_t j);
const struct summary_case *report_ranked(const struct report *report, size_t i);
/* True if the two have the rounds that a p value needs; and how many pairs have. */
bool report_tested(const struct comparison *pair);
size_t report_tested_pairs(const struct report *report);

/* report_answer.c: the paragraph at the top, and what the chart shows for those who cannot see it.
 */
void report_answer(const struct report *report, struct text *out);
void report_chart_words(const struct report *report, struct text *out);
/* report_tables.c */
void report_ranking(const struct report *report, struct text *out);
void report_ceilings(const struct report *report, struct text *out);
void report_failures(const struct report *report, struct text *out);
/* report_compare.c */
void report_comparisons(const struct report *report, struct text *out);
void report_encryption(const struct report *report, struct text *out);
/* report_study.c: facts out of study.json. */
const char *report_string(const json_t *object, const char *key);
void report_heading(const struct report *report, struct text *out);
void report_hosts(const struct report *report, struct text *out);
void report_dataset(const struct report *report, struct text *out);
void report_commands(const struct report *report, struct text *out);
void report_configuration(const struct report *report, struct text *out);

#endif
