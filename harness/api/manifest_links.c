#include "harness/api/manifest_links.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/api/manifest_compare.h"

int manifest_names_add(struct manifest_names *names, size_t entry, const struct stat *status,
		       struct error *err)
{
	if (names->count == names->capacity) {
		size_t capacity = names->capacity ? names->capacity * 2 : 64;
		struct manifest_name *grown =
			reallocarray(names->names, capacity, sizeof(names->names[0]));
		if (!grown) {
			errno = ENOMEM;
			return error_system(err, "verify");
		}
		names->names = grown;
		names->capacity = capacity;
	}
	names->names[names->count++] = (struct manifest_name){
		.device = status->st_dev,
		.inode = status->st_ino,
		.links = status->st_nlink,
		.entry = entry,
	};
	return 0;
}

static bool same_file(const struct manifest_name *a, const struct manifest_name *b)
{
	return a->device == b->device && a->inode == b->inode;
}

static int by_file(const void *left, const void *right)
{
	const struct manifest_name *a = left;
	const struct manifest_name *b = right;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->inode != b->inode)
		return a->inode < b->inode ? -1 : 1;
	return a->entry < b->entry ? -1 : a->entry > b->entry;
}

/* The names of one file. */
static void judge_file(const struct manifest_name *names, size_t count,
		       const struct manifest_names_order *order)
{
	const struct manifest_entry *entries = order->wanted->entries;
	char shown[MANIFEST_SHOWN_SIZE];
	char what[MANIFEST_WHAT_SIZE];
	bool wanted = true;
	if (names[0].links > count) {
		for (size_t i = 0; i < count; i++)
			order->foreign(order->context, names[i].entry,
				       "is a hard link to a file outside the copy");
		return;
	}
	for (size_t i = 0; i < count; i++)
		wanted = wanted && entries[names[i].entry].linked;
	manifest_shown(shown, entries[names[0].entry].path);
	snprintf(what, sizeof(what), "is a hard link to '%.150s'", shown);
	for (size_t i = 1; i < count; i++) {
		if (wanted)
			order->again(order->context, names[i].entry);
		else
			order->foreign(order->context, names[i].entry, what);
	}
}

void manifest_names_judge(struct manifest_names *names, const struct manifest_names_order *order)
{
	if (names->count == 0)
		return;
	qsort(names->names, names->count, sizeof(names->names[0]), by_file);
	for (size_t start = 0, end; start < names->count; start = end) {
		end = start + 1;
		while (end < names->count && same_file(&names->names[start], &names->names[end]))
			end++;
		judge_file(&names->names[start], end - start, order);
	}
}
