/* How busy all CPUs of this host are, from /proc/stat: the published "Avg. CPU %". */
#ifndef LINEFILL_AGENT_HOSTCPU_H
#define LINEFILL_AGENT_HOSTCPU_H

#include <stdint.h>

#include "harness/base/error.h"

/* Since boot, summed over CPUs, in clock ticks (10 ms). Busy: user, nice, system, irq and softirq;
 * time waiting for a disk or stolen by a hypervisor is in total only. */
struct hostcpu {
	uint64_t busy, total;
};

int hostcpu_read(struct hostcpu *now, struct error *err) MUST_CHECK;
/* The text of /proc/stat, parsed. */
int hostcpu_parse(const char *text, struct hostcpu *now, struct error *err) MUST_CHECK;
/* 0 to 100; NAN when no tick passed in between. */
double hostcpu_busy_pct(struct hostcpu before, struct hostcpu after);

#endif
