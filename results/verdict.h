/* What the comparisons of a study say, in words: plain text, labels escaped. */
#ifndef LINEFILL_RESULTS_VERDICT_H
#define LINEFILL_RESULTS_VERDICT_H

#include "harness/base/text.h"
#include "results/summary.h"

/* What may be said of the first. */
enum verdict_claim {
	VERDICT_NOTHING,  /* less than two ranked cases */
	VERDICT_FEW,      /* too few rounds: it is only said what was seen */
	VERDICT_BASELINE, /* nothing: another case was named to be held against each */
	VERDICT_UNSHARED, /* the first has too few rounds in common with some other */
	VERDICT_CIRCLE,   /* each case is beaten by one */
	VERDICT_AHEAD,    /* the first leads, but is not told apart from some other */
	VERDICT_FASTEST,  /* the first differs from each other */
};
enum verdict_claim verdict_claim(const struct summary *summary);

/* "1.05", "13", "0.0031". */
#define VERDICT_RATIO_SIZE 48
const char *verdict_ratio_text(double ratio, char text[VERDICT_RATIO_SIZE]);
/* "0.79 to 1.26"; a bound that is not 1 is not shown as 1. */
void verdict_interval_text(const struct interval *interval, struct text *out);
/* The parts of the sentence. before: what stands before the case that is held against each other,
 * such as "observed in 3 rounds, too few to name a difference: "; after: what stands between it and
 * its rate; list: "1.05x tcp (not told apart: 0.79 to 1.26), 13x scp (10 to 16; 8 of 9 rounds)", or
 * "tcp 12x (10 to 15)" where it is a baseline. */
struct verdict_words {
	struct text before, after, list;
};
void verdict_words(const struct summary *summary, struct verdict_words *words);
void verdict_words_free(struct verdict_words *words);

/* A line where the baseline is none. */
void verdict_baseline_lost(const struct summary *summary, struct text *out);
/* A line each where the ratio by round and the medians disagree, for the pairs that are shown. */
void verdict_disagreements(const struct summary *summary, struct text *out);
/* A line each for runs that are far from the rest of their case. */
void verdict_far_runs(const struct summary *summary, struct text *out);
/* A line where the payload has holes. */
void verdict_moved(const struct summary *summary, struct text *out);
/* For a terminal: who is fastest and by how much, then the lines above. Nothing where there is
 * nothing to say. */
void verdict_add(const struct summary *summary, struct text *out);

#endif
