/* CPU seconds and context switches, as getrusage(2) counts them: exact once every descendant is
 * reaped. */
#ifndef LINEFILL_BASE_USAGE_H
#define LINEFILL_BASE_USAGE_H

#include <stdint.h>

struct usage {
	double user_s, system_s;
	int64_t voluntary, involuntary; /* context switches */
};

/* This process and all descendants that it, or they, have waited for. */
struct usage usage_of_process(void);
struct usage usage_sum(struct usage a, struct usage b);
struct usage usage_since(struct usage now, struct usage before);

#endif
