#include "harness/base/shared_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/text.h"

/* A second of patience: anyone may lock a folder that he can open, so it may not be waited for.
 * Fifty tries: where several take turns without a break, each finds it locked nine times in ten.
 */
#define LOCK_PATIENCE_S 1

/* Locks the folder that path is in: looking, making and removing must be one step. Closing the
 * descriptor unlocks; -1 when there was no lock to be had. */
static int lock_parent(const char *path)
{
	AUTO_TEXT parent = { 0 };
	const char *slash = strrchr(path, '/');
	text_add_bytes(&parent, path, slash ? (size_t)(slash - path) + 1 : 0);
	if (!parent.length)
		text_add(&parent, ".");
	AUTO_FD fd = open(text_string(&parent), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int64_t end_ns = clock_deadline_ns(LOCK_PATIENCE_S);
	for (int64_t pause_ns = 0; fd >= 0 && clock_now_ns() < end_ns; clock_rest(&pause_ns))
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return take_fd(&fd);
	return -1;
}

/* True for a folder that somebody else made. */
static bool is_foreign(const char *path)
{
	AUTO_DIR dir = opendir(path);
	if (!dir)
		return false;
	for (struct dirent *entry; (entry = readdir(dir));)
		if (strncmp(entry->d_name, SHARED_FOLDER_PREFIX, strlen(SHARED_FOLDER_PREFIX)) == 0)
			return false;
	return true;
}

int shared_folder_hold(const char *path, const char *name, struct error *err)
{
	__attribute__((unused)) AUTO_FD lock = lock_parent(path);
	AUTO_TEXT holder = { 0 };
	text_addf(&holder, "%s/" SHARED_FOLDER_PREFIX "%s", path, name);
	if (is_foreign(path))
		return 0;
	if (mkdir(path, 0755) == 0) {
		/* Whatever the umask is. */
		if (chmod(path, 0755) < 0)
			return error_system(err, "chmod %s", path);
	} else if (errno != EEXIST) {
		return error_system(err, "make folder %s", path);
	}
	if (mkdir(text_string(&holder), 0700) < 0 && errno != EEXIST)
		return error_system(err, "make folder %s", text_string(&holder));
	return 0;
}

void shared_folder_release(const char *path, const char *name)
{
	__attribute__((unused)) AUTO_FD lock = lock_parent(path);
	AUTO_TEXT holder = { 0 };
	text_addf(&holder, "%s/" SHARED_FOLDER_PREFIX "%s", path, name);
	if (rmdir(text_string(&holder)) == 0)
		rmdir(path); /* fails while others hold it */
}
