#include "harness/api/manifest.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "harness/base/text.h"

/* Strings never move and are never freed one by one, so they are packed into chunks: a million
 * paths cost their bytes and nothing more. */
struct chunk {
	struct chunk *next;
	size_t used, size;
	char bytes[];
};

struct manifest_arena {
	struct chunk *chunks;
	size_t capacity; /* of manifest->entries */
	bool unsorted;   /* an entry came after one with a greater path */
};

#define CHUNK_MIN ((size_t)4 * 1024)
#define CHUNK_MAX ((size_t)1024 * 1024)

void manifest_free(struct manifest *manifest)
{
	struct chunk *chunk = manifest->arena ? manifest->arena->chunks : NULL;
	while (chunk) {
		struct chunk *next = chunk->next;
		free(chunk);
		chunk = next;
	}
	free(manifest->arena);
	free(manifest->entries);
	*manifest = (struct manifest){ 0 };
}

const char *manifest_shown(char text[MANIFEST_SHOWN_SIZE], const char *path)
{
	static const char dots[] = "...";
	char whole[4 * MANIFEST_SHOWN_SIZE];
	text_escape_terminal(whole, sizeof(whole), path);
	text_copy(text, MANIFEST_SHOWN_SIZE, whole);
	if (strlen(whole) < MANIFEST_SHOWN_SIZE)
		return text;
	size_t end = MANIFEST_SHOWN_SIZE - sizeof(dots);
	while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80) /* never half a character */
		end--;
	memcpy(text + end, dots, sizeof(dots));
	return text;
}

static int refuse(const char *path, const char *why, struct error *err)
{
	char shown[MANIFEST_SHOWN_SIZE];
	return error_set(err, ERROR_CONFIG, 0, "'%s' cannot be in a dataset: %s",
			 manifest_shown(shown, path), why);
}

static int check_path(const char *path, struct error *err)
{
	if (strnlen(path, MANIFEST_PATH_MAX + 1) > MANIFEST_PATH_MAX)
		return refuse(path, "the path is too long", err);
	for (const char *name = path;; name++) {
		size_t length = strcspn(name, "/");
		if (length == 0)
			return refuse(path, "the path is absolute or has an empty component", err);
		if (length > MANIFEST_NAME_MAX)
			return refuse(path, "a name in it is too long", err);
		if (strncmp(name, "..", length) == 0 && length <= 2)
			return refuse(path, "the path has a '.' or '..' component", err);
		name += length;
		if (*name == '\0')
			return 0;
	}
}

static int check_entry(const struct manifest_entry *entry, struct error *err)
{
	if (check_path(entry->path, err) < 0)
		return -1;
	if (entry->mode > 07777)
		return refuse(entry->path, "its mode has unknown bits", err);
	switch (entry->type) {
	case MANIFEST_FILE:
		if (entry->size_bytes > INT64_MAX || entry->hole_bytes > entry->size_bytes)
			return refuse(entry->path, "its size makes no sense", err);
		return 0;
	case MANIFEST_FOLDER:
		return 0;
	case MANIFEST_LINK:
		if (!entry->target || !*entry->target ||
		    strnlen(entry->target, MANIFEST_PATH_MAX + 1) > MANIFEST_PATH_MAX)
			return refuse(entry->path, "its link target is empty or too long", err);
		return 0;
	}
	return refuse(entry->path, "it is neither file, folder nor link", err);
}

static struct chunk *chunk_new(struct manifest_arena *arena, size_t need)
{
	size_t size = arena->chunks ? arena->chunks->size * 2 : CHUNK_MIN;
	if (size > CHUNK_MAX)
		size = CHUNK_MAX;
	if (size < need)
		size = need;
	struct chunk *chunk = malloc(sizeof(*chunk) + size);
	if (!chunk)
		return NULL;
	*chunk = (struct chunk){ .next = arena->chunks, .size = size };
	arena->chunks = chunk;
	return chunk;
}

static char *arena_copy(struct manifest_arena *arena, const char *string)
{
	size_t need = strlen(string) + 1;
	struct chunk *chunk = arena->chunks;
	if (!chunk || chunk->size - chunk->used < need)
		chunk = chunk_new(arena, need);
	if (!chunk)
		return NULL;
	char *copy = chunk->bytes + chunk->used;
	memcpy(copy, string, need);
	chunk->used += need;
	return copy;
}

