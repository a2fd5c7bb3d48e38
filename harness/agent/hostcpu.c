#include "harness/agent/hostcpu.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/usage.h"

#define TICK_S           0.01
#define SPAN_LEAST_S     0.25
#define SPAN_LEAST_TICKS 50

int hostcpu_parse(const char *text, struct hostcpu *now, struct error *err)
{
	/* proc(5): user nice system idle iowait irq softirq steal (guest times are in user and
	 * nice). */
	uint64_t t[8] = { 0 };
	int count = sscanf(text,
			   "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
			   " %" SCNu64 " %" SCNu64 " %" SCNu64,
			   &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]);
	if (count < 7)
		return error_set(err, ERROR_SYSTEM, 0, "/proc/stat does not start with CPU times");
	now->busy = t[0] + t[1] + t[2] + t[5] + t[6];
	now->total = now->busy + t[3] + t[4] + t[7];
	now->work = t[0] + t[1] + t[2];
	now->steal = t[7];
	return 0;
}

int hostcpu_read(struct hostcpu *now, struct error *err)
{
	AUTO_FREE char *text = NULL;
	if (file_read_all("/proc/stat", 1 << 22, &text, NULL, err) < 0)
		return -1;
	struct usage own = usage_of_process_alone();
	now->own_s = own.user_s + own.system_s;
	return hostcpu_parse(text, now, err);
}

double hostcpu_busy_pct(struct hostcpu before, struct hostcpu after)
{
	if (after.total <= before.total || after.busy < before.busy)
		return NAN;
	uint64_t total = after.total - before.total;
	uint64_t busy = after.busy - before.busy;
	/* The kernel may take back waiting time that it counted: total then lags behind. */
	return busy < total ? 100.0 * (double)busy / (double)total : 100;
}

struct hostcpu_span hostcpu_span(struct hostcpu before, struct hostcpu after, double seconds)
{
	if (seconds < SPAN_LEAST_S || after.total < before.total + SPAN_LEAST_TICKS ||
	    after.work < before.work || after.steal < before.steal)
		return (struct hostcpu_span){ NAN, NAN, NAN, NAN };
	return (struct hostcpu_span){
		.total_s = (double)(after.total - before.total) * TICK_S,
		.work_s = (double)(after.work - before.work) * TICK_S,
		.steal_s = (double)(after.steal - before.steal) * TICK_S,
		.own_s = after.own_s - before.own_s,
	};
}
