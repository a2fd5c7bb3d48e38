/* Order statistics of few, skewed values: runs of a benchmark. No distribution is assumed. Values
 * may come in any order and are not changed; all must be finite. */
#ifndef LINEFILL_RESULTS_STATISTICS_H
#define LINEFILL_RESULTS_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

/* From how many values on a 95 % interval of the median exists: 1 - 2/2^n >= 0.95. */
#define STATISTICS_INTERVAL_MIN 6

struct interval {
	double low, high;
	double coverage; /* probability that it covers what it estimates; at least what was asked */
};

/* NAN for no values; the mean of the middle two for an even number. */
double statistics_median(const double *values, size_t count);
/* p in 0..1; linear between order statistics (type 7 of Hyndman and Fan, "Sample quantiles in
 * statistical packages", The American Statistician 50(4), 1996). NAN for no values. */
double statistics_quantile(const double *values, size_t count, double p);
/* Least and greatest value; NAN for none. */
void statistics_range(const double *values, size_t count, double *low, double *high);
/* The narrowest symmetric pair of order statistics x(k), x(n+1-k) that covers the median with at
 * least 95 %: 1 - 2 P(Binomial(n, 1/2) < k), exact (Hahn and Meeker, "Statistical Intervals", 1991,
 * section 5.2). False below STATISTICS_INTERVAL_MIN values: there is none. */
bool statistics_median_interval(const double *values, size_t count, struct interval *interval);
/* Mean, NAN for no values; sample variance (by count - 1), NAN below two. */
void statistics_mean_variance(const double *values, size_t count, double *mean, double *variance);
/* Student's t: the value that is exceeded with probability tail (above 0, at most 0.5) at that many
 * degrees of freedom; else NAN. By the incomplete beta function (Abramowitz and Stegun, "Handbook
 * of Mathematical Functions", 26.5.27), inverted by bisection. */
double statistics_t_quantile(double tail, double freedom);

/* From how many values on one of them can be called far from the rest. */
#define STATISTICS_FAR_MIN 5
/* Marks the values that are further from the median than five scaled median absolute deviations,
 * and than least; returns how many. Of normal values one set of 6 to 8 in twenty has such a one by
 * chance (3.5 deviations, as Iglewicz and Hoaglin, "How to Detect and Handle Outliers", 1993, have
 * it, mark one in seven). */
size_t statistics_mark_far(const double *values, size_t count, double least, bool *far);

#endif
