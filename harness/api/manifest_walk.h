/* Reading a tree that is there: between the manifest's own files only. */
#ifndef LINEFILL_API_MANIFEST_WALK_H
#define LINEFILL_API_MANIFEST_WALK_H

#include <sys/stat.h>

#include "harness/api/manifest.h"

struct manifest_walk {
	int root_fd;
	const struct manifest_scan_options *options;
	/* What lies in a folder, without digest and hole_bytes; its strings last for the call. */
	int (*found)(void *context, const struct manifest_entry *entry, const struct stat *status,
		     struct error *err);
	void *context;
};

/* Calls found for all that is in one folder ("" is the root), not for what is deeper. */
int manifest_walk_folder(const struct manifest_walk *walk, const char *folder,
			 struct error *err) MUST_CHECK;

/* manifest_open as the options say. */
int manifest_open_in(int root_fd, const char *path, int flags,
		     const struct manifest_scan_options *options);
/* -1 where options say that it is time to stop. */
int manifest_stopped(const struct manifest_scan_options *options, struct error *err) MUST_CHECK;
/* An error of errno that names what and the path. Always -1. */
int manifest_cannot(const char *what, const char *path, struct error *err);

#endif
