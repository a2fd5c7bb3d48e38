/* The hard links among a copy's files: between the manifest's own files only. */
#ifndef LINEFILL_API_MANIFEST_LINKS_H
#define LINEFILL_API_MANIFEST_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "harness/api/manifest.h"

/* One name of a file that has several. */
struct manifest_name {
	dev_t device;
	ino_t inode;
	nlink_t links;
	size_t entry; /* of the manifest that the copy is held against */
};

/* All zero is empty; names is the caller's to free. */
struct manifest_names {
	struct manifest_name *names;
	size_t count, capacity;
};

int manifest_names_add(struct manifest_names *names, size_t entry, const struct stat *status,
		       struct error *err) MUST_CHECK;

struct manifest_names_order {
	const struct manifest *wanted;
	/* That entry is no file of its own, and what it is instead. */
	void (*foreign)(void *context, size_t entry, const char *what);
	/* That entry is one more name of a file, as it may be: the original has links, too. */
	void (*again)(void *context, size_t entry);
	void *context;
};
/* Sorts, and looks at each file's names. */
void manifest_names_judge(struct manifest_names *names, const struct manifest_names_order *order);

#endif
