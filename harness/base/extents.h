/* Where a file's bytes lie on the disk. */
#ifndef LINEFILL_BASE_EXTENTS_H
#define LINEFILL_BASE_EXTENTS_H

#include <stdbool.h>

/* The file has blocks that belong to another file, too (a reflink, or what was deduplicated): what
 * btrfs, XFS and others tell by FIEMAP. False where the file system does not tell. */
bool extents_shared(int fd);

#endif
