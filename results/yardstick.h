/* What a case is held against: copies of files against a verified copy that never saw a line (the
 * transport local), which pays for fresh files as they do; memory copies against iperf3. */
#ifndef LINEFILL_RESULTS_YARDSTICK_H
#define LINEFILL_RESULTS_YARDSTICK_H

#include "harness/base/text.h"
#include "results/summary.h"

/* A line for each of the two that the study has: "of local, 13.2 Gbit/s: tcp 1.00,
 * multi:streams=4 1.12"; plain text, labels escaped. Shares are geometric means over the rounds
 * that both have. */
void yardstick_lines(const struct summary *summary, struct text *out);

#endif
