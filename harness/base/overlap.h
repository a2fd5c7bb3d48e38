/* Do two folders overlap? By device and inode along their paths, so that symbolic links and bind
 * mounts hide nothing. */
#ifndef LINEFILL_BASE_OVERLAP_H
#define LINEFILL_BASE_OVERLAP_H

#include "harness/base/error.h"

enum overlap {
	OVERLAP_NONE,
	OVERLAP_SAME,   /* the folder is the tree */
	OVERLAP_INSIDE, /* it lies in the tree, or would be made there */
	OVERLAP_ABOVE,  /* the tree lies in it */
};

/* How does the folder lie to the tree? tree must exist; of a folder that does not, the nearest one
 * above it that does counts, as it would be made in there. Walks through the tree's folders, and
 * skips those it may not read. */
int overlap_find(const char *folder, const char *tree, enum overlap *overlap,
		 struct error *err) MUST_CHECK;

#endif
