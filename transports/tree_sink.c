#include "transports/tree_sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "transports/wire.h"

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

int tree_sink_folder(struct tree_sink *sink, const char *path, uint32_t mode, struct error *err)
{
	const char *name;
	int folder = beneath_enter(&sink->beneath, path, &name, err);
	if (folder < 0)
		return -1;
	bool keep = sink->preserve >= PRESERVE_MODE;
	if (mkdirat(folder, name, keep ? OWNER_ALL : PERMISSIONS) < 0)
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
	*fd = openat(folder, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | flags, mode);
	if (*fd < 0)
		return failed("create", path, err);
	return 0;
}

int tree_sink_file(struct tree_sink *sink, const char *path, int *fd, struct error *err)
{
	return open_file(sink, path, O_CREAT | O_EXCL, fd, err);
}

int tree_sink_reopen(struct tree_sink *sink, const char *path, int *fd, struct error *err)
{
	return open_file(sink, path, 0, fd, err);
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
