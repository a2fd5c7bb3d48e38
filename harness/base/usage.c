#include "harness/base/usage.h"

#include <sys/resource.h>

static double seconds(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

static struct usage usage_from(int who)
{
	struct rusage raw = { 0 };
	getrusage(who, &raw);
	return (struct usage){
		.user_s = seconds(raw.ru_utime),
		.system_s = seconds(raw.ru_stime),
		.voluntary = raw.ru_nvcsw,
		.involuntary = raw.ru_nivcsw,
		.minor_faults = raw.ru_minflt,
		.major_faults = raw.ru_majflt,
		.maxrss_bytes = raw.ru_maxrss * 1024, /* KiB, see getrusage(2) */
	};
}

struct usage usage_of_process_alone(void)
{
	return usage_from(RUSAGE_SELF);
}

struct usage usage_of_process(void)
{
	return usage_sum(usage_from(RUSAGE_SELF), usage_from(RUSAGE_CHILDREN));
}

struct usage usage_sum(struct usage a, struct usage b)
{
	return (struct usage){
		.user_s = a.user_s + b.user_s,
		.system_s = a.system_s + b.system_s,
		.voluntary = a.voluntary + b.voluntary,
		.involuntary = a.involuntary + b.involuntary,
		.minor_faults = a.minor_faults + b.minor_faults,
		.major_faults = a.major_faults + b.major_faults,
		.maxrss_bytes = a.maxrss_bytes > b.maxrss_bytes ? a.maxrss_bytes : b.maxrss_bytes,
	};
}

struct usage usage_since(struct usage now, struct usage before)
{
	return (struct usage){
		.user_s = now.user_s - before.user_s,
		.system_s = now.system_s - before.system_s,
		.voluntary = now.voluntary - before.voluntary,
		.involuntary = now.involuntary - before.involuntary,
		.minor_faults = now.minor_faults - before.minor_faults,
		.major_faults = now.major_faults - before.major_faults,
		.maxrss_bytes = now.maxrss_bytes,
	};
}
