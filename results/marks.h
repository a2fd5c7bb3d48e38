/* What a benchmark asks of us: one case against others, paired by round, or how steady a case is.
 */
#ifndef LINEFILL_RESULTS_MARKS_H
#define LINEFILL_RESULTS_MARKS_H

#include <stdbool.h>

#include "results/csv.h"

enum mark_measure {
	MARK_RATE,   /* goodput, ours by theirs: at least */
	MARK_CPU,    /* CPU seconds per GiB of both ends, ours by theirs: at most */
	MARK_SPREAD, /* the run farthest from ours' median rate, as a share of that: at most */
	MARK_CPU_SINK_SPREAD, /* CPU seconds per GiB of ours' sink, most by least: at most */
};
extern const char *const mark_measure_names[]; /* ends with NULL */

struct mark {
	/* against: of CPU it may be the sum of several cases, "local+iperf3"; none for a spread. */
	char study[64], ours[96], against[96];
	enum mark_measure measure;
	double required; /* NAN: for information */
};

/* Medians over the rounds in which all were ok. NAN where there is none. */
struct mark_figures {
	size_t rounds;
	bool missing; /* a case has no tool to run: the mark is skipped */
	double ours_bps, against_bps;
	double ours_cpu_s_per_gib, against_cpu_s_per_gib; /* both ends */
	double ratio, ratio_low, ratio_high; /* of the measure, and the range over the rounds; of a
						spread: least and most by the median */
};

/* The next line of a file of marks, whose header is study,ours,against,measure,required. 1, 0 at
 * the end, -1 with CONFIG. */
int mark_read(struct csv_reader *reader, struct mark *mark, struct error *err) MUST_CHECK;
/* Reads and checks the header line. */
int mark_read_header(struct csv_reader *reader, struct error *err) MUST_CHECK;
void mark_measure(const struct mark *mark, const struct results *results,
		  struct mark_figures *figures);
/* "yes", "no", "" without a requirement, "skipped" where a tool is not installed, "unknown" without
 * figures. */
bool mark_is_least(const struct mark *mark); /* the requirement is a least; else a most */
const char *mark_verdict(const struct mark *mark, const struct mark_figures *figures);
void mark_header(struct text *csv);
void mark_row(const struct mark *mark, const struct mark_figures *figures, struct text *csv);

#endif
