/* X against Y, paired by round: is the ratio of their rates told apart from 1?
 *
 * Student's t on the differences of log rates within the same round, which takes out what changes
 * from round to round. Of few rounds a pair's own variance may be small by luck: it is never taken
 * as smaller than the mean over all pairs of the study. Bonferroni over the pairs that are compared
 * makes the intervals hold together. By simulation (tests/unit/results/test_simulation.c) this
 * names a difference where there is none in less than 7 % of studies, for two humps, heavy tails,
 * drift and unequal scatter too, where the t of a pair's own variance fails in up to 30 %; and it
 * names a factor of 2 from 4 rounds. */
#ifndef LINEFILL_RESULTS_COMPARE_H
#define LINEFILL_RESULTS_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "results/statistics.h"

/* From how many rounds on a difference may be named; below it is only said what was seen. */
#define COMPARE_ROUNDS_MIN 4

struct comparison {
	size_t rounds;   /* pairs that were compared */
	double ratio;    /* X / Y: geometric mean of the rounds' ratios; NAN for no rounds */
	double variance; /* of a round's log ratio; NAN below 2 rounds */
	struct interval interval; /* of the ratio, simultaneous with the others' of the family; NAN
				     below COMPARE_ROUNDS_MIN, and before compare_settle */
};

enum compare_verdict { COMPARE_OBSERVED, COMPARE_NOT_TOLD_APART, COMPARE_DIFFERS };
extern const char *const compare_verdict_names[]; /* ends with NULL */

/* x[i] and y[i] are of the same round, positive and finite. */
struct comparison compare_pairs(const double *x, const double *y, size_t rounds);
/* Mean of the own variances of those with COMPARE_ROUNDS_MIN rounds; 0 for none. */
double compare_pooled_variance(const struct comparison *pairs, size_t count);
/* What the interval of a pair with so many rounds reaches to both sides, in standard errors; family
 * is the number of pairs that are compared. */
double compare_reach(size_t rounds, size_t family);
/* Gives the interval of a pair that has COMPARE_ROUNDS_MIN rounds. */
void compare_settle(struct comparison *pair, double pooled_variance, double reach);
/* The same pair the other way round. */
struct comparison compare_inverse(const struct comparison *pair);
bool compare_tested(const struct comparison *pair);
enum compare_verdict compare_verdict(const struct comparison *pair);

#endif
