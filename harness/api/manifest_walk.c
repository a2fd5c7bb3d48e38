#include "harness/api/manifest_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"

int manifest_stopped(const struct manifest_scan_options *options, struct error *err)
{
	if (cancel_requested(options->cancel))
		return error_set(err, ERROR_CANCELLED, 0, "cancelled");
	if (options->deadline_ns != 0 && options->deadline_ns != CLOCK_NEVER &&
	    clock_now_ns() >= options->deadline_ns)
		return error_set(err, ERROR_TIMEOUT, 0, "the time limit passed");
	return 0;
}

int manifest_cannot(const char *what, const char *path, struct error *err)
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

static int open_beneath(int root_fd, const char *path, int flags, uint64_t resolve)
{
	struct open_how how = {
		.flags = (uint64_t)((unsigned)flags | O_NOFOLLOW | O_CLOEXEC),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | resolve,
	};
	long fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		return open_stepwise(root_fd, path, flags);
	return (int)fd;
}

int manifest_open(int root_fd, const char *path, int flags)
{
	return open_beneath(root_fd, path, flags, 0);
}

int manifest_open_in(int root_fd, const char *path, int flags,
		     const struct manifest_scan_options *options)
{
	return open_beneath(root_fd, path, flags, options->one_mount ? RESOLVE_NO_XDEV : 0);
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

static int look_at(const struct manifest_walk *walk, int folder_fd, const char *path,
		   const char *name, struct error *err)
{
	struct stat status;
	char target[MANIFEST_PATH_MAX + 1];
	if (fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return manifest_cannot("look at", path, err);
	struct manifest_entry entry = { .path = path, .mode = status.st_mode & 07777 };
	if (S_ISREG(status.st_mode)) {
		entry.type = MANIFEST_FILE;
		entry.size_bytes = (uint64_t)status.st_size;
		entry.mtime_s = status.st_mtim.tv_sec;
		entry.linked = status.st_nlink > 1;
	} else if (S_ISDIR(status.st_mode)) {
		entry.type = MANIFEST_FOLDER;
	} else if (S_ISLNK(status.st_mode)) {
		entry.type = MANIFEST_LINK;
		entry.mode = 0777;
		entry.target = target;
		if (read_target(folder_fd, name, target) < 0)
			return manifest_cannot("read link", path, err);
	} else {
		char shown[MANIFEST_SHOWN_SIZE];
		return error_set(err, ERROR_CONFIG, 0,
				 "'%s' is %s: only files, folders and links can be copied",
				 manifest_shown(shown, path), special_name(status.st_mode));
	}
	return walk->found(walk->context, &entry, &status, err);
}

static bool is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int walk_names(const struct manifest_walk *walk, DIR *dir, const char *folder,
		      struct error *err)
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
			return errno == 0 ? 0 : manifest_cannot("read folder", folder, err);
		if (is_dot(entry->d_name))
			continue;
		if (manifest_stopped(walk->options, err) < 0)
			return -1;
		size_t length = strnlen(entry->d_name, sizeof(path) - used - 1);
		memcpy(path + used, entry->d_name, length);
		path[used + length] = '\0';
		if (look_at(walk, dirfd(dir), path, entry->d_name, err) < 0)
			return -1;
	}
}

int manifest_walk_folder(const struct manifest_walk *walk, const char *folder, struct error *err)
{
	const char *path = *folder ? folder : ".";
	AUTO_FD fd = manifest_open_in(walk->root_fd, path, O_RDONLY | O_DIRECTORY, walk->options);
	if (fd < 0)
		return manifest_cannot("open folder", path, err);
	AUTO_DIR dir = fdopendir(fd);
	if (!dir)
		return manifest_cannot("read folder", path, err);
	take_fd(&fd);
	return walk_names(walk, dir, folder, err);
}
