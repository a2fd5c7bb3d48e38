/* How fast is memory that was not in use for a while, and how fast memory that was in use a moment
 * ago? On a virtual machine whose host takes free pages back, the first costs a fault of the host's
 * for each page. */
#ifndef LINEFILL_AGENT_MEMORY_PROBE_H
#define LINEFILL_AGENT_MEMORY_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/agent/memory_host.h"
#include "harness/base/error.h"
#include "harness/base/io.h"

/* Memory counts as not in use when it was free for so long: a balloon takes a second or two. */
#define MEMORY_PROBE_IDLE_S 3.0
/* From this ratio on, first touch is so slow that copies into RAM would measure it. */
#define MEMORY_PROBE_RATIO 1.5

struct memory_probe_order {
	const char *root; /* see memory_host.h */
	/* The kernel hands out first what was freed last: so many windows of 64 MiB at most are
	 * touched, and kept, in search of memory that is old: 2 to MEMORY_PROBE_WINDOWS_MAX. */
	unsigned windows;
	/* Where there is a balloon and all that is found is fast, it may have been in use a moment
	 * ago: then look once more at that time. CLOCK_MONOTONIC; 0: do not. */
	int64_t wait_until_ns;
};
#define MEMORY_PROBE_WINDOWS_MAX 8

struct memory_probe {
	struct memory_balloon balloon;
	double first_bps, second_bps; /* bytes a second of CPU time; NAN: not measured, there was
					 too little memory */
};

/* A job (see job.h): argument is an order, result a probe. Takes up to 1 GiB, and gives it back. */
int memory_probe_job(const void *argument, void *result, const struct io_limit *limit,
		     struct error *err) MUST_CHECK;
/* Second by first; NAN when unknown. */
double memory_probe_ratio(const struct memory_probe *probe);
/* Must touched memory be held between runs? */
bool memory_probe_needs_reserve(const struct memory_probe *probe);

#endif
