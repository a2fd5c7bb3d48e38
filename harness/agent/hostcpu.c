#include "harness/agent/hostcpu.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"

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
	return 0;
}

int hostcpu_read(struct hostcpu *now, struct error *err)
{
	AUTO_FREE char *text = NULL;
	if (file_read_all("/proc/stat", 1 << 22, &text, NULL, err) < 0)
		return -1;
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
