/* How busy all CPUs of this host are, from /proc/stat: the published "Avg. CPU %", and who used
 * them. */
#ifndef LINEFILL_AGENT_HOSTCPU_H
#define LINEFILL_AGENT_HOSTCPU_H

#include <stdint.h>

#include "harness/base/error.h"

/* Since boot, summed over CPUs, in clock ticks (10 ms). Busy: user, nice, system, irq and softirq;
 * time waiting for a disk or stolen by a hypervisor is in total only. */
struct hostcpu {
	uint64_t busy, total;
	uint64_t work;  /* user, nice and system: what processes and kernel threads did */
	uint64_t steal; /* what a hypervisor gave to others while we wanted it */
	double own_s;   /* CPU time of this very process */
};

int hostcpu_read(struct hostcpu *now, struct error *err) MUST_CHECK;
/* The text of /proc/stat, parsed; own_s stays as it is. */
int hostcpu_parse(const char *text, struct hostcpu *now, struct error *err) MUST_CHECK;
/* 0 to 100; NAN when no tick passed in between. */
double hostcpu_busy_pct(struct hostcpu before, struct hostcpu after);

/* CPU seconds of all CPUs in between; all NAN where ticks cannot tell: below a quarter of a second,
 * or half a second of all CPUs together. */
struct hostcpu_span {
	double total_s, work_s, steal_s, own_s;
};
struct hostcpu_span hostcpu_span(struct hostcpu before, struct hostcpu after, double seconds);

#endif
