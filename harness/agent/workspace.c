#include "harness/agent/workspace.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "harness/agent/location.h"
#include "harness/api/run_mark.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/files.h"
#include "harness/base/io.h"
#include "harness/base/log.h"
#include "harness/base/shared_folder.h"
#include "harness/base/text.h"

#define DEFAULT_FOLDER "/tmp"
#define PREFIX         "linefill-"
/* Data may lie where somebody's temporary files do: its name must not look like a workspace's,
 * which has a lock and is swept without. */
#define DATA_SUFFIX     "-data"
#define LOCK_NAME       "lock"
#define JOURNAL_NAME    "journal"
#define JOURNAL_MAX     (1 << 20)
#define ENVIRONMENT_MAX (1 << 20)
/* A folder without a lock file was made a moment ago, or its agent died in that moment. */
#define UNLOCKED_GRACE_S 60
/* A killed process may take this long to be gone. */
#define KILL_PATIENCE_S 5
#define KILLED_AT_ONCE  64

static const char *temporary_folder(void)
{
	const char *folder = getenv("TMPDIR");
	return folder && folder[0] == '/' && path_is_plain(folder) ? folder : DEFAULT_FOLDER;
}

const char *workspace_location(const char *location)
{
	return strcmp(location, "ram") == 0 ? "/dev/shm" : location;
}

