#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <xxhash.h>

#include "harness/api/manifest.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/holes.h"
#include "harness/base/parallel.h"

/* One read; small enough to stay in a core's own cache until it is hashed. */
#define BUFFER_BYTES ((size_t)256 * 1024)

struct scan {
	struct manifest *manifest;
	const struct manifest_scan_options *options;
	int root_fd;
	/* Shared by the hashing threads: the next entry to take, and why to stop. */
	atomic_size_t next;
	atomic_bool stop;
	pthread_mutex_t lock;
	size_t failed; /* the entry that error belongs to; the least one wins */
	struct error error;
};

static int stopped(const struct manifest_scan_options *options, struct error *err)
{
	if (cancel_requested(options->cancel))
		return error_set(err, ERROR_CANCELLED, 0, "cancelled");
	if (options->deadline_ns != 0 && options->deadline_ns != CLOCK_NEVER &&
	    clock_now_ns() >= options->deadline_ns)
		return error_set(err, ERROR_TIMEOUT, 0, "the time limit passed");
	return 0;
}

static int cannot(const char *what, const char *path, struct error *err)
{
	char shown[MANIFEST_SHOWN_SIZE];
	return error_system(err, "%s '%s'", what, manifest_shown(shown, path));
}

/* Name by name, for kernels and sandboxes without openat2. */
static int open_stepwise(int root_fd, const char *path, int flags)
{
	AUTO_FD folder = -1;
	int at = root_fd;
	for (const char *slash; (slash = strchr(path, '/')); path = slash + 1) {
		char name[MANIFEST_NAME_MAX + 1];
		size_t length = (size_t)(slash - path);
		if (length >= sizeof(name)) {
			errno = ENAMETOOLONG;
			return -1;
		}
		memcpy(name, path, length);
		name[length] = '\0';
		int next = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return -1;
		cleanup_fd(&folder);
		at = folder = next;
	}
	return openat(at, path, flags | O_NOFOLLOW | O_CLOEXEC);
}

int manifest_open(int root_fd, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)((unsigned)flags | O_NOFOLLOW | O_CLOEXEC),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	long fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		return open_stepwise(root_fd, path, flags);
	return (int)fd;
}

static const char *special_name(mode_t mode)
{
	return S_ISSOCK(mode)                   ? "a socket"
	       : S_ISFIFO(mode)                 ? "a fifo"
	       : S_ISCHR(mode) || S_ISBLK(mode) ? "a device"
						: "of an unknown kind";
}

