/* The binary form of a manifest, all numbers little-endian:
 *   "LFMANIFT", u32 version, u32 st_mode of the root (0: unknown), u64 count, then count entries of
 *   u8 type, u8 linked (0; of a FILE 0 or 1), u16 mode, u16 length, path (length bytes, no NUL),
 * and then FILE: u64 size, u64 in holes, i64 mtime, u64 digest low, u64 digest high LINK: u16
 * length, target (length bytes, no NUL)
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/api/manifest.h"
#include "harness/base/cleanup.h"

#define MAGIC       "LFMANIFT"
#define MAGIC_BYTES 8
#define VERSION     1

struct header {
	char magic[MAGIC_BYTES];
	uint32_t version, root_mode;
	uint64_t count;
};
_Static_assert(sizeof(struct header) == 24, "the file header has no padding");

struct entry_head {
	uint8_t type, linked;
	uint16_t mode;
	uint16_t path_bytes;
};
_Static_assert(sizeof(struct entry_head) == 6, "the entry head has no padding");

struct file_fields {
	uint64_t size, holes, mtime, low, high;
};
_Static_assert(sizeof(struct file_fields) == 40, "the file fields have no padding");

/* Where bytes come from: a file, or memory. */
struct source {
	FILE *file;
	const unsigned char *next;
	size_t left;
};

static bool take(struct source *source, void *to, size_t count)
{
	if (source->file)
		return fread(to, 1, count, source->file) == count;
	if (source->left < count)
		return false;
	memcpy(to, source->next, count);
	source->next += count;
	source->left -= count;
	return true;
}

static bool at_end(struct source *source)
{
	return source->file ? fgetc(source->file) == EOF : source->left == 0;
}

static int damaged(const struct source *source, const char *what, struct error *err)
{
	if (source->file && ferror(source->file)) {
		errno = EIO;
		return error_system(err, "read");
	}
	return error_set(err, ERROR_CONFIG, 0, "not a sound manifest: %s", what);
}

static int take_string(struct source *source, char text[MANIFEST_PATH_MAX + 1], size_t length,
		       struct error *err)
{
	if (length > MANIFEST_PATH_MAX)
		return damaged(source, "a name is too long", err);
	if (!take(source, text, length))
		return damaged(source, "it is cut short", err);
	if (memchr(text, '\0', length))
		return damaged(source, "a name has a zero byte", err);
	text[length] = '\0';
	return 0;
}

static int take_file_fields(struct source *source, struct manifest_entry *entry, struct error *err)
{
	struct file_fields fields;
	if (!take(source, &fields, sizeof(fields)))
		return damaged(source, "it is cut short", err);
	entry->size_bytes = le64toh(fields.size);
	entry->hole_bytes = le64toh(fields.holes);
	entry->mtime_s = (int64_t)le64toh(fields.mtime);
	entry->digest.low = le64toh(fields.low);
	entry->digest.high = le64toh(fields.high);
	return 0;
}

static int take_entry(struct source *source, struct manifest *manifest, struct error *err)
{
	struct entry_head head;
	char path[MANIFEST_PATH_MAX + 1];
	char target[MANIFEST_PATH_MAX + 1];
	uint16_t target_bytes;
	if (!take(source, &head, sizeof(head)))
		return damaged(source, "it is cut short", err);
	if (head.type > MANIFEST_LINK || head.linked > (head.type == MANIFEST_FILE))
		return damaged(source, "an entry has an unknown type", err);
	if (take_string(source, path, le16toh(head.path_bytes), err) < 0)
		return -1;
	struct manifest_entry entry = {
		.path = path,
		.type = (enum manifest_type)head.type,
		.mode = le16toh(head.mode),
		.linked = head.linked != 0,
	};
	if (entry.type == MANIFEST_FILE && take_file_fields(source, &entry, err) < 0)
		return -1;
	if (entry.type == MANIFEST_LINK) {
		if (!take(source, &target_bytes, sizeof(target_bytes)))
			return damaged(source, "it is cut short", err);
		if (take_string(source, target, le16toh(target_bytes), err) < 0)
			return -1;
		entry.target = target;
	}
	return manifest_add(manifest, &entry, err);
}

