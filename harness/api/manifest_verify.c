/* A tree against what it should be, entry by entry as they are found: a second manifest would take
 * as much memory as the first. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "harness/api/manifest_compare.h"
#include "harness/api/manifest_hash.h"
#include "harness/api/manifest_links.h"
#include "harness/api/manifest_walk.h"
#include "harness/base/cleanup.h"

/* Of one kind: how many, and the first in byte order. */
struct findings {
	uint64_t count;
	char first[MANIFEST_PATH_MAX + 1 + MANIFEST_NAME_MAX + 1];
	char what[MANIFEST_WHAT_SIZE];
};

struct verification {
	const struct manifest_check *check;
	const struct manifest *wanted;
	int root_fd;
	bool *present, *chosen; /* one a wanted entry: it is there; its contents are to be hashed */
	/* Folders of the tree that are still to be read. */
	const char **folders;
	size_t count, capacity;
	struct manifest strange;     /* keeps the paths of those that should not be there */
	struct manifest_names names; /* a fresh copy's hard links */
	/* Shared by the hashing threads. */
	pthread_mutex_t lock;
	struct manifest_found *found;
	struct findings differences, foreign; /* foreign: right, but no file of its own */
};

static void note(struct verification *verification, struct findings *findings, const char *path,
		 const char *what)
{
	pthread_mutex_lock(&verification->lock);
	if (findings->count == 0 || strcmp(path, findings->first) < 0) {
		snprintf(findings->first, sizeof(findings->first), "%s", path);
		snprintf(findings->what, sizeof(findings->what), "%s", what);
	}
	findings->count++;
	pthread_mutex_unlock(&verification->lock);
}

static void differ(struct verification *verification, const char *path, const char *what)
{
	note(verification, &verification->differences, path, what);
}

static void compare(struct verification *verification, size_t i, const struct manifest_entry *entry)
{
	char what[MANIFEST_WHAT_SIZE];
	const struct manifest_entry *wanted = &verification->wanted->entries[i];
	if (manifest_entries_differ(wanted, entry, verification->check->preserve, what))
		differ(verification, wanted->path, what);
}

static int no_memory(struct error *err)
{
	errno = ENOMEM;
	return error_system(err, "verify");
}

/* path must stay where it is. */
static int push_folder(struct verification *verification, const char *path, struct error *err)
{
	if (verification->count == verification->capacity) {
		size_t capacity = verification->capacity ? verification->capacity * 2 : 64;
		const char **folders = reallocarray(verification->folders, capacity,
						    sizeof(verification->folders[0]));
		if (!folders)
			return no_memory(err);
		verification->folders = folders;
		verification->capacity = capacity;
	}
	verification->folders[verification->count++] = path;
	return 0;
}

static int take_strange(struct verification *verification, const struct manifest_entry *entry,
			struct error *err)
{
	differ(verification, entry->path, MANIFEST_UNEXPECTED);
	if (entry->type != MANIFEST_FOLDER)
		return 0;
	if (manifest_add(&verification->strange, entry, err) < 0)
		return -1;
	const struct manifest *strange = &verification->strange;
	return push_folder(verification, strange->entries[strange->count - 1].path, err);
}

/* What changes with a file's contents, and with the file itself; never 0. */
static uint64_t mark_of(const struct stat *status)
{
	const uint64_t fields[] = {
		(uint64_t)status->st_dev,          (uint64_t)status->st_ino,
		(uint64_t)status->st_size,         (uint64_t)status->st_mtim.tv_sec,
		(uint64_t)status->st_mtim.tv_nsec, (uint64_t)status->st_ctim.tv_sec,
		(uint64_t)status->st_ctim.tv_nsec,
	};
	uint64_t mark = XXH3_64bits(fields, sizeof(fields));
	return mark ? mark : 1;
}

/* A file of the right size: is there reason to read it? */
static bool in_doubt(const struct manifest_check *check, size_t i, const struct stat *status)
{
	if (!check->marks)
		return true;
	uint64_t mark = mark_of(status);
	bool same = check->marks[i] == mark;
	check->marks[i] = mark;
	return !same && !check->take_marks;
}

static void take_file(struct verification *verification, size_t i,
		      const struct manifest_entry *entry, const struct stat *status)
{
	const struct manifest_entry *wanted = &verification->wanted->entries[i];
	struct manifest_entry known = *entry;
	bool comparable = wanted->type == MANIFEST_FILE && entry->size_bytes == wanted->size_bytes;
	if (comparable && in_doubt(verification->check, i, status)) {
		verification->chosen[i] = true;
		return;
	}
	if (comparable)
		known.digest = wanted->digest;
	compare(verification, i, &known);
}

static int take_found(void *context, const struct manifest_entry *entry, const struct stat *status,
		      struct error *err)
{
	struct verification *verification = context;
	const struct manifest_entry *wanted =
		manifest_find(verification->wanted, entry->path, strlen(entry->path));
	verification->found->bytes += entry->size_bytes;
	if (!wanted)
		return take_strange(verification, entry, err);
	size_t i = (size_t)(wanted - verification->wanted->entries);
	verification->present[i] = true;
	if (verification->check->fresh && entry->linked &&
	    manifest_names_add(&verification->names, i, status, err) < 0)
		return -1;
	if (entry->type == MANIFEST_FILE)
		take_file(verification, i, entry, status);
	else
		compare(verification, i, entry);
	return entry->type == MANIFEST_FOLDER ? push_folder(verification, wanted->path, err) : 0;
}

