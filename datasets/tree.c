#include "datasets/tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "harness/base/clock.h"
#include "harness/base/files.h"
#include "harness/base/text.h"

/* What a file system may take for an entry besides its contents. */
#define ENTRY_BYTES 4096

int tree_add_file(struct manifest *manifest, const char *path, uint64_t size_bytes,
		  struct error *err)
{
	return manifest_add(manifest,
			    &(struct manifest_entry){ .path = path,
						      .type = MANIFEST_FILE,
						      .mode = 0644,
						      .size_bytes = size_bytes },
			    err);
}

int tree_add_folder(struct manifest *manifest, const char *path, struct error *err)
{
	return manifest_add(
		manifest,
		&(struct manifest_entry){ .path = path, .type = MANIFEST_FOLDER, .mode = 0755 },
		err);
}

int tree_add_numbered(struct manifest *manifest, const uint64_t *sizes, uint64_t count,
		      uint64_t per_folder, struct error *err)
{
	char path[64];
	for (uint64_t i = 0; i < count; i++) {
		uint64_t folder = i / per_folder;
		snprintf(path, sizeof(path), "d%05" PRIu64, folder);
		if (i % per_folder == 0 && tree_add_folder(manifest, path, err) < 0)
			return -1;
		snprintf(path, sizeof(path), "d%05" PRIu64 "/f%08" PRIu64, folder, i);
		if (tree_add_file(manifest, path, sizes[i], err) < 0)
			return -1;
	}
	return 0;
}

void tree_estimate(struct dataset_estimate *estimate, uint64_t files, uint64_t bytes)
{
	*estimate = (struct dataset_estimate){
		.files = files, .bytes = bytes, .made_bytes = bytes, .copy_bytes = bytes
	};
}

int tree_stopped(const struct dataset_job *job, struct error *err)
{
	if (cancel_requested(job->cancel))
		return error_set(err, ERROR_CANCELLED, 0, "cancelled while making the dataset");
	if (job->deadline_ns != 0 && job->deadline_ns != CLOCK_NEVER &&
	    clock_now_ns() >= job->deadline_ns)
		return error_set(err, ERROR_TIMEOUT, 0,
				 "the time limit passed while making the dataset");
	return 0;
}

int tree_check_room(const char *root, uint64_t bytes, uint64_t entries, struct error *err)
{
	char need_text[32];
	char room_text[32];
	uint64_t room;
	uint64_t need = bytes + entries * ENTRY_BYTES;
	if (folder_free_bytes(root, &room, err) < 0)
		return -1;
	if (need <= room)
		return 0;
	return error_set(err, ERROR_SYSTEM, ENOSPC, "the dataset needs %s, but %s has only %s free",
			 text_from_bytes(need_text, sizeof(need_text), need), root,
			 text_from_bytes(room_text, sizeof(room_text), room));
}

int tree_check_counts(uint64_t files, uint64_t bytes, struct error *err)
{
	if (files <= bytes)
		return 0;
	return error_set(err, ERROR_CONFIG, 0,
			 "files = %" PRIu64 " is more than bytes = %" PRIu64
			 ": every file needs a byte",
			 files, bytes);
}
