/* Sink: the pages of large files exist before go, as nameless files of the right size that get
 * their names when their contents come. Nothing is left behind by who dies. One thread. */
#ifndef LINEFILL_TRANSPORTS_WIRE_PRETOUCH_H
#define LINEFILL_TRANSPORTS_WIRE_PRETOUCH_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/api/xfer.h"

/* Smaller files are made as usual: their pages are not what costs. */
#define PRETOUCH_LEAST_BYTES (1u << 20)
#define PRETOUCH_FILES_MAX   16384u

struct pretouch_file {
	const char *path; /* the manifest's */
	int fd;
};

/* In the order of the manifest, which is that of one stream. */
struct pretouch {
	struct pretouch_file *files;
	size_t count, next;
};

/* Makes and fills the files of xfer->files that are large and have no holes. UNSUPPORTED where the
 * file system has no nameless files, or there are too many. Takes as long as writing them. */
int pretouch_make(struct pretouch *pretouch, const struct xfer *xfer, struct error *err) MUST_CHECK;
/* Gives the file for path its name in folder. 1: *fd is the caller's; 0: there is none for it. */
int pretouch_take(struct pretouch *pretouch, const char *path, int folder, const char *name,
		  int *fd);
/* Safe on a zeroed object. */
void pretouch_free(struct pretouch *pretouch);

#endif
