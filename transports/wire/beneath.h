/* Reaching files by relative path without ever leaving a root folder: no symbolic link on the way
 * is followed. The folder reached last stays open, so that deep trees cost no more than flat ones.
 * One thread. */
#ifndef LINEFILL_TRANSPORTS_WIRE_BENEATH_H
#define LINEFILL_TRANSPORTS_WIRE_BENEATH_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/error.h"

#define BENEATH_PATH_SIZE 4096

struct beneath {
	int root;
	int folder;                   /* the folder that path names; -1 while it is the root */
	size_t length;                /* of path */
	char path[BENEATH_PATH_SIZE]; /* relative, not terminated */
};

#define BENEATH_CLOSED ((struct beneath){ .root = -1, .folder = -1 })

/* Opens root, which may be a symbolic link. */
int beneath_open(struct beneath *beneath, const char *root, struct error *err) MUST_CHECK;
/* The folder that path lies in, and in *name path's last part. The descriptor stays ours and is
 * good until the next call. */
int beneath_enter(struct beneath *beneath, const char *path, const char **name,
		  struct error *err) MUST_CHECK;
/* Safe on BENEATH_CLOSED and after a failed open. */
void beneath_close(struct beneath *beneath);

#endif
