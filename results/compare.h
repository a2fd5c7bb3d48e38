/* X against Y, paired by round: is the ratio of their rates told apart from 1? */
#ifndef LINEFILL_RESULTS_COMPARE_H
#define LINEFILL_RESULTS_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "results/statistics.h"

struct comparison {
	size_t rounds; /* pairs that were compared */
	double ratio;  /* X / Y: Hodges-Lehmann estimate on log ratios; below 6 rounds the
			  median of the observed ratios. NAN for no pairs */
	struct interval interval; /* of the ratio; from 6 rounds: exact signed-rank interval of at
				     least 95 %; below: least and greatest ratio, coverage 0 */
	double p;                 /* exact two-sided Wilcoxon signed-rank; NAN below 6 rounds */
	double adjusted_p;        /* Holm over all comparisons of a set; set by compare_adjust */
};

/* x[i] and y[i] are of the same round, positive and finite. Wilcoxon, "Individual comparisons by
 * ranking methods", Biometrics Bulletin 1(6), 1945; Hodges and Lehmann, "Estimates of location
 * based on rank tests", Annals of Mathematical Statistics 34(2), 1963; interval: Hollander and
 * Wolfe, "Nonparametric Statistical Methods", section 3.3. Pairs without a difference are left out
 * of p; ties get mean ranks, with the exact distribution of those ranks. */
struct comparison compare_pairs(const double *x, const double *y, size_t rounds);
/* Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
 * Statistics 6(2), 1979. Comparisons without p are not counted. */
void compare_adjust(struct comparison *comparisons, size_t count);
/* True if the set's comparison says that X and Y differ: adjusted p below 0.05. */
bool compare_differs(const struct comparison *comparison);

/* The fewest rounds with which that many comparisons can each be told apart at all: the smallest p
 * is 2/2^n, and Holm multiplies it by their number. */
size_t compare_rounds_needed(size_t comparisons);

/* P(W <= w) for the signed-rank statistic of n differences without ties. */
double compare_signed_rank_cdf(size_t n, size_t w);

#endif