static int no_memory(struct error *err)
{
	errno = ENOMEM;
	return error_system(err, "manifest");
}

static int reserve_entry(struct manifest *manifest, struct error *err)
{
	if (!manifest->arena)
		manifest->arena = calloc(1, sizeof(*manifest->arena));
	struct manifest_arena *arena = manifest->arena;
	if (!arena)
		return no_memory(err);
	if (manifest->count < arena->capacity)
		return 0;
	size_t capacity = arena->capacity ? arena->capacity * 2 : 64;
	struct manifest_entry *entries =
		reallocarray(manifest->entries, capacity, sizeof(*entries));
	if (!entries)
		return no_memory(err);
	manifest->entries = entries;
	arena->capacity = capacity;
	return 0;
}

/* What its type has no use for is dropped. There is room for it. */
static void append(struct manifest *manifest, const struct manifest_entry *entry)
{
	struct manifest_entry *added = &manifest->entries[manifest->count];
	*added = (struct manifest_entry){ .type = entry->type,
					  .mode = entry->mode,
					  .path = entry->path };
	if (entry->type == MANIFEST_LINK) {
		added->mode = 0777;
		added->target = entry->target;
	}
	if (entry->type == MANIFEST_FILE) {
		added->size_bytes = entry->size_bytes;
		added->hole_bytes = entry->hole_bytes;
		added->mtime_s = entry->mtime_s;
		added->digest = entry->digest;
		added->linked = entry->linked;
	}
	if (manifest->count > 0 && strcmp(added[-1].path, added->path) > 0)
		manifest->arena->unsorted = true;
	manifest->count++;
}

int manifest_add(struct manifest *manifest, const struct manifest_entry *entry, struct error *err)
{
	if (check_entry(entry, err) < 0 || reserve_entry(manifest, err) < 0)
		return -1;
	struct manifest_entry kept = *entry;
	kept.path = arena_copy(manifest->arena, entry->path);
	if (!kept.path)
		return no_memory(err);
	if (entry->type == MANIFEST_LINK) {
		kept.target = arena_copy(manifest->arena, entry->target);
		if (!kept.target)
			return no_memory(err);
	}
	append(manifest, &kept);
	return 0;
}

int manifest_add_borrowed(struct manifest *manifest, const struct manifest_entry *entry,
			  struct error *err)
{
	if (check_entry(entry, err) < 0 || reserve_entry(manifest, err) < 0)
		return -1;
	append(manifest, entry);
	return 0;
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(((const struct manifest_entry *)a)->path,
		      ((const struct manifest_entry *)b)->path);
}

