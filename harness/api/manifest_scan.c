#include <fcntl.h>

#include "harness/api/manifest.h"
#include "harness/api/manifest_hash.h"
#include "harness/api/manifest_walk.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"

struct scan {
	struct manifest *manifest;
	const struct manifest_scan_options *options;
	int root_fd;
};

static int add_found(void *context, const struct manifest_entry *entry, const struct stat *status,
		     struct error *err)
{
	const struct scan *scan = context;
	(void)status;
	if (entry->type == MANIFEST_LINK && scan->options->skip_links)
		return 0;
	return manifest_add(scan->manifest, entry, err);
}

/* The entries so far are the queue of folders still to read: one folder is open at a time, however
 * deep or wide the tree is. */
static int list_tree(struct scan *scan, struct error *err)
{
	const struct manifest_walk walk = {
		.root_fd = scan->root_fd,
		.options = scan->options,
		.found = add_found,
		.context = scan,
	};
	if (manifest_walk_folder(&walk, "", err) < 0)
		return -1;
	for (size_t i = 0; i < scan->manifest->count; i++) {
		const struct manifest_entry *entry = &scan->manifest->entries[i];
		if (entry->type == MANIFEST_FOLDER &&
		    manifest_walk_folder(&walk, entry->path, err) < 0)
			return -1;
	}
	return 0;
}

static void keep_hashed(void *context, size_t i, const struct manifest_entry *entry, bool shared)
{
	const struct scan *scan = context;
	(void)shared;
	scan->manifest->entries[i] = *entry;
}

static int hash_tree(struct scan *scan, struct error *err)
{
	const struct manifest_hash order = {
		.root_fd = scan->root_fd,
		.options = scan->options,
		.manifest = scan->manifest,
		.hashed = keep_hashed,
		.context = scan,
	};
	return manifest_hash_files(&order, err);
}

static int scan_root(struct scan *scan, const char *root, bool contents, struct error *err)
{
	static const struct manifest_scan_options defaults = { .deadline_ns = CLOCK_NEVER };
	if (!scan->options)
		scan->options = &defaults;
	struct stat status;
	AUTO_FD fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status) < 0)
		return manifest_cannot("open folder", root, err);
	scan->root_fd = fd;
	scan->manifest->root_mode = status.st_mode;
	char shown[MANIFEST_SHOWN_SIZE];
	if (list_tree(scan, err) < 0 || (contents && hash_tree(scan, err) < 0) ||
	    manifest_finish(scan->manifest, err) < 0) {
		manifest_free(scan->manifest);
		return error_wrap(err, "in %s", manifest_shown(shown, root));
	}
	return 0;
}

int manifest_list(struct manifest *manifest, const char *root,
		  const struct manifest_scan_options *options, struct error *err)
{
	struct scan scan = { .manifest = manifest, .options = options };
	return scan_root(&scan, root, false, err);
}

int manifest_scan(struct manifest *manifest, const char *root,
		  const struct manifest_scan_options *options, struct error *err)
{
	struct scan scan = { .manifest = manifest, .options = options };
	return scan_root(&scan, root, true, err);
}
