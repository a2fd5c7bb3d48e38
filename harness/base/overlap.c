#include "harness/base/overlap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/io.h"

/* Each level has a folder open: a deeper one is not looked at. */
#define DEPTH_MAX 256
#define FOLDER    (O_PATH | O_DIRECTORY | O_CLOEXEC)

struct identity {
	dev_t device;
	ino_t inode;
};

/* A folder and all above it, the root last. */
struct lineage {
	struct identity *folders;
	size_t count;
	bool whole; /* the folder is there itself; else the first one is its nearest above */
};

static void lineage_free(struct lineage *lineage)
{
	free(lineage->folders);
}
#define AUTO_LINEAGE __attribute__((cleanup(lineage_free))) struct lineage

static bool same(struct identity a, struct identity b)
{
	return a.device == b.device && a.inode == b.inode;
}

static bool has(const struct lineage *lineage, struct identity folder)
{
	for (size_t i = 0; i < lineage->count; i++)
		if (same(lineage->folders[i], folder))
			return true;
	return false;
}

/* The folder, or the nearest above it that exists. */
static int open_nearest(const char *path, bool *whole, struct error *err)
{
	AUTO_FREE char *rest = strdup(path);
	if (!rest)
		abort();
	*whole = true;
	for (;;) {
		int fd = open(*rest ? rest : ".", FOLDER);
		if (fd >= 0)
			return fd;
		if (errno != ENOENT && errno != ENOTDIR)
			return error_system(err, "look at %s", path);
		size_t length = strlen(rest);
		while (length > 1 && rest[length - 1] == '/')
			length--;
		while (length > 0 && rest[length - 1] != '/')
			length--;
		rest[length] = '\0';
		*whole = false;
	}
}

static int trace(const char *path, struct lineage *lineage, struct error *err)
{
	AUTO_FD fd = open_nearest(path, &lineage->whole, err);
	if (fd < 0)
		return -1;
	for (;;) {
		struct stat status;
		if (fstat(fd, &status) < 0)
			return error_system(err, "look above %s", path);
		const struct identity found = { status.st_dev, status.st_ino };
		/* The root is its own parent. */
		if (lineage->count && same(lineage->folders[lineage->count - 1], found))
			return 0;
		struct identity *grown =
			realloc(lineage->folders, (lineage->count + 1) * sizeof(*grown));
		if (!grown)
			abort();
		lineage->folders = grown;
		grown[lineage->count++] = found;
		int above = openat(fd, "..", FOLDER);
		if (above < 0)
			return error_system(err, "look above %s", path);
		close(fd);
		fd = above;
	}
}

/* Is one of these folders in the tree, where a mount has put it? Takes over fd. */
static bool lies_in(int fd, const struct lineage *sought, int depth)
{
	AUTO_DIR folder = fdopendir(fd);
	if (!folder) {
		close(fd);
		return false;
	}
	for (struct dirent *item; (item = readdir(folder));) {
		struct stat status;
		if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0 ||
		    (item->d_type != DT_DIR && item->d_type != DT_UNKNOWN) ||
		    fstatat(dirfd(folder), item->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISDIR(status.st_mode))
			continue;
		if (has(sought, (struct identity){ status.st_dev, status.st_ino }))
			return true;
		int below = depth < DEPTH_MAX
				    ? openat(dirfd(folder), item->d_name,
					     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
				    : -1;
		if (below >= 0 && lies_in(below, sought, depth + 1))
			return true;
	}
	return false;
}

/* What is above the tree, too, is not in it. */
static void drop_common(struct lineage *lineage, const struct lineage *tree)
{
	size_t kept = 0;
	for (size_t i = 0; i < lineage->count; i++)
		if (!has(tree, lineage->folders[i]))
			lineage->folders[kept++] = lineage->folders[i];
	lineage->count = kept;
}

int overlap_find(const char *folder, const char *tree, enum overlap *overlap, struct error *err)
{
	AUTO_LINEAGE ours = { 0 };
	AUTO_LINEAGE theirs = { 0 };
	if (trace(folder, &ours, err) < 0 || trace(tree, &theirs, err) < 0)
		return -1;
	if (!theirs.whole)
		return error_set(err, ERROR_SYSTEM, ENOENT, "%s: %s", tree, strerror(ENOENT));
	*overlap = OVERLAP_NONE;
	if (has(&ours, theirs.folders[0])) {
		bool is_it = ours.whole && same(ours.folders[0], theirs.folders[0]);
		*overlap = is_it ? OVERLAP_SAME : OVERLAP_INSIDE;
		return 0;
	}
	if (ours.whole && has(&theirs, ours.folders[0])) {
		*overlap = OVERLAP_ABOVE;
		return 0;
	}
	drop_common(&ours, &theirs);
	int fd = ours.count ? open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (fd >= 0 && lies_in(fd, &ours, 0))
		*overlap = OVERLAP_INSIDE;
	return 0;
}
