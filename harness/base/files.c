#include "harness/base/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/io.h"
#include "harness/base/text.h"

#define MEMINFO_MAX (1 << 16)

static const struct io_limit no_limit = { .deadline_ns = CLOCK_NEVER };

char *path_join(const char *folder, const char *name)
{
	char *joined = NULL;
	size_t length = strlen(folder);
	const char *slash = length && folder[length - 1] == '/' ? "" : "/";
	if (asprintf(&joined, "%s%s%s", folder, slash, name) < 0)
		abort();
	return joined;
}

int file_read_all(const char *path, size_t limit, char **bytes, size_t *count, struct error *err)
{
	AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error_system(err, "open %s", path);
	size_t capacity = 4096;
	size_t length = 0;
	AUTO_FREE char *data = NULL;
	for (;;) {
		char *grown = realloc(data, capacity + 1);
		if (!grown)
			abort();
		data = grown;
		ssize_t n = io_read_some(fd, data + length, capacity - length, &no_limit, err);
		if (n < 0)
			return error_wrap(err, "%s", path);
		length += (size_t)n;
		if (n == 0)
			break;
		if (length > limit)
			return error_set(err, ERROR_CONFIG, 0, "%s is larger than %zu bytes", path,
					 limit);
		if (length == capacity)
			capacity *= 2;
	}
	data[length] = '\0';
	*bytes = TAKE_POINTER(data);
	if (count)
		*count = length;
	return 0;
}

int file_write_all(const char *path, const void *bytes, size_t count, mode_t mode,
		   struct error *err)
{
	AUTO_FD fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	if (fd < 0)
		return error_system(err, "create %s", path);
	struct stat status;
	/* A file that was there before keeps its mode: it may not be open to more than was asked.
	 */
	if (fstat(fd, &status) < 0 || (S_ISREG(status.st_mode) && (status.st_mode & 0777 & ~mode) &&
				       fchmod(fd, status.st_mode & mode) < 0))
		return error_system(err, "chmod %s", path);
	if (io_write_full(fd, bytes, count, &no_limit, err) < 0)
		return error_wrap(err, "%s", path);
	if (close(take_fd(&fd)) < 0)
		return error_system(err, "close %s", path);
	return 0;
}

int file_replace(const char *path, const void *bytes, size_t count, mode_t mode, struct error *err)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	AUTO_TEXT fresh = { 0 };
	text_addf(&fresh, "%.*s.%s.new", (int)(name - path), path, name);
	if (file_write_all(text_string(&fresh), bytes, count, mode, err) < 0) {
		unlink(text_string(&fresh));
		return -1;
	}
	if (rename(text_string(&fresh), path) == 0)
		return 0;
	error_system(err, "rename %s", text_string(&fresh));
	unlink(text_string(&fresh));
	return -1;
}

int folder_make_all(const char *path, struct error *err)
{
	AUTO_FREE char *copy = strdup(path);
	if (!copy)
		abort();
	for (char *slash = copy + 1; *copy; slash++) {
		slash = strchr(slash, '/');
		if (slash)
			*slash = '\0';
		if (mkdir(copy, 0777) < 0 && errno != EEXIST)
			return error_system(err, "make folder %s", copy);
		if (!slash)
			break;
		*slash = '/';
		if (!slash[1])
			break;
	}
	struct stat status;
	if (*path && stat(path, &status) == 0 && !S_ISDIR(status.st_mode)) {
		errno = ENOTDIR;
		return error_system(err, "make folder %s", path);
	}
	return 0;
}

/* Where a folder is mounted: what is bound into a tree that goes is somebody else's, also where it
 * is of the same file system. */
struct place {
	struct stat status;
	uint64_t mount; /* 0 where the kernel does not tell */
};

static int find_place(int fd, struct place *place, struct error *err)
{
	struct statx more = { 0 };
	if (fstat(fd, &place->status) < 0)
		return error_system(err, "stat");
	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &more) == 0 &&
	    (more.stx_mask & STATX_MNT_ID))
		place->mount = more.stx_mnt_id;
	return 0;
}