/* The first entry whose path is not less than the first length bytes of path. */
static size_t lower_bound(const struct manifest *manifest, const char *path, size_t length)
{
	size_t low = 0;
	size_t high = manifest->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (strncmp(manifest->entries[middle].path, path, length) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct manifest_entry *manifest_find(const struct manifest *manifest, const char *path,
					   size_t length)
{
	size_t i = lower_bound(manifest, path, length);
	if (i == manifest->count)
		return NULL;
	const struct manifest_entry *entry = &manifest->entries[i];
	bool same = strncmp(entry->path, path, length) == 0 && entry->path[length] == '\0';
	return same ? entry : NULL;
}

/* The nearest listed ancestor answers for its own ancestors. */
static int check_ancestors(const struct manifest *manifest, const char *path, size_t length,
			   struct error *err)
{
	while (length > 0) {
		const struct manifest_entry *parent = manifest_find(manifest, path, length);
		if (parent && parent->type != MANIFEST_FOLDER)
			return refuse(path, "it lies under a file or a link", err);
		if (parent)
			return 0;
		const char *slash = memrchr(path, '/', length);
		length = slash ? (size_t)(slash - path) : 0;
	}
	return 0;
}

static int check_tree(const struct manifest *manifest, struct error *err)
{
	const char *checked = "";
	size_t checked_length = 0;
	for (size_t i = 0; i < manifest->count; i++) {
		const char *path = manifest->entries[i].path;
		const char *slash = strrchr(path, '/');
		size_t length = slash ? (size_t)(slash - path) : 0;
		if (i > 0 && strcmp(manifest->entries[i - 1].path, path) == 0)
			return refuse(path, "it appears twice", err);
		/* Neighbours mostly share their folder, which then needs one look. */
		if (length == checked_length && memcmp(path, checked, length) == 0)
			continue;
		if (check_ancestors(manifest, path, length, err) < 0)
			return -1;
		checked = path;
		checked_length = length;
	}
	return 0;
}

static bool is_empty_folder(const struct manifest *manifest, size_t i)
{
	const char *path = manifest->entries[i].path;
	size_t length = strlen(path);
	if (i + 1 == manifest->count)
		return true;
	const char *next = manifest->entries[i + 1].path;
	if (strncmp(next, path, length) != 0 || (unsigned char)next[length] > '/')
		return true;
	if (next[length] == '/')
		return false;
	/* "a-b" sorts between "a" and "a/c". */
	char inside[MANIFEST_PATH_MAX + 2];
	memcpy(inside, path, length);
	memcpy(inside + length, "/", 2);
	size_t first = lower_bound(manifest, inside, length + 1);
	return first == manifest->count ||
	       strncmp(manifest->entries[first].path, inside, length + 1) != 0;
}

static bool is_odd_name(const char *path)
{
	for (const char *c = path; *c; c++) {
		if (*c <= ' ' || *c >= 0x7f || strchr("'\"`\\", *c))
			return true;
		if (*c == '-' && (c == path || c[-1] == '/'))
			return true;
	}
	return false;
}

static int count_entry(struct manifest *manifest, size_t i, struct error *err)
{
	const struct manifest_entry *entry = &manifest->entries[i];
	manifest->odd_names = manifest->odd_names || is_odd_name(entry->path);
	switch (entry->type) {
	case MANIFEST_FILE:
		manifest->files++;
		manifest->hole_bytes += entry->hole_bytes;
		if (__builtin_add_overflow(manifest->bytes, entry->size_bytes, &manifest->bytes))
			return refuse(entry->path, "the sizes add up to more than 2^64 bytes", err);
		return 0;
	case MANIFEST_FOLDER:
		manifest->folders++;
		manifest->empty_folders = manifest->empty_folders || is_empty_folder(manifest, i);
		return 0;
	case MANIFEST_LINK:
		manifest->links++;
		return 0;
	}
	return 0;
}

int manifest_finish(struct manifest *manifest, struct error *err)
{
	if (manifest->arena && manifest->arena->unsorted) {
		qsort(manifest->entries, manifest->count, sizeof(*manifest->entries),
		      compare_paths);
		manifest->arena->unsorted = false;
	}
	manifest->files = manifest->folders = manifest->links = 0;
	manifest->bytes = manifest->hole_bytes = 0;
	manifest->empty_folders = manifest->odd_names = false;
	if (check_tree(manifest, err) < 0)
		return -1;
	for (size_t i = 0; i < manifest->count; i++)
		if (count_entry(manifest, i, err) < 0)
			return -1;
	return 0;
}

void manifest_digest_text(const struct manifest *manifest, char text[MANIFEST_DIGEST_SIZE])
{
	XXH3_state_t *state = XXH3_createState();
	if (!state)
		abort();
	XXH3_128bits_reset(state);
	for (size_t i = 0; i < manifest->count; i++) {
		const struct manifest_entry *entry = &manifest->entries[i];
		const char *target = entry->target ? entry->target : "";
		const uint64_t fields[] = {
			htole64((uint64_t)entry->type),    htole64(entry->mode),
			htole64(entry->size_bytes),        htole64(entry->digest.low),
			htole64(entry->digest.high),       htole64((uint64_t)strlen(entry->path)),
			htole64((uint64_t)strlen(target)),
		};
		XXH3_128bits_update(state, fields, sizeof(fields));
		XXH3_128bits_update(state, entry->path, strlen(entry->path));
		XXH3_128bits_update(state, target, strlen(target));
	}
	XXH128_hash_t hash = XXH3_128bits_digest(state);
	XXH3_freeState(state);
	snprintf(text, MANIFEST_DIGEST_SIZE, "%016llx%016llx", (unsigned long long)hash.high64,
		 (unsigned long long)hash.low64);
}
