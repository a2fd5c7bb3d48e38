#include "harness/base/child.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/files.h"

/* Children that the kernel's list missed turn up after the first; one of another user's stays. */
#define STRAY_RESTS 10

static int open_pidfd(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static void reset_signals(void)
{
	struct sigaction plain = { .sa_handler = SIG_DFL };
	for (int signal = 1; signal < NSIG; signal++)
		sigaction(signal, &plain, NULL);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The same file (-1: /dev/null) at a number above 2, where nothing is put over it. */
static int above_standard(int fd, int flags)
{
	if (fd < 0)
		fd = open("/dev/null", flags | O_CLOEXEC);
	return fd >= 0 && fd <= 2 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : fd;
}

/* What the child tells when it cannot become the program. */
struct complaint {
	int code; /* errno */
	bool about_folder;
};

/* In the child: returns only on failure, with errno set. */
static void become(const struct child_spec *spec, pid_t parent)
{
	setpgid(0, 0);
	if (!spec->outlives_parent) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(127);
	}
	reset_signals();
	int input = above_standard(spec->input, O_RDONLY);
	int output = above_standard(spec->output, O_WRONLY);
	int error = above_standard(spec->error, O_WRONLY);
	if (input < 0 || output < 0 || error < 0 || dup2(input, 0) < 0 || dup2(output, 1) < 0 ||
	    dup2(error, 2) < 0)
		return;
	/* Also what we were started with and know nothing of; ignored where the kernel cannot. */
	close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
	char *const *argv = (char *const *)spec->argv;
	if (spec->env)
		execvpe(argv[0], argv, (char *const *)spec->env);
	else
		execvp(argv[0], argv);
}

static int explain(const struct child_spec *spec, const struct complaint *complaint,
		   struct error *err)
{
	int code = complaint->code;
	errno = code;
	if (complaint->about_folder)
		return error_system(err, "%s: working folder %s", spec->argv[0], spec->folder);
	/* A search ends with EACCES when a folder of PATH is closed to us: that says nothing. */
	bool found_but_closed = code == EACCES && strchr(spec->argv[0], '/');
	if (code == ENOENT || code == EACCES)
		return error_set(err, ERROR_UNAVAILABLE, code, "%s: %s", spec->argv[0],
				 found_but_closed ? "not executable" : "not found");
	return error_system(err, "%s", spec->argv[0]);
}

int child_start(const struct child_spec *spec, struct child *child, struct error *err)
{
	int report[2];
	if (pipe2(report, O_CLOEXEC) < 0)
		return error_system(err, "pipe");
	AUTO_FD reader = report[0];
	AUTO_FD writer = report[1];
	pid_t parent = getpid();
	pid_t pid = fork();
	if (pid < 0)
		return error_system(err, "fork");
	if (pid == 0) {
		/* The report pipe may not lie where the standard descriptors go. */
		int up = fcntl(writer, F_DUPFD_CLOEXEC, 3);
		struct complaint complaint = { .about_folder = true };
		if (!spec->folder || chdir(spec->folder) == 0) {
			complaint.about_folder = false;
			become(spec, parent);
		}
		complaint.code = errno;
		if (write(up, &complaint, sizeof(complaint)) < 0)
			_exit(126);
		_exit(127);
	}
	setpgid(pid, pid); /* both do it: neither may be too late */
	close(take_fd(&writer));
	struct complaint complaint = { 0 };
	ssize_t n;
	while ((n = read(reader, &complaint, sizeof(complaint))) < 0 && errno == EINTR)
		;
	if (n == (ssize_t)sizeof(complaint)) {
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		return explain(spec, &complaint, err);
	}
	child->pid = pid;
	child->fd = open_pidfd(pid);
	if (child->fd < 0) {
		error_system(err, "pidfd_open");
		child_end(child);
		return -1;
	}
	return 0;
}

int child_fork(struct child *child, struct error *err)
{
	pid_t parent = getpid();
	pid_t pid = fork();
	if (pid < 0)
		return error_system(err, "fork");
	if (pid == 0) {
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(126);
		return 0;
	}
	setpgid(pid, pid);
	*child = (struct child){ .pid = pid, .fd = open_pidfd(pid) };
	if (child->fd < 0) {
		error_system(err, "pidfd_open");
		child_end(child);
		return -1;
	}
	return 1;
}

static void child_forget(struct child *child)
{
	if (child->fd >= 0)
		close(child->fd);
	*child = CHILD_NONE;
}

int child_wait(struct child *child, const struct io_limit *limit, int *status, struct error *err)
{
	if (io_wait(child->fd, POLLIN, limit, err) < 0)
		return -1;
	while (waitpid(child->pid, status, 0) < 0)
		if (errno != EINTR)
			return error_system(err, "waitpid");
	child_forget(child);
	return 0;
}

void child_end(struct child *child)
{
	if (child->pid <= 0)
		return;
	kill(-child->pid, SIGKILL);
	kill(child->pid, SIGKILL);
	while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
		;
	child_forget(child);
}

static int drain(int fd, size_t bytes, const struct io_limit *limit, struct text *output,
		 struct error *err)
{
	char buffer[16384];
	for (;;) {
		ssize_t n = io_read_some(fd, buffer, sizeof(buffer), limit, err);
		if (n <= 0)
			return (int)n;
		size_t room = output->length < bytes ? bytes - output->length : 0;
		text_add_bytes(output, buffer, (size_t)n < room ? (size_t)n : room);
	}
}

int child_capture(const struct child_spec *spec, const struct io_limit *limit, size_t bytes,
		  struct text *output, int *status, struct error *err)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_system(err, "pipe");
	AUTO_FD reader = ends[0];
	AUTO_FD writer = ends[1];
	if (io_set_nonblocking(reader, err) < 0)
		return -1;
	struct child_spec captured = *spec;
	captured.output = captured.error = writer;
	struct child child = CHILD_NONE;
	if (child_start(&captured, &child, err) < 0)
		return -1;
	close(take_fd(&writer));
	if (drain(reader, bytes, limit, output, err) < 0 ||
	    child_wait(&child, limit, status, err) < 0) {
		child_end(&child);
		return error_wrap(err, "%s", spec->argv[0]);
	}
	return 0;
}