static int take_all(struct source *source, struct manifest *manifest, struct error *err)
{
	struct header header;
	if (!take(source, &header, sizeof(header)) || memcmp(header.magic, MAGIC, MAGIC_BYTES) != 0)
		return damaged(source, "it does not start like one", err);
	uint32_t root_mode = le32toh(header.root_mode);
	if (le32toh(header.version) != VERSION || (root_mode != 0 && !S_ISDIR(root_mode)))
		return damaged(source, "its version is unknown", err);
	manifest->root_mode = root_mode;
	/* Memory grows with what is really there, never with what the count promises. */
	for (uint64_t i = 0; i < le64toh(header.count); i++)
		if (take_entry(source, manifest, err) < 0)
			return -1;
	if (!at_end(source))
		return damaged(source, "something follows its end", err);
	return manifest_finish(manifest, err);
}

static int parse(struct source *source, struct manifest *manifest, struct error *err)
{
	struct manifest parsed = { 0 };
	if (take_all(source, &parsed, err) < 0) {
		manifest_free(&parsed);
		return -1;
	}
	*manifest = parsed;
	return 0;
}

int manifest_parse(struct manifest *manifest, const void *bytes, size_t count, struct error *err)
{
	struct source source = { .next = bytes, .left = count };
	return parse(&source, manifest, err);
}

int manifest_load(struct manifest *manifest, const char *path, struct error *err)
{
	AUTO_FILE file = fopen(path, "re");
	if (!file)
		return error_system(err, "open %s", path);
	struct source source = { .file = file };
	if (parse(&source, manifest, err) < 0)
		return error_wrap(err, "%s", path);
	return 0;
}

/* Failed writes are seen once, by ferror and fclose. */
static void put(FILE *file, const void *bytes, size_t count)
{
	fwrite(bytes, 1, count, file);
}

static void put_entry(FILE *file, const struct manifest_entry *entry)
{
	size_t path_bytes = strlen(entry->path);
	struct entry_head head = {
		.type = (uint8_t)entry->type,
		.linked = entry->linked,
		.mode = htole16((uint16_t)entry->mode),
		.path_bytes = htole16((uint16_t)path_bytes),
	};
	put(file, &head, sizeof(head));
	put(file, entry->path, path_bytes);
	if (entry->type == MANIFEST_FILE) {
		struct file_fields fields = {
			.size = htole64(entry->size_bytes),
			.holes = htole64(entry->hole_bytes),
			.mtime = htole64((uint64_t)entry->mtime_s),
			.low = htole64(entry->digest.low),
			.high = htole64(entry->digest.high),
		};
		put(file, &fields, sizeof(fields));
	}
	if (entry->type == MANIFEST_LINK) {
		size_t target_bytes = strlen(entry->target);
		uint16_t length = htole16((uint16_t)target_bytes);
		put(file, &length, sizeof(length));
		put(file, entry->target, target_bytes);
	}
}

int manifest_save(const struct manifest *manifest, const char *path, struct error *err)
{
	FILE *file = fopen(path, "we");
	if (!file)
		return error_system(err, "create %s", path);
	struct header header = { .version = htole32(VERSION),
				 .root_mode = htole32(manifest->root_mode),
				 .count = htole64(manifest->count) };
	memcpy(header.magic, MAGIC, MAGIC_BYTES);
	put(file, &header, sizeof(header));
	for (size_t i = 0; i < manifest->count && !ferror(file); i++)
		put_entry(file, &manifest->entries[i]);
	bool failed = ferror(file);
	int code = errno;
	if (fclose(file) == 0 && !failed)
		return 0;
	if (failed)
		errno = code;
	/* What was written stays: it is cut short and will not load, and path may be no file. */
	return error_system(err, "write %s", path);
}
