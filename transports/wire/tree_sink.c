#include "transports/wire/tree_sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "transports/wire/wire.h"

#define PERMISSIONS 0777u
#define OWNER_ALL   0700u

int tree_sink_open(struct tree_sink *sink, const char *root, enum preserve preserve,
		   struct error *err)
{
	*sink = (struct tree_sink){ .beneath = BENEATH_CLOSED, .preserve = preserve };
	return beneath_open(&sink->beneath, root, err);
}

void tree_sink_close(struct tree_sink *sink)
{
	beneath_close(&sink->beneath);
}

static int failed(const char *what, const char *path, struct error *err)
{
	if (errno == EEXIST)
		return error_set(err, ERROR_PEER, EEXIST, "%s exists already", path);
	if (errno == ENOSPC)
		return error_set(err, ERROR_SYSTEM, ENOSPC, "%s %s: no space left on device", what,
				 path);
	return error_system(err, "%s %s", what, path);
}

/* An earlier copy may have closed it already: its owner must be able to write there again. */
static bool open_up(int folder, const char *name, int flags, mode_t needed)
{
	struct stat status;
	AUTO_FD fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags);
	if (fd >= 0 && fstat(fd, &status) == 0 &&
	    ((status.st_mode & needed) == needed || fchmod(fd, needed) == 0))
		return true;
	errno = EEXIST;
	return false;
}

int tree_sink_folder(struct tree_sink *sink, const char *path, uint32_t mode, struct error *err)
{
	const char *name;
	int folder = beneath_enter(&sink->beneath, path, &name, err);
	if (folder < 0)
		return -1;
	bool keep = sink->preserve >= PRESERVE_MODE;
	if (mkdirat(folder, name, keep ? OWNER_ALL : PERMISSIONS) < 0 &&
	    !(errno == EEXIST && sink->reuse && open_up(folder, name, O_DIRECTORY, OWNER_ALL)))
		return failed("make folder", path, err);
	/* Not left to mkdirat: the umask would have its say. */
	if (keep && !wire_mode_is_late(sink->preserve, mode))
		return tree_sink_folder_mode(sink, path, mode, err);
	return 0;
}

int tree_sink_folder_mode(struct tree_sink *sink, const char *path, uint32_t mode,
			  struct error *err)
{
	const char *name;
	int folder = beneath_enter(&sink->beneath, path, &name, err);
	if (folder < 0)
		return -1;
	AUTO_FD fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return failed("open folder", path, err);
	if (fchmod(fd, mode & PERMISSIONS) < 0)
		return failed("set mode of", path, err);
	return 0;
}

int tree_sink_link(struct tree_sink *sink, const char *path, const char *target, struct error *err)
{
	const char *name;
	int folder = beneath_enter(&sink->beneath, path, &name, err);
	if (folder < 0)
		return -1;
	if (sink->reuse && unlinkat(folder, name, 0) < 0 && errno != ENOENT)
		return failed("replace link", path, err);
	if (symlinkat(target, folder, name) < 0)
		return failed("make link", path, err);
	return 0;
}

static int open_file(struct tree_sink *sink, const char *path, int flags, int *fd,
		     struct error *err)
{
	const char *name;
	int folder = beneath_enter(&sink->beneath, path, &name, err);
	if (folder < 0)
		return -1;
	mode_t mode = sink->preserve >= PRESERVE_MODE ? 0600 : 0666;
	/* What is there is read, too, when a copy is resumed. */
	int access = sink->reuse ? O_RDWR : O_WRONLY;
	*fd = openat(folder, name, access | O_NOFOLLOW | O_CLOEXEC | flags, mode);
	if (*fd < 0)
		return failed("create", path, err);
	return 0;
}

static int take_touched(struct tree_sink *sink, const char *path, int *fd, struct error *err)
{
	const char *name;
	int folder = beneath_enter(&sink->beneath, path, &name, err);
	if (folder < 0)
		return -1;
	int taken = pretouch_take(sink->pretouch, path, folder, name, fd);
	return taken < 0 ? failed("create", path, err) : taken;
}

int tree_sink_file(struct tree_sink *sink, const char *path, int *fd, struct error *err)
{
	int taken = sink->pretouch ? take_touched(sink, path, fd, err) : 0;
	if (taken != 0)
		return taken < 0 ? -1 : 0;
	if (open_file(sink, path, O_CREAT | O_EXCL, fd, err) < 0)
		return -1;
	return sink->direct ? direct_io_begin(*fd, err) : 0;
}

int tree_sink_reopen(struct tree_sink *sink, const char *path, int *fd, struct error *err)
{
	return open_file(sink, path, 0, fd, err);
}

/* Is this a file that nobody else has under another name? */
static bool is_own_file(int fd, struct stat *status)
{
	return fstat(fd, status) == 0 && S_ISREG(status->st_mode) && status->st_nlink == 1;
}

int tree_sink_reuse(struct tree_sink *sink, const char *path, uint64_t size, int *fd,
		    struct error *err)
{
	const char *name;
	struct stat status;
	int folder = beneath_enter(&sink->beneath, path, &name, err);
	if (folder < 0)
		return -1;
	int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	AUTO_FD file = openat(folder, name, flags, 0600);
	if (file < 0 && errno == EACCES && open_up(folder, name, 0, 0600))
		file = openat(folder, name, flags, 0600);
	if (file < 0)
		return failed("open", path, err);
	if (!is_own_file(file, &status))
		return error_set(err, ERROR_PEER, EEXIST, "%s exists already, as something else",
				 path);
	if (ftruncate(file, (off_t)size) < 0)
		return failed("set size of", path, err);
	*fd = take_fd(&file);
	return 0;
}

int tree_sink_existing(struct tree_sink *sink, const char *path, uint64_t size, int *fd,
		       struct error *err)
{
	const char *name;
	struct stat status;
	*fd = -1;
	int folder = beneath_enter(&sink->beneath, path, &name, err);
	if (folder < 0)
		return -1;
	AUTO_FD file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (file >= 0 && is_own_file(file, &status) && (uint64_t)status.st_size == size)
		*fd = take_fd(&file);
	return 0;
}

int tree_sink_remove(struct tree_sink *sink, const char *path, struct error *err)
{
	const char *name;
	int folder = beneath_enter(&sink->beneath, path, &name, err);
	if (folder < 0)
		return -1;
	if (unlinkat(folder, name, 0) < 0 && errno != ENOENT)
		return failed("remove", path, err);
	return 0;
}

int tree_sink_file_done(struct tree_sink *sink, int fd, uint32_t mode, int64_t mtime_s,
			struct error *err)
{
	if (sink->preserve >= PRESERVE_MODE && fchmod(fd, mode & PERMISSIONS) < 0)
		return error_system(err, "set mode");
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = mtime_s } };
	if (sink->preserve >= PRESERVE_ALL && futimens(fd, times) < 0)
		return error_system(err, "set modification time");
	return 0;
}