char *child_search_path(void)
{
	const char *path = getenv("PATH");
	AUTO_TEXT all = { 0 };
	AUTO_TEXT kept = { 0 };
	text_addf(&all, "%s:/usr/local/sbin:/usr/sbin:/sbin", path ? path : "/usr/bin:/bin");
	for (char *save = NULL, *folder = strtok_r(all.data, ":", &save); folder;
	     folder = strtok_r(NULL, ":", &save))
		if (folder[0] == '/')
			text_addf(&kept, "%s%s", kept.length ? ":" : "", folder);
	return text_take(&kept);
}

char *child_find_in(const char *path, const char *name)
{
	AUTO_FREE char *folders = strdup(path);
	if (!folders)
		abort();
	for (char *save = NULL, *folder = strtok_r(folders, ":", &save); folder;
	     folder = strtok_r(NULL, ":", &save)) {
		AUTO_FREE char *candidate = path_join(folder, name);
		struct stat status;
		if (candidate[0] == '/' && access(candidate, X_OK) == 0 &&
		    stat(candidate, &status) == 0 && S_ISREG(status.st_mode))
			return TAKE_POINTER(candidate);
	}
	return NULL;
}

char *child_find_program(const char *name, struct error *err)
{
	AUTO_FREE char *folders = child_search_path();
	char *found = NULL;
	if (!strchr(name, '/'))
		found = child_find_in(folders, name);
	else if (access(name, X_OK) == 0)
		found = realpath(name, NULL);
	if (!found)
		error_set(err, ERROR_UNAVAILABLE, ENOENT, "%s: not found", name);
	return found;
}

const char *child_signal_name(int signal, char *name, size_t size)
{
	const char *abbreviation = sigabbrev_np(signal);
	if (abbreviation)
		snprintf(name, size, "SIG%s", abbreviation);
	else
		snprintf(name, size, "signal %d", signal);
	return name;
}

const char *child_status_text(int status, char *text, size_t size)
{
	char name[32];
	if (WIFSIGNALED(status))
		snprintf(text, size, "killed by %s",
			 child_signal_name(WTERMSIG(status), name, sizeof(name)));
	else
		snprintf(text, size, "exit status %d", WEXITSTATUS(status));
	return text;
}

int child_adopt_orphans(struct error *err)
{
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return error_system(err, "prctl(PR_SET_CHILD_SUBREAPER)");
	return 0;
}

static int is_kept(pid_t pid, const pid_t *keep, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (keep[i] == pid)
			return 1;
	return 0;
}

static int end_listed(char *list, const pid_t *keep, size_t count)
{
	int ended = 0;
	for (char *save = NULL, *word = strtok_r(list, " ", &save); word;
	     word = strtok_r(NULL, " ", &save)) {
		uint64_t pid = 0;
		if (!text_to_u64(word, &pid) || is_kept((pid_t)pid, keep, count))
			continue;
		/* One of another user's cannot be killed: waiting for it could take for ever. */
		int flags = kill((pid_t)pid, SIGKILL) < 0 ? WNOHANG : 0;
		if (waitpid((pid_t)pid, NULL, flags) == (pid_t)pid)
			ended++;
	}
	return ended;
}

/* One look at the children of each of our threads; returns how many were ended. */
static int end_strays_once(const pid_t *keep, size_t count)
{
	AUTO_DIR tasks = opendir("/proc/self/task");
	int ended = 0;
	for (struct dirent *task; tasks && (task = readdir(tasks));) {
		char path[sizeof("/proc/self/task/") + sizeof(task->d_name) + sizeof("/children")];
		snprintf(path, sizeof(path), "/proc/self/task/%s/children", task->d_name);
		AUTO_FREE char *list = NULL;
		if (task->d_name[0] != '.' && file_read_all(path, 1 << 20, &list, NULL, NULL) == 0)
			ended += end_listed(list, keep, count);
	}
	return ended;
}

static bool has_children(void)
{
	siginfo_t info;
	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

void child_end_strays(const pid_t *keep, size_t count)
{
	/* Ending one may orphan its children onto us, and the kernel's list may miss some while it
	 * changes: look again until none are left. */
	int64_t pause_ns = 0;
	for (int rounds = 0, rests = 0; rounds < 1000; rounds++) {
		if (end_strays_once(keep, count) > 0)
			continue;
		if (count > 0 || rests++ > STRAY_RESTS || !has_children())
			return;
		clock_rest(&pause_ns);
	}
}

char *child_own_program(struct error *err)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (n < 0) {
		error_system(err, "readlink /proc/self/exe");
		return NULL;
	}
	path[n] = '\0';
	return strdup(path);
}

const char *child_program_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}