static int take_lock(const char *scratch, int *lock_fd, struct error *err)
{
	AUTO_FREE char *path = path_join(scratch, LOCK_NAME);
	AUTO_FD fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return error_system(err, "open %s", path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return error_system(err, "lock %s", path);
	*lock_fd = take_fd(&fd);
	return 0;
}

int workspace_open(struct workspace *workspace, const char *id, struct error *err)
{
	*workspace = WORKSPACE_NONE;
	AUTO_TEXT name = { 0 };
	text_addf(&name, PREFIX "%u-%s", (unsigned)getuid(), id);
	AUTO_FREE char *scratch = path_join(temporary_folder(), text_string(&name));
	if (mkdir(scratch, 0700) < 0)
		return error_system(err, "make folder %s", scratch);
	location_settle(scratch);
	workspace->id = strdup(id);
	workspace->scratch = strdup(scratch);
	if (!workspace->id || !workspace->scratch)
		abort();
	AUTO_FREE char *journal = path_join(scratch, JOURNAL_NAME);
	workspace->journal_fd = open(journal, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (workspace->journal_fd < 0) {
		error_system(err, "create %s", journal);
		workspace_close(workspace);
		return -1;
	}
	if (take_lock(scratch, &workspace->lock_fd, err) < 0) {
		workspace_close(workspace);
		return -1;
	}
	return 0;
}

/* One line "verb path"; the path may not hold a newline, which our own never do. */
static int journal_add(struct workspace *workspace, const char *verb, const char *path,
		       struct error *err)
{
	if (strchr(path, '\n'))
		return error_set(err, ERROR_CONFIG, 0, "a folder's name holds a newline");
	AUTO_TEXT line = { 0 };
	text_addf(&line, "%s %s\n", verb, path);
	const struct io_limit limit = { .deadline_ns = CLOCK_NEVER };
	return io_write_full(workspace->journal_fd, text_string(&line), line.length, &limit, err);
}

/* Some places give files to somebody else: what is not ours will not be swept up. */
static int make_data(const char *data, const char *base, enum preserve preserve, struct error *err)
{
	if (mkdir(data, 0700) < 0)
		return error_system(err, "make folder %s", data);
	location_settle(data);
	if (location_try(data, base, preserve, err) == 0)
		return 0;
	if (rmdir(data) < 0)
		log_line(LOG_WARNING, "could not remove %s: %s", data, strerror(errno));
	return -1;
}

int workspace_add_data(struct workspace *workspace, const char *location, enum preserve preserve,
		       struct error *err)
{
	const char *base = workspace_location(location);
	struct stat status;
	if (base[0] != '/' || !path_is_plain(base))
		return error_set(
			err, ERROR_CONFIG, 0,
			"location %s: an absolute path of letters, digits and ._/@%%+=,- is "
			"needed, since tools pass it through remote shells",
			base);
	if (stat(base, &status) < 0)
		return error_system(err, "location %s", base);
	if (!S_ISDIR(status.st_mode))
		return error_set(err, ERROR_CONFIG, 0, "location %s is not a folder", base);
	AUTO_TEXT name = { 0 };
	text_addf(&name, PREFIX "%u-%s" DATA_SUFFIX, (unsigned)getuid(), workspace->id);
	AUTO_FREE char *data = path_join(base, text_string(&name));
	if (location_check(base, err) < 0 || journal_add(workspace, "data", data, err) < 0 ||
	    make_data(data, base, preserve, err) < 0)
		return -1;
	workspace->data = TAKE_POINTER(data);
	workspace->location = strdup(base);
	return 0;
}

/* The name under which a workspace holds shared folders: its own folder's. */
static const char *holder_of(const char *scratch)
{
	const char *slash = strrchr(scratch, '/');
	return slash ? slash + 1 : scratch;
}

int workspace_hold_folder(struct workspace *workspace, const char *path, struct error *err)
{
	if (journal_add(workspace, "release", path, err) < 0)
		return -1;
	return shared_folder_hold(path, holder_of(workspace->scratch), err);
}

/* Only what a workspace can have made is removed, whatever a journal says. */
static bool is_our_data(const char *path)
{
	struct stat status;
	const char *name = strrchr(path, '/');
	return path[0] == '/' && name && strncmp(name + 1, PREFIX, strlen(PREFIX)) == 0 &&
	       lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == getuid();
}

static bool undo_line(char *line, const char *scratch)
{
	struct error err = { 0 };
	char *space = strchr(line, ' ');
	if (!space)
		return true;
	*space = '\0';
	const char *path = space + 1;
	if (strcmp(line, "release") == 0)
		shared_folder_release(path, holder_of(scratch));
	if (strcmp(line, "data") != 0 || !is_our_data(path) || folder_remove(path, &err) == 0)
		return true;
	log_line(LOG_WARNING, "could not remove %s: %s", path, err.message);
	return false;
}

static bool undo_journal(const char *scratch)
{
	bool undone = true;
	AUTO_FREE char *path = path_join(scratch, JOURNAL_NAME);
	AUTO_FREE char *journal = NULL;
	if (file_read_all(path, JOURNAL_MAX, &journal, NULL, NULL) < 0)
		return true;
	for (char *save = NULL, *line = strtok_r(journal, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		undone &= undo_line(line, scratch);
	return undone;
}

/* With its journal, so only once all in that is undone: else the next start tries again. */
static void remove_scratch(const char *scratch)
{
	struct error err = { 0 };
	if (undo_journal(scratch) && folder_remove(scratch, &err) < 0)
		log_line(LOG_WARNING, "could not remove %s: %s", scratch, err.message);
}

void workspace_close(struct workspace *workspace)
{
	if (workspace->scratch)
		remove_scratch(workspace->scratch);
	if (workspace->journal_fd >= 0)
		close(workspace->journal_fd);
	if (workspace->lock_fd >= 0)
		close(workspace->lock_fd);
	free(workspace->id);
	free(workspace->scratch);
	free(workspace->data);
	free(workspace->location);
	*workspace = WORKSPACE_NONE;
}

/* True if the process's initial environment holds exactly this entry. */
static bool has_environment(const char *pid, const char *entry)
{
	AUTO_TEXT path = { 0 };
	text_addf(&path, "/proc/%s/environ", pid);
	AUTO_FREE char *environment = NULL;
	size_t count = 0;
	if (file_read_all(text_string(&path), ENVIRONMENT_MAX, &environment, &count, NULL) < 0)
		return false;
	for (size_t at = 0; at < count; at += strlen(environment + at) + 1)
		if (strcmp(environment + at, entry) == 0)
			return true;
	return false;
}

/* Kills those that still live; the pidfds of up to room of them go to ends. One that is killed has
 * no environment any more once it cannot act. */
static size_t kill_marked(const char *entry, int *ends, size_t room)
{
	size_t count = 0;
	AUTO_DIR proc = opendir("/proc");
	for (struct dirent *item; proc && count < room && (item = readdir(proc));) {
		uint64_t pid = 0;
		if (!text_to_u64(item->d_name, &pid) || (pid_t)pid == getpid())
			continue;
		/* Before the look: its number may be another's after it. */
		AUTO_FD end = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
		if (end < 0 || !has_environment(item->d_name, entry))
			continue;
		syscall(SYS_pidfd_send_signal, end, SIGKILL, NULL, 0);
		ends[count++] = take_fd(&end);
	}
	return count;
}

/* Until none is left: while one lives it may fork, and write into what is about to be removed. */
static void kill_processes_of(const char *id)
{
	const struct io_limit patience = { .deadline_ns = clock_deadline_ns(KILL_PATIENCE_S) };
	bool ended = true;
	AUTO_TEXT entry = { 0 };
	text_addf(&entry, RUN_MARK_ENV "=%s", id);
	while (ended) {
		int ends[KILLED_AT_ONCE];
		size_t count = kill_marked(text_string(&entry), ends, KILLED_AT_ONCE);
		if (count == 0)
			return;
		for (size_t i = 0; i < count; i++) {
			ended = ended && io_wait(ends[i], POLLIN, &patience, NULL) == 0;
			close(ends[i]);
		}
	}
}

static bool is_data_name(const char *name)
{
	size_t length = strlen(name);
	size_t suffix = strlen(DATA_SUFFIX);
	return length > suffix && strcmp(name + length - suffix, DATA_SUFFIX) == 0;
}

/* True, with the lock held, when nobody lives in the folder any more. */
static bool is_stale(const char *scratch, int *lock_fd)
{
	struct stat status;
	if (lstat(scratch, &status) < 0 || !S_ISDIR(status.st_mode) || status.st_uid != getuid())
		return false;
	AUTO_FREE char *path = path_join(scratch, LOCK_NAME);
	if (access(path, F_OK) < 0 && time(NULL) - status.st_mtime < UNLOCKED_GRACE_S)
		return false;
	return take_lock(scratch, lock_fd, NULL) == 0;
}

static void sweep_folder(const char *folder)
{
	char prefix[64];
	snprintf(prefix, sizeof(prefix), PREFIX "%u-", (unsigned)getuid());
	AUTO_DIR entries = opendir(folder);
	if (!entries)
		return;
	for (struct dirent *item; (item = readdir(entries));) {
		if (strncmp(item->d_name, prefix, strlen(prefix)) != 0 ||
		    is_data_name(item->d_name))
			continue;
		AUTO_FREE char *scratch = path_join(folder, item->d_name);
		AUTO_FD lock_fd = -1;
		if (!is_stale(scratch, &lock_fd))
			continue;
		log_line(LOG_INFO, "sweeping up %s, left by a run that was killed", scratch);
		kill_processes_of(item->d_name + strlen(prefix));
		remove_scratch(scratch);
	}
}

void workspace_sweep(void)
{
	const char *folder = temporary_folder();
	sweep_folder(folder);
	/* Who was killed may have had another TMPDIR: most often none. */
	if (strcmp(folder, DEFAULT_FOLDER) != 0)
		sweep_folder(DEFAULT_FOLDER);
}
