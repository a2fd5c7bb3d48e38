/* A copy against what it should be, entry by entry as they are found: a second manifest would take
 * as much memory as the first. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/api/manifest_compare.h"
#include "harness/api/manifest_hash.h"
#include "harness/api/manifest_walk.h"
#include "harness/base/cleanup.h"

struct check {
	const struct manifest *wanted;
	enum preserve preserve;
	bool *found, *chosen; /* one a wanted entry: it is there; its contents are to be hashed */
	/* Folders of the copy that are still to be read. */
	const char **folders;
	size_t count, capacity;
	struct manifest strange; /* keeps the paths of those that should not be there */
	uint64_t bytes;
	/* Shared by the hashing threads. */
	pthread_mutex_t lock;
	uint64_t differences;
	char first[MANIFEST_PATH_MAX + 1 + MANIFEST_NAME_MAX + 1]; /* in byte order */
	char what[MANIFEST_WHAT_SIZE];                             /* of the first */
};

static void note(struct check *check, const char *path, const char *what)
{
	pthread_mutex_lock(&check->lock);
	if (check->differences == 0 || strcmp(path, check->first) < 0) {
		snprintf(check->first, sizeof(check->first), "%s", path);
		snprintf(check->what, sizeof(check->what), "%s", what);
	}
	check->differences++;
	pthread_mutex_unlock(&check->lock);
}

static void compare(struct check *check, size_t i, const struct manifest_entry *copy)
{
	char what[MANIFEST_WHAT_SIZE];
	const struct manifest_entry *wanted = &check->wanted->entries[i];
	if (manifest_entries_differ(wanted, copy, check->preserve, what))
		note(check, wanted->path, what);
}

static int no_memory(struct error *err)
{
	errno = ENOMEM;
	return error_system(err, "verify");
}

/* path must stay where it is. */
static int push_folder(struct check *check, const char *path, struct error *err)
{
	if (check->count == check->capacity) {
		size_t capacity = check->capacity ? check->capacity * 2 : 64;
		const char **folders =
			reallocarray(check->folders, capacity, sizeof(check->folders[0]));
		if (!folders)
			return no_memory(err);
		check->folders = folders;
		check->capacity = capacity;
	}
	check->folders[check->count++] = path;
	return 0;
}

static int take_strange(struct check *check, const struct manifest_entry *entry, struct error *err)
{
	note(check, entry->path, MANIFEST_UNEXPECTED);
	if (entry->type != MANIFEST_FOLDER)
		return 0;
	if (manifest_add(&check->strange, entry, err) < 0)
		return -1;
	const struct manifest *strange = &check->strange;
	return push_folder(check, strange->entries[strange->count - 1].path, err);
}

static int take_found(void *context, const struct manifest_entry *entry, struct error *err)
{
	struct check *check = context;
	const struct manifest_entry *wanted =
		manifest_find(check->wanted, entry->path, strlen(entry->path));
	check->bytes += entry->size_bytes;
	if (!wanted)
		return take_strange(check, entry, err);
	size_t i = (size_t)(wanted - check->wanted->entries);
	check->found[i] = true;
	check->chosen[i] = entry->type == MANIFEST_FILE && wanted->type == MANIFEST_FILE &&
			   entry->size_bytes == wanted->size_bytes;
	if (!check->chosen[i])
		compare(check, i, entry);
	return entry->type == MANIFEST_FOLDER ? push_folder(check, wanted->path, err) : 0;
}

static int read_tree(struct check *check, const struct manifest_walk *walk, struct error *err)
{
	if (manifest_walk_folder(walk, "", err) < 0)
		return -1;
	while (check->count > 0)
		if (manifest_walk_folder(walk, check->folders[--check->count], err) < 0)
			return -1;
	return 0;
}

static void compare_hashed(void *context, size_t i, const struct manifest_entry *entry)
{
	compare(context, i, entry);
}

static int check_tree(struct check *check, const struct manifest_walk *walk, struct error *err)
{
	const struct manifest_hash order = {
		.root_fd = walk->root_fd,
		.options = walk->options,
		.manifest = check->wanted,
		.chosen = check->chosen,
		.hashed = compare_hashed,
		.context = check,
	};
	if (read_tree(check, walk, err) < 0 || manifest_hash_files(&order, err) < 0)
		return -1;
	for (size_t i = 0; i < check->wanted->count; i++)
		if (!check->found[i])
			note(check, check->wanted->entries[i].path, MANIFEST_MISSING);
	return 0;
}

static int check_root(struct check *check, const char *root,
		      const struct manifest_scan_options *options, struct error *err)
{
	AUTO_FD fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return manifest_cannot("open folder", root, err);
	const struct manifest_walk walk = {
		.root_fd = fd,
		.options = options,
		.found = take_found,
		.context = check,
	};
	char shown[MANIFEST_SHOWN_SIZE];
	if (check_tree(check, &walk, err) < 0)
		return error_wrap(err, "in %s", manifest_shown(shown, root));
	return manifest_report(check->first, check->what, check->differences, err);
}

int manifest_verify(const struct manifest *wanted, const char *root, enum preserve preserve,
		    const struct manifest_scan_options *options, uint64_t *bytes, struct error *err)
{
	*bytes = 0;
	AUTO_FREE bool *found = calloc(wanted->count + 1, sizeof(*found));
	AUTO_FREE bool *chosen = calloc(wanted->count + 1, sizeof(*chosen));
	if (!found || !chosen)
		return no_memory(err);
	struct check check = {
		.wanted = wanted,
		.preserve = preserve,
		.found = found,
		.chosen = chosen,
	};
	pthread_mutex_init(&check.lock, NULL);
	int result = check_root(&check, root, options, err);
	pthread_mutex_destroy(&check.lock);
	*bytes = check.bytes;
	free(check.folders);
	manifest_free(&check.strange);
	return result;
}