static int read_tree(struct verification *verification, struct error *err)
{
	const struct manifest_walk walk = {
		.root_fd = verification->root_fd,
		.options = verification->check->options,
		.found = take_found,
		.context = verification,
	};
	if (manifest_walk_folder(&walk, "", err) < 0)
		return -1;
	while (verification->count > 0)
		if (manifest_walk_folder(&walk, verification->folders[--verification->count], err) <
		    0)
			return -1;
	return 0;
}

static void take_hashed(void *context, size_t i, const struct manifest_entry *entry, bool shared)
{
	struct verification *verification = context;
	compare(verification, i, entry);
	if (shared)
		note(verification, &verification->foreign, entry->path,
		     "shares its blocks with another file");
	pthread_mutex_lock(&verification->lock);
	verification->found->data_bytes += entry->size_bytes - entry->hole_bytes;
	pthread_mutex_unlock(&verification->lock);
}

static int hash_chosen(struct verification *verification, struct error *err)
{
	const struct manifest_hash order = {
		.root_fd = verification->root_fd,
		.options = verification->check->options,
		.manifest = verification->wanted,
		.chosen = verification->chosen,
		.look_shared = verification->check->fresh,
		.hashed = take_hashed,
		.context = verification,
	};
	return manifest_hash_files(&order, err);
}

/* The root's own mode. A copy's root that lets its owner in is as right: nobody could copy into
 * some modes. */
static int check_root(struct verification *verification, struct error *err)
{
	struct stat status;
	char what[MANIFEST_WHAT_SIZE];
	uint32_t wanted = verification->wanted->root_mode & 0777;
	if (verification->wanted->root_mode == 0 || verification->check->preserve < PRESERVE_MODE)
		return 0;
	if (fstat(verification->root_fd, &status) < 0)
		return error_system(err, "stat");
	uint32_t mode = status.st_mode & 0777;
	if (mode == wanted || mode == (wanted | 0700))
		return 0;
	snprintf(what, sizeof(what), "has mode %04o instead of %04o", mode, wanted);
	differ(verification, ".", what);
	return 0;
}

static void take_foreign(void *context, size_t entry, const char *what)
{
	struct verification *verification = context;
	note(verification, &verification->foreign, verification->wanted->entries[entry].path, what);
}

static void take_again(void *context, size_t entry)
{
	struct verification *verification = context;
	uint64_t bytes = verification->wanted->entries[entry].size_bytes;
	uint64_t *data = &verification->found->data_bytes;
	*data -= bytes < *data ? bytes : *data;
}

static int report(const struct verification *verification, struct error *err)
{
	const struct findings *foreign = &verification->foreign;
	const struct findings *differences = &verification->differences;
	char shown[MANIFEST_SHOWN_SIZE];
	char more[48] = "";
	if (foreign->count == 0)
		return manifest_report(differences->first, differences->what, differences->count,
				       verification->check->source, err);
	if (foreign->count > 1)
		snprintf(more, sizeof(more), ", and %llu more are not new",
			 (unsigned long long)foreign->count - 1);
	return error_set(err, ERROR_INTEGRITY, 0, "not a copy: '%s' %s%s",
			 manifest_shown(shown, foreign->first), foreign->what, more);
}

static int check_tree(struct verification *verification, struct error *err)
{
	const struct manifest_names_order order = {
		.wanted = verification->wanted,
		.foreign = take_foreign,
		.again = take_again,
		.context = verification,
	};
	if (check_root(verification, err) < 0 || read_tree(verification, err) < 0 ||
	    hash_chosen(verification, err) < 0)
		return -1;
	for (size_t i = 0; i < verification->wanted->count; i++)
		if (!verification->present[i])
			differ(verification, verification->wanted->entries[i].path,
			       MANIFEST_MISSING);
	manifest_names_judge(&verification->names, &order);
	return report(verification, err);
}

int manifest_verify(const struct manifest_check *check, int root_fd, struct manifest_found *found,
		    struct error *err)
{
	*found = (struct manifest_found){ 0 };
	AUTO_FREE bool *present = calloc(check->wanted->count + 1, sizeof(*present));
	AUTO_FREE bool *chosen = calloc(check->wanted->count + 1, sizeof(*chosen));
	if (!present || !chosen)
		return no_memory(err);
	struct verification verification = {
		.check = check,
		.wanted = check->wanted,
		.root_fd = root_fd,
		.present = present,
		.chosen = chosen,
		.found = found,
	};
	pthread_mutex_init(&verification.lock, NULL);
	int result = check_tree(&verification, err);
	pthread_mutex_destroy(&verification.lock);
	free(verification.folders);
	free(verification.names.names);
	manifest_free(&verification.strange);
	return result;
}
