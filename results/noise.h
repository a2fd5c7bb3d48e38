/* What disturbed the runs: CPU that others used, or that a hypervisor kept back. */
#ifndef LINEFILL_RESULTS_NOISE_H
#define LINEFILL_RESULTS_NOISE_H

#include "harness/base/text.h"
#include "results/summary.h"

/* Of the CPUs of a host, %: more is said. */
#define NOISE_PCT 10.0

/* A line for each case with such runs, of those that count; plain text, labels escaped. */
void noise_lines(const struct summary *summary, struct text *out);

#endif
