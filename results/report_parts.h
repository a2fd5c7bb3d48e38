/* Between the report's own files only: what it is made from, and its parts. */
#ifndef LINEFILL_RESULTS_REPORT_PARTS_H
#define LINEFILL_RESULTS_REPORT_PARTS_H

#include <jansson.h>
#include <stdbool.h>

#include "harness/base/text.h"
#include "results/results_folder.h"

struct report {
	const struct results_folder *data;
	const struct summary *summary;
	const json_t *study;      /* never NULL; an empty object where study.json is missing */
	char *svg;                /* the chart from "<svg" on, or NULL */
	struct error chart_error; /* why there is no chart */
	bool same_host;
};

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
/* report_encryption.c */
void report_encryption(const struct report *report, struct text *out);
/* report_study.c: facts out of study.json. */
void report_heading(const struct report *report, struct text *out);
void report_hosts(const struct report *report, struct text *out);
void report_dataset(const struct report *report, struct text *out);
void report_commands(const struct report *report, struct text *out);
void report_configuration(const struct report *report, struct text *out);

#endif
