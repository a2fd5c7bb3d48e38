#include "harness/agent/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"

#define READ_BYTES (1u << 20)
/* mincore(2) looks at this much of a file at a time. */
#define LOOK_BYTES (UINT64_C(1) << 30)

static int check_limit(const struct io_limit *limit, struct error *err)
{
	if (cancel_requested(limit->cancel))
		return error_set(err, ERROR_CANCELLED, 0, "stopped on request");
	if (clock_now_ns() > limit->deadline_ns)
		return error_set(err, ERROR_TIMEOUT, 0, "time is up");
	return 0;
}

int cache_is_ram(const char *folder, struct error *err)
{
	struct statfs status;
	if (statfs(folder, &status) < 0)
		return error_system(err, "statfs %s", folder);
	return status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC;
}

static int open_file(int root_fd, const struct manifest_entry *entry, struct error *err)
{
	char shown[MANIFEST_SHOWN_SIZE];
	int fd = openat(root_fd, entry->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? error_system(err, "open %s", manifest_shown(shown, entry->path)) : fd;
}

static int read_through(int fd, const struct manifest_entry *entry, void *buffer,
			const struct io_limit *limit, struct error *err)
{
	char shown[MANIFEST_SHOWN_SIZE];
	for (;;) {
		ssize_t n = read(fd, buffer, READ_BYTES);
		if (n < 0 && errno != EINTR)
			return error_system(err, "read %s", manifest_shown(shown, entry->path));
		if (n == 0)
			return 0;
		if (check_limit(limit, err) < 0)
			return -1;
	}
}

static int read_all(const char *root, const struct manifest *files, const struct io_limit *limit,
		    struct error *err)
{
	AUTO_FD root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_FREE void *buffer = malloc(READ_BYTES);
	if (root_fd < 0 || !buffer)
		return error_system(err, "open %s", root);
	for (size_t i = 0; i < files->count; i++) {
		if (files->entries[i].type != MANIFEST_FILE)
			continue;
		AUTO_FD fd = open_file(root_fd, &files->entries[i], err);
		if (fd < 0 || read_through(fd, &files->entries[i], buffer, limit, err) < 0)
			return -1;
	}
	return 0;
}

int cache_settle(const char *root, const struct manifest *files, const struct io_limit *limit,
		 struct error *err)
{
	int ram = cache_is_ram(root, err);
	if (ram <= 0)
		return ram;
	return read_all(root, files, limit, err) < 0 ? -1 : read_all(root, files, limit, err);
}

int cache_warm(const char *root, const struct manifest *files, const struct io_limit *limit,
	       struct error *err)
{
	int ram = cache_is_ram(root, err);
	if (ram != 0)
		return ram < 0 ? -1 : 0;
	return read_all(root, files, limit, err);
}

struct residency {
	uint64_t pages, resident;
};

static int look(int fd, uint64_t size, struct residency *residency, struct error *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	for (uint64_t offset = 0; offset < size; offset += LOOK_BYTES) {
		size_t length = (size_t)(size - offset < LOOK_BYTES ? size - offset : LOOK_BYTES);
		size_t pages = (length + page - 1) / page;
		AUTO_FREE unsigned char *in_core = malloc(pages);
		void *mapped = mmap(NULL, length, PROT_READ, MAP_SHARED, fd, (off_t)offset);
		if (!in_core || mapped == MAP_FAILED)
			return error_system(err, "mmap a file of the dataset");
		int outcome = mincore(mapped, length, in_core);
		munmap(mapped, length);
		if (outcome < 0)
			return error_system(err, "mincore");
		for (size_t i = 0; i < pages; i++)
			residency->resident += in_core[i] & 1;
		residency->pages += pages;
	}
	return 0;
}

int cache_drop(const char *root, const struct manifest *files, double *resident_pct,
	       const struct io_limit *limit, struct error *err)
{
	struct residency residency = { 0 };
	AUTO_FD root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return error_system(err, "open %s", root);
	for (size_t i = 0; i < files->count; i++) {
		const struct manifest_entry *entry = &files->entries[i];
		if (entry->type != MANIFEST_FILE || entry->size_bytes == 0)
			continue;
		AUTO_FD fd = open_file(root_fd, entry, err);
		if (fd < 0 || check_limit(limit, err) < 0)
			return -1;
		/* Only clean pages can go. */
		if (fdatasync(fd) < 0 && errno != EINVAL && errno != EROFS)
			return error_system(err, "fdatasync");
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		if (look(fd, entry->size_bytes, &residency, err) < 0)
			return -1;
	}
	*resident_pct =
		residency.pages ? 100.0 * (double)residency.resident / (double)residency.pages : 0;
	return 0;
}
