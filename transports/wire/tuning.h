/* What a case may ask of the machine for one worker. */
#ifndef LINEFILL_TRANSPORTS_WIRE_TUNING_H
#define LINEFILL_TRANSPORTS_WIRE_TUNING_H

#include "harness/base/error.h"

/* CONFIG, naming the option, unless the value is a CPU's number or "". */
int tuning_check_cpu(const char *option, const char *value, struct error *err) MUST_CHECK;
/* Keeps this process on one CPU; cpu is its number, "" leaves it to the kernel. CONFIG for anything
 * else, UNSUPPORTED for a CPU that is not there. */
int tuning_pin(const char *cpu, struct error *err) MUST_CHECK;
/* SO_MAX_PACING_RATE: the kernel sends no faster than that. bits_per_s is decimal; 0: no limit. */
int tuning_pace(int fd, double bits_per_s, struct error *err) MUST_CHECK;

#endif
