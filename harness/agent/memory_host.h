/* What this host says about its memory: how much of it one may take, and whether a hypervisor takes
 * free pages back (a balloon). No privilege is needed. */
#ifndef LINEFILL_AGENT_MEMORY_HOST_H
#define LINEFILL_AGENT_MEMORY_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/error.h"

struct memory_room {
	uint64_t total_bytes;     /* the host's, or the least that a control group limits us to */
	uint64_t available_bytes; /* the least of MemAvailable and of what each control group (v1 or
				     v2) that we are in still allows */
};

struct memory_balloon {
	char kind[16];  /* "virtio", "hyper-v", "none" */
	bool reporting; /* it tells the host of free pages by itself, and the host takes them */
};

/* root: "", or a folder that has proc/ and sys/ beneath it, for tests. */
int memory_room(const char *root, struct memory_room *room, struct error *err) MUST_CHECK;
void memory_balloon_find(const char *root, struct memory_balloon *balloon);

/* How often somebody who wanted a huge page had to wait while the kernel moved others' pages out of
 * the way (compact_stall of /proc/vmstat); 0 where that is not told. Where it grows, memory is in
 * pieces: huge pages are slow to get, and balloons find nothing to take. */
uint64_t memory_stalls(const char *root);

/* What stays free, whatever is held: a sixteenth of the total, and at least 256 MiB, for
 * the tools that run meanwhile, socket buffers, and all others on the host. */
#define MEMORY_MARGIN_LEAST_BYTES (UINT64_C(256) << 20)
#define MEMORY_MARGIN_PART        16
/* Available less the margin; 0 when there is none. */
uint64_t memory_spare_bytes(const struct memory_room *room);

#endif