static int read_target(int folder_fd, const char *name, char target[MANIFEST_PATH_MAX + 1])
{
	ssize_t length = readlinkat(folder_fd, name, target, MANIFEST_PATH_MAX + 1);
	if (length < 0)
		return -1;
	if (length > MANIFEST_PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	target[length] = '\0';
	return 0;
}

static int list_entry(struct manifest *manifest, int folder_fd, const char *path, const char *name,
		      struct error *err)
{
	struct stat status;
	char target[MANIFEST_PATH_MAX + 1];
	if (fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return cannot("look at", path, err);
	struct manifest_entry entry = { .path = path, .mode = status.st_mode & 07777 };
	if (S_ISREG(status.st_mode)) {
		entry.type = MANIFEST_FILE;
		entry.size_bytes = (uint64_t)status.st_size;
		entry.mtime_s = status.st_mtim.tv_sec;
	} else if (S_ISDIR(status.st_mode)) {
		entry.type = MANIFEST_FOLDER;
	} else if (S_ISLNK(status.st_mode)) {
		entry.type = MANIFEST_LINK;
		entry.target = target;
		if (read_target(folder_fd, name, target) < 0)
			return cannot("read link", path, err);
	} else {
		char shown[MANIFEST_SHOWN_SIZE];
		return error_set(err, ERROR_CONFIG, 0,
				 "'%s' is %s: only files, folders and links can be copied",
				 manifest_shown(shown, path), special_name(status.st_mode));
	}
	return manifest_add(manifest, &entry, err);
}

static bool is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int list_names(struct scan *scan, DIR *dir, const char *folder, struct error *err)
{
	char path[MANIFEST_PATH_MAX + 1 + MANIFEST_NAME_MAX + 1];
	size_t used = strlen(folder);
	memcpy(path, folder, used);
	if (used > 0)
		path[used++] = '/';
	for (;;) {
		errno = 0;
		struct dirent *entry = readdir(dir);
		if (!entry)
			return errno == 0 ? 0 : cannot("read folder", folder, err);
		if (is_dot(entry->d_name))
			continue;
		if (stopped(scan->options, err) < 0)
			return -1;
		size_t length = strnlen(entry->d_name, sizeof(path) - used - 1);
		memcpy(path + used, entry->d_name, length);
		path[used + length] = '\0';
		if (list_entry(scan->manifest, dirfd(dir), path, entry->d_name, err) < 0)
			return -1;
	}
}

static int list_folder(struct scan *scan, const char *folder, struct error *err)
{
	const char *path = *folder ? folder : ".";
	AUTO_FD fd = manifest_open(scan->root_fd, path, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return cannot("open folder", path, err);
	AUTO_DIR dir = fdopendir(fd);
	if (!dir)
		return cannot("read folder", path, err);
	take_fd(&fd);
	return list_names(scan, dir, folder, err);
}

/* The entries so far are the queue of folders still to read: one folder is open at a time, however
 * deep or wide the tree is. */
static int list_tree(struct scan *scan, struct error *err)
{
	if (list_folder(scan, "", err) < 0)
		return -1;
	for (size_t i = 0; i < scan->manifest->count; i++) {
		const struct manifest_entry *entry = &scan->manifest->entries[i];
		if (entry->type == MANIFEST_FOLDER && list_folder(scan, entry->path, err) < 0)
			return -1;
	}
	return 0;
}

/* What one thread keeps from file to file. */
struct hasher {
	struct scan *scan;
	XXH3_state_t *state;
	unsigned char *buffer;
};

static int hash_data(struct hasher *hasher, int fd, off_t from, off_t to, struct error *err)
{
	while (from < to) {
		size_t want =
			(size_t)(to - from) < BUFFER_BYTES ? (size_t)(to - from) : BUFFER_BYTES;
		if (stopped(hasher->scan->options, err) < 0)
			return -1;
		ssize_t n = pread(fd, hasher->buffer, want, from);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_system(err, "read");
		if (n == 0)
			return error_set(err, ERROR_SYSTEM, 0,
					 "it became shorter while it was read");
		XXH3_128bits_update(hasher->state, hasher->buffer, (size_t)n);
		from += n;
	}
	return 0;
}

static int hash_hole(struct hasher *hasher, off_t from, off_t to, struct error *err)
{
	static const unsigned char zeros[64 * 1024];
	while (from < to) {
		size_t count =
			(size_t)(to - from) < sizeof(zeros) ? (size_t)(to - from) : sizeof(zeros);
		if (stopped(hasher->scan->options, err) < 0)
			return -1;
		XXH3_128bits_update(hasher->state, zeros, count);
		from += (off_t)count;
	}
	return 0;
}

static int hash_contents(struct hasher *hasher, int fd, struct manifest_entry *entry,
			 struct error *err)
{
	off_t size = (off_t)entry->size_bytes;
	for (off_t at = 0, start, end; at < size; at = end) {
		holes_next_data(fd, at, size, &start, &end);
		entry->hole_bytes += (uint64_t)(start - at);
		if (hash_hole(hasher, at, start, err) < 0 ||
		    hash_data(hasher, fd, start, end, err) < 0)
			return -1;
	}
	return 0;
}

static int hash_file(struct hasher *hasher, struct manifest_entry *entry, struct error *err)
{
	struct stat status;
	/* O_NONBLOCK: what became a fifo since it was listed must not hang us. */
	AUTO_FD fd =
		manifest_open(hasher->scan->root_fd, entry->path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &status) < 0)
		return error_system(err, "open");
	if (!S_ISREG(status.st_mode))
		return error_set(err, ERROR_SYSTEM, 0, "it is no longer a file");
	entry->size_bytes = (uint64_t)status.st_size;
	entry->mode = status.st_mode & 07777;
	entry->mtime_s = status.st_mtim.tv_sec;
	XXH3_128bits_reset(hasher->state);
	if (hash_contents(hasher, fd, entry, err) < 0)
		return -1;
	if (fstat(fd, &status) < 0)
		return error_system(err, "stat");
	if ((uint64_t)status.st_size != entry->size_bytes)
		return error_set(err, ERROR_SYSTEM, 0, "its size changed while it was read");
	XXH128_hash_t hash = XXH3_128bits_digest(hasher->state);
	entry->digest = (struct manifest_digest){ .low = hash.low64, .high = hash.high64 };
	return 0;
}

static void scan_fail(struct scan *scan, size_t i, const struct error *err)
{
	pthread_mutex_lock(&scan->lock);
	if (scan->error.kind == ERROR_NONE || i < scan->failed) {
		scan->error = *err;
		scan->failed = i;
	}
	pthread_mutex_unlock(&scan->lock);
	atomic_store(&scan->stop, true);
}

static void hash_some(struct hasher *hasher)
{
	struct scan *scan = hasher->scan;
	while (!atomic_load(&scan->stop)) {
		size_t i = atomic_fetch_add(&scan->next, 1);
		if (i >= scan->manifest->count)
			return;
		struct manifest_entry *entry = &scan->manifest->entries[i];
		struct error error = { 0 };
		char shown[MANIFEST_SHOWN_SIZE];
		if (entry->type != MANIFEST_FILE)
			continue;
		if (stopped(scan->options, &error) == 0 && hash_file(hasher, entry, &error) == 0)
			continue;
		if (error.kind == ERROR_SYSTEM)
			error_wrap(&error, "'%s'", manifest_shown(shown, entry->path));
		scan_fail(scan, i, &error);
	}
}

static void hash_work(void *context)
{
	struct hasher hasher = { .scan = context };
	hasher.state = XXH3_createState();
	hasher.buffer = malloc(BUFFER_BYTES);
	if (hasher.state && hasher.buffer) {
		hash_some(&hasher);
	} else {
		struct error error = { 0 };
		error_set(&error, ERROR_SYSTEM, ENOMEM, "out of memory");
		scan_fail(hasher.scan, 0, &error);
	}
	free(hasher.buffer);
	XXH3_freeState(hasher.state);
}

static int hash_files(struct scan *scan, struct error *err)
{
	unsigned threads = scan->options->threads ? scan->options->threads : parallel_cpus();
	if (threads > scan->manifest->count)
		threads = scan->manifest->count ? (unsigned)scan->manifest->count : 1;
	pthread_mutex_init(&scan->lock, NULL);
	parallel_run(threads, hash_work, scan);
	pthread_mutex_destroy(&scan->lock);
	if (scan->error.kind == ERROR_NONE)
		return 0;
	if (err)
		*err = scan->error;
	return -1;
}

static int scan_root(struct scan *scan, const char *root, bool contents, struct error *err)
{
	static const struct manifest_scan_options defaults = { .deadline_ns = CLOCK_NEVER };
	if (!scan->options)
		scan->options = &defaults;
	AUTO_FD fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return cannot("open folder", root, err);
	scan->root_fd = fd;
	char shown[MANIFEST_SHOWN_SIZE];
	if (list_tree(scan, err) < 0 || (contents && hash_files(scan, err) < 0) ||
	    manifest_finish(scan->manifest, err) < 0) {
		manifest_free(scan->manifest);
		return error_wrap(err, "in %s", manifest_shown(shown, root));
	}
	return 0;
}

int manifest_list(struct manifest *manifest, const char *root,
		  const struct manifest_scan_options *options, struct error *err)
{
	struct scan scan = { .manifest = manifest, .options = options };
	return scan_root(&scan, root, false, err);
}

int manifest_scan(struct manifest *manifest, const char *root,
		  const struct manifest_scan_options *options, struct error *err)
{
	struct scan scan = { .manifest = manifest, .options = options };
	return scan_root(&scan, root, true, err);
}
