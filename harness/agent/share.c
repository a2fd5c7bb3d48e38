#include "harness/agent/share.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/text.h"

struct dealer {
	const struct manifest *whole;
	uint64_t *load; /* one a part */
	uint16_t *part; /* one an entry: to which part it goes */
	size_t parts;
};

static int by_size_descending(const void *a, const void *b, void *context)
{
	const struct manifest *whole = context;
	size_t left = *(const size_t *)a;
	size_t right = *(const size_t *)b;
	uint64_t left_size = whole->entries[left].size_bytes;
	uint64_t right_size = whole->entries[right].size_bytes;
	if (left_size != right_size)
		return left_size < right_size ? 1 : -1;
	return left < right ? -1 : left > right;
}

static size_t least_loaded(const struct dealer *dealer)
{
	size_t best = 0;
	for (size_t i = 1; i < dealer->parts; i++)
		if (dealer->load[i] < dealer->load[best])
			best = i;
	return best;
}

static int deal_files(struct dealer *dealer, struct error *err)
{
	const struct manifest *whole = dealer->whole;
	AUTO_FREE size_t *order = calloc(whole->files + 1, sizeof(*order));
	if (!order)
		return error_set(err, ERROR_SYSTEM, ENOMEM, "out of memory");
	size_t count = 0;
	for (size_t i = 0; i < whole->count; i++)
		if (whole->entries[i].type == MANIFEST_FILE)
			order[count++] = i;
	qsort_r(order, count, sizeof(*order), by_size_descending, (void *)whole);
	for (size_t i = 0; i < count; i++) {
		size_t part = least_loaded(dealer);
		dealer->part[order[i]] = (uint16_t)part;
		dealer->load[part] += whole->entries[order[i]].size_bytes + SHARE_FILE_COST_BYTES;
	}
	return 0;
}

static bool is_inside(const char *path, const char *folder)
{
	size_t length = strlen(folder);
	return strncmp(path, folder, length) == 0 && path[length] == '/';
}

/* In byte order what is in a folder need not follow it at once ("a", "a-b", "a/c"), but the first
 * entry with the prefix "a/" comes before any path that sorts after it. */
static bool folder_is_empty_at(const struct manifest *whole, size_t folder)
{
	const char *path = whole->entries[folder].path;
	size_t length = strlen(path);
	for (size_t i = folder + 1; i < whole->count; i++) {
		if (is_inside(whole->entries[i].path, path))
			return false;
		if (strncmp(whole->entries[i].path, path, length) != 0 ||
		    (unsigned char)whole->entries[i].path[length] > '/')
			return true;
	}
	return true;
}

static void deal_rest(struct dealer *dealer)
{
	const struct manifest *whole = dealer->whole;
	size_t turn = 0;
	for (size_t i = 0; i < whole->count; i++) {
		enum manifest_type type = whole->entries[i].type;
		if (type == MANIFEST_LINK ||
		    (type == MANIFEST_FOLDER && folder_is_empty_at(whole, i)))
			dealer->part[i] = (uint16_t)(turn++ % dealer->parts);
		else if (type == MANIFEST_FOLDER)
			dealer->part[i] = UINT16_MAX; /* goes where something in it goes */
	}
}

/* Adds the folders above an entry that the part does not have yet; last[i] remembers who was
 * served. */
static int add_parents(const struct dealer *dealer, size_t entry, size_t part, uint16_t *last,
		       struct manifest *share, struct error *err)
{
	const char *path = dealer->whole->entries[entry].path;
	for (const char *slash = strrchr(path, '/'); slash;
	     slash = memrchr(path, '/', (size_t)(slash - path))) {
		const struct manifest_entry *folder =
			manifest_find(dealer->whole, path, (size_t)(slash - path));
		if (!folder)
			return error_set(err, ERROR_CONFIG, 0, "a manifest lacks a folder it uses");
		uint16_t *served = &last[folder - dealer->whole->entries];
		if (*served == part + 1)
			return 0; /* this one and all above it are there */
		*served = (uint16_t)(part + 1);
		if (manifest_add_borrowed(share, folder, err) < 0)
			return -1;
	}
	return 0;
}

static int collect_part(const struct dealer *dealer, size_t part, uint16_t *last,
			struct manifest *share, struct error *err)
{
	share->root_mode = dealer->whole->root_mode;
	for (size_t i = 0; i < dealer->whole->count; i++) {
		if (dealer->part[i] != part)
			continue;
		if (manifest_add_borrowed(share, &dealer->whole->entries[i], err) < 0 ||
		    add_parents(dealer, i, part, last, share, err) < 0)
			return -1;
	}
	return manifest_finish(share, err);
}

int share_cut(const struct manifest *whole, size_t parts, struct manifest *shares,
	      struct error *err)
{
	AUTO_FREE uint64_t *load = calloc(parts, sizeof(*load));
	AUTO_FREE uint16_t *part = calloc(whole->count + 1, sizeof(*part));
	AUTO_FREE uint16_t *last = calloc(whole->count + 1, sizeof(*last));
	if (!load || !part || !last)
		return error_set(err, ERROR_SYSTEM, ENOMEM, "out of memory");
	struct dealer dealer = { .whole = whole, .load = load, .part = part, .parts = parts };
	deal_rest(&dealer);
	if (deal_files(&dealer, err) < 0)
		return -1;
	for (size_t i = 0; i < parts; i++)
		if (collect_part(&dealer, i, last, &shares[i], err) < 0)
			return error_wrap(err, "share %zu of %zu", i + 1, parts);
	return 0;
}

static int stage_entry(const struct manifest_entry *entry, int root_fd, int folder_fd,
		       struct error *err)
{
	int outcome = 0;
	if (entry->type == MANIFEST_FOLDER)
		outcome = mkdirat(folder_fd, entry->path, 0700);
	else if (entry->type == MANIFEST_LINK)
		outcome = symlinkat(entry->target, folder_fd, entry->path);
	else
		outcome = linkat(root_fd, entry->path, folder_fd, entry->path, 0);
	if (outcome == 0)
		return 0;
	char shown[512];
	error_system(err, "stage");
	text_escape_terminal(shown, sizeof(shown), entry->path);
	return error_wrap(err, "%s", shown);
}

int share_stage(const struct manifest *share, const char *root, const char *folder,
		const struct io_limit *limit, struct error *err)
{
	AUTO_FD root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_FD folder_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0 || folder_fd < 0)
		return error_system(err, "open %s", root_fd < 0 ? root : folder);
	for (size_t i = 0; i < share->count; i++) {
		if (cancel_requested(limit->cancel))
			return error_set(err, ERROR_CANCELLED, 0, "stopped on request");
		if (clock_now_ns() > limit->deadline_ns)
			return error_set(err, ERROR_TIMEOUT, 0, "time is up");
		if (stage_entry(&share->entries[i], root_fd, folder_fd, err) < 0)
			return -1;
	}
	/* Modes last and deepest first, since one may forbid what is still to be done. */
	for (size_t i = share->count; i > 0; i--) {
		const struct manifest_entry *entry = &share->entries[i - 1];
		if (entry->type == MANIFEST_FOLDER &&
		    fchmodat(folder_fd, entry->path, entry->mode, 0) < 0)
			return error_system(err, "chmod of a staged folder");
	}
	/* Tools may take it over to the copy's root. */
	if (share->root_mode && fchmodat(folder_fd, ".", share->root_mode & 0777, 0) < 0)
		return error_system(err, "chmod %s", folder);
	return 0;
}
