/* What processes used, as getrusage(2) counts it: exact once every descendant is reaped. */
#ifndef LINEFILL_BASE_USAGE_H
#define LINEFILL_BASE_USAGE_H

#include <stdint.h>

struct usage {
	double user_s, system_s;
	int64_t voluntary, involuntary; /* context switches */
	int64_t minor_faults, major_faults;
	int64_t maxrss_bytes; /* the largest process's peak: neither a sum nor a difference */
};

/* This process, without its children. */
struct usage usage_of_process_alone(void);
/* This process and all descendants that it, or they, have waited for. */
struct usage usage_of_process(void);
struct usage usage_sum(struct usage a, struct usage b);
struct usage usage_since(struct usage now, struct usage before);

#endif
