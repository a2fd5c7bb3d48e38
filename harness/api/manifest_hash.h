/* The digests of files that are there: between the manifest's own files only. */
#ifndef LINEFILL_API_MANIFEST_HASH_H
#define LINEFILL_API_MANIFEST_HASH_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/api/manifest.h"

struct manifest_hash {
	int root_fd;
	const struct manifest_scan_options *options;
	const struct manifest *manifest; /* whose files; it does not change meanwhile, but for what
					    hashed writes into entry i */
	const bool *chosen;              /* one an entry; NULL: all files */
	bool look_shared;                /* see shared */
	/* File i, as it is now; shared: it has blocks that are another file's, too. Called on
	 * several threads, once a file. */
	void (*hashed)(void *context, size_t i, const struct manifest_entry *entry, bool shared);
	void *context;
};

/* The first file in the manifest's order that cannot be read is the error. */
int manifest_hash_files(const struct manifest_hash *order, struct error *err) MUST_CHECK;

#endif
