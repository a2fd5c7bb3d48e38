/* Manifests made by hand. For cmocka. */
#ifndef LINEFILL_TESTS_UNIT_API_MANIFEST_SAMPLE_H
#define LINEFILL_TESTS_UNIT_API_MANIFEST_SAMPLE_H

#include <stdlib.h>
#include <string.h>

#include "harness/api/manifest.h"
#include "harness/base/cleanup.h"

static inline struct manifest_entry file_at(const char *path)
{
	return (struct manifest_entry){
		.path = path,
		.type = MANIFEST_FILE,
		.mode = 0644,
		.size_bytes = 100,
		.hole_bytes = 10,
		.mtime_s = -7,
		.digest = { .low = 1, .high = UINT64_C(0xfedcba9876543210) },
	};
}

static inline struct manifest_entry folder_at(const char *path)
{
	return (struct manifest_entry){ .path = path, .type = MANIFEST_FOLDER, .mode = 0755 };
}

static inline struct manifest_entry link_at(const char *path, const char *target)
{
	return (struct manifest_entry){ .path = path, .type = MANIFEST_LINK, .target = target };
}

static inline void add(struct manifest *manifest, struct manifest_entry entry)
{
	struct error error = { 0 };
	if (manifest_add(manifest, &entry, &error) < 0)
		fail_msg("%s", error.message);
}

static inline void finish(struct manifest *manifest)
{
	struct error error = { 0 };
	if (manifest_finish(manifest, &error) < 0)
		fail_msg("%s", error.message);
}

/* "dir/", "link@" or "file", separated by blanks. */
static inline void add_all(struct manifest *manifest, const char *names)
{
	AUTO_FREE char *copy = strdup(names);
	char *rest = copy;
	for (char *name; (name = strsep(&rest, " "));) {
		size_t length = strlen(name);
		char last = length ? name[length - 1] : '\0';
		if (last == '/' || last == '@')
			name[length - 1] = '\0';
		if (length > 0)
			add(manifest, last == '/'   ? folder_at(name)
				      : last == '@' ? link_at(name, "somewhere")
						    : file_at(name));
	}
}

static inline struct manifest sample(void)
{
	struct manifest manifest = { 0 };
	add_all(&manifest, "z b/ b/x b/y/ a-link@ m/ m/deep/ m/deep/one");
	finish(&manifest);
	return manifest;
}

#endif
