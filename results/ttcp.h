/* A run as classic ttcp reports it: bytes, real seconds, KB a second (1 KB is 1024 bytes), I/O
 * calls, milliseconds a call, calls a second, user and system time, CPU, memory, page faults and
 * context switches. What is not known is shown as "-". */
#ifndef LINEFILL_RESULTS_TTCP_H
#define LINEFILL_RESULTS_TTCP_H

#include "harness/api/result.h"
#include "harness/base/text.h"
#include "results/csv.h"

/* Appends three lines for the transmitter and three for the receiver. */
void ttcp_lines(const struct result *result, struct text *out);
/* The run of every case whose total_s is the median of its ok runs (the faster of the middle two),
 * under the case's label. */
void ttcp_report(const struct results *results, struct text *out);

#endif