/* Closes folder_fd: one descriptor a level is all that a deep tree may cost. */
static int remove_entries(int folder_fd, const struct place *top, struct error *err);

static int remove_entry(int folder_fd, const char *name, const struct place *top, struct error *err)
{
	if (unlinkat(folder_fd, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return error_system(err, "remove %s", name);
	AUTO_FD fd = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == EACCES && fchmodat(folder_fd, name, 0700, 0) == 0)
		fd = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return error_system(err, "open folder %s", name);
	if (remove_entries(take_fd(&fd), top, err) < 0)
		return error_wrap(err, "%s", name);
	if (unlinkat(folder_fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return error_system(err, "remove folder %s", name);
	return 0;
}

static int remove_entries(int folder_fd, const struct place *top, struct error *err)
{
	AUTO_DIR dir = fdopendir(folder_fd);
	if (!dir) {
		close(folder_fd);
		return error_system(err, "read folder");
	}
	struct place here = { 0 };
	if (find_place(folder_fd, &here, err) < 0)
		return -1;
	if (here.status.st_dev != top->status.st_dev || here.mount != top->mount)
		return error_set(err, ERROR_SYSTEM, EXDEV, "another file system is mounted there");
	if ((here.status.st_mode & 0700) != 0700 && fchmod(folder_fd, 0700) < 0)
		return error_system(err, "chmod");
	for (struct dirent *entry; (entry = readdir(dir));) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (remove_entry(folder_fd, entry->d_name, top, err) < 0)
			return -1;
	}
	return 0;
}

int folder_clear(const char *path, struct error *err)
{
	AUTO_FD fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == EACCES && chmod(path, 0700) == 0)
		fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return error_system(err, "open folder %s", path);
	struct place top = { 0 };
	if (find_place(fd, &top, err) < 0 || remove_entries(take_fd(&fd), &top, err) < 0)
		return error_wrap(err, "%s", path);
	return 0;
}

int folder_remove(const char *path, struct error *err)
{
	struct stat status;
	if (lstat(path, &status) < 0 && errno == ENOENT)
		return 0;
	if (folder_clear(path, err) < 0)
		return -1;
	if (rmdir(path) < 0 && errno != ENOENT)
		return error_system(err, "remove folder %s", path);
	return 0;
}

int folder_is_empty(const char *path, bool *empty, struct error *err)
{
	AUTO_DIR dir = opendir(path);
	if (!dir)
		return error_system(err, "open folder %s", path);
	*empty = true;
	for (struct dirent *entry; (entry = readdir(dir));)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			*empty = false;
	return 0;
}

int folder_free_bytes(const char *path, uint64_t *bytes, struct error *err)
{
	struct statvfs status;
	if (statvfs(path, &status) < 0)
		return error_system(err, "statvfs %s", path);
	*bytes = (uint64_t)status.f_bavail * status.f_frsize;
	return 0;
}

/* 0 where the kernel does not tell. */
static uint64_t memory_available(void)
{
	AUTO_FREE char *text = NULL;
	unsigned long long kib = 0;
	if (file_read_all("/proc/meminfo", MEMINFO_MAX, &text, NULL, NULL) < 0)
		return 0;
	const char *line = strstr(text, "MemAvailable:");
	return line && sscanf(line, "MemAvailable: %llu kB", &kib) == 1 ? kib * 1024 : 0;
}

int folder_room_bytes(const char *path, uint64_t *bytes, struct error *err)
{
	struct statfs status;
	if (folder_free_bytes(path, bytes, err) < 0)
		return -1;
	if (statfs(path, &status) < 0)
		return error_system(err, "statfs %s", path);
	uint64_t available = memory_available();
	bool in_memory = status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC;
	if (in_memory && available && available < *bytes)
		*bytes = available;
	return 0;
}

bool path_is_plain(const char *path)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/@%+=,-";
	return path[strspn(path, plain)] == '\0';
}
