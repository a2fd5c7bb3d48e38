#include "harness/base/extents.h"

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdint.h>
#include <sys/ioctl.h>

#define EXTENTS_AT_ONCE 64

bool extents_shared(int fd)
{
	/* The extents follow the head in memory. */
	union {
		struct fiemap head;
		char room[sizeof(struct fiemap) + EXTENTS_AT_ONCE * sizeof(struct fiemap_extent)];
	} map;
	for (uint64_t at = 0;;) {
		map.head = (struct fiemap){ .fm_start = at,
					    .fm_length = FIEMAP_MAX_OFFSET - at,
					    .fm_extent_count = EXTENTS_AT_ONCE };
		if (ioctl(fd, FS_IOC_FIEMAP, &map.head) < 0 || map.head.fm_mapped_extents == 0)
			return false;
		const struct fiemap_extent *extents = map.head.fm_extents;
		for (unsigned i = 0; i < map.head.fm_mapped_extents; i++) {
			if (extents[i].fe_flags & FIEMAP_EXTENT_SHARED)
				return true;
			if (extents[i].fe_flags & FIEMAP_EXTENT_LAST)
				return false;
			at = extents[i].fe_logical + extents[i].fe_length;
		}
	}
}
