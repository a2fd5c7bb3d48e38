/* How large a difference must be for a study to name it. */
#ifndef LINEFILL_RESULTS_POWER_H
#define LINEFILL_RESULTS_POWER_H

#include <stddef.h>

/* The ratio of two rates that so many rounds tell apart in four studies of five. noise: the
 * standard deviation of the log ratio of two runs of a round (contest_noise); family: the pairs
 * that are compared, see compare.h. NAN below COMPARE_ROUNDS_MIN rounds. */
double power_tellable_ratio(size_t rounds, double noise, size_t family);

#endif
