/* Touched memory for a copy that goes to RAM, held between runs: what the host backs stays backed.
 * A process of its own holds it, so that forking workers stays cheap; if memory gets short, the
 * kernel ends that process before any other. It ends with the agent. */
#ifndef LINEFILL_AGENT_MEMORY_RESERVE_H
#define LINEFILL_AGENT_MEMORY_RESERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/api/manifest.h"
#include "harness/base/child.h"

struct memory_reserve {
	struct child holder;
	int fd; /* shutting it down makes the holder let go; -1: nothing is held */
	uint64_t wanted_bytes;
	uint64_t held_bytes; /* less than wanted where memory is short; after a release: what was
				held until then */
};

#define MEMORY_RESERVE_NONE ((struct memory_reserve){ .holder = CHILD_NONE, .fd = -1 })

/* What a copy of these files takes on a file system in RAM, with what tools need besides. */
uint64_t memory_reserve_need(const struct manifest *files);
/* Touches and holds wanted bytes, or as many of them as are spare (see memory_host.h), which may be
 * none. One that is held already stays if it is as wanted. root: see memory_host.h. */
int memory_reserve_take(struct memory_reserve *reserve, const char *root, uint64_t wanted,
			const struct io_limit *limit, struct error *err) MUST_CHECK;
bool memory_reserve_is_held(const struct memory_reserve *reserve);
/* All of it is free when this returns. held_bytes becomes 0 if the kernel had ended the holder. */
void memory_reserve_release(struct memory_reserve *reserve);

#endif
