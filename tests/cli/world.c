#include "tests/cli/world.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/text.h"

#define FIRST_UID  61100
#define LAST_UID   61200
#define PASSWD_MAX (8u << 20)

uid_t world_free_uid(void)
{
	for (uid_t uid = FIRST_UID; uid < LAST_UID; uid++)
		if (!getpwuid(uid) && !getgrgid((gid_t)uid))
			return uid;
	abort();
}

static const char *problem_text(const char *what)
{
	static char text[128];
	snprintf(text, sizeof(text), "%s: %s", what, strerror(errno));
	return text;
}

static int write_map(const char *path, unsigned id)
{
	char line[64];
	snprintf(line, sizeof(line), "%u %u 1\n", id, id);
	AUTO_FD fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 || write(fd, line, strlen(line)) != (ssize_t)strlen(line) ? -1 : 0;
}

/* Mounts of our own: as root, or as a user who is root of nothing but these mounts. */
static int own_mounts(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	if (uid == 0)
		return unshare(CLONE_NEWNS) < 0 ||
				       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0
			       ? -1
			       : 0;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 || write_map("/proc/self/uid_map", uid) < 0)
		return -1;
	AUTO_FD deny = open("/proc/self/setgroups", O_WRONLY | O_CLOEXEC);
	if (deny < 0 || write(deny, "deny", 4) != 4 || write_map("/proc/self/gid_map", gid) < 0)
		return -1;
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

/* In here the file has one line more. */
static int add_line(const char *path, const char *line)
{
	char copy[] = "/tmp/lf-users-XXXXXX";
	AUTO_TEXT lines = { 0 };
	AUTO_FREE char *old = NULL;
	if (file_read_all(path, PASSWD_MAX, &old, NULL, NULL) < 0)
		return -1;
	text_addf(&lines, "%s\n%s\n", old, line);
	AUTO_FD fd = mkstemp(copy);
	if (fd < 0)
		return -1;
	int outcome = write(fd, lines.data, lines.length) == (ssize_t)lines.length &&
				      fchmod(fd, 0644) == 0 &&
				      mount(copy, path, NULL, MS_BIND, NULL) == 0
			      ? 0
			      : -1;
	unlink(copy); /* the mount keeps it */
	return outcome;
}

/* SSH servers and clients ask the databases of users and groups. */
static int add_user(const struct world *world)
{
	AUTO_TEXT user = { 0 };
	AUTO_TEXT group = { 0 };
	text_addf(&user, "linefill-test:x:%u:%u::%s:%s", (unsigned)world->uid, (unsigned)world->uid,
		  world->home ? world->home : "/", world->shell ? world->shell : "/bin/sh");
	text_addf(&group, "linefill-test:x:%u:", (unsigned)world->uid);
	return add_line("/etc/passwd", text_string(&user)) < 0 ||
			       add_line("/etc/group", text_string(&group)) < 0
		       ? -1
		       : 0;
}

static int become_user(uid_t uid)
{
	return setgroups(0, NULL) < 0 || setgid((gid_t)uid) < 0 || setuid(uid) < 0 ? -1 : 0;
}

static int mount_tiny(const struct world *world)
{
	char options[128];
	snprintf(options, sizeof(options), "size=%llu,mode=0700,uid=%u,gid=%u",
		 (unsigned long long)world->tiny_bytes, (unsigned)world->uid,
		 (unsigned)(world->uid == geteuid() ? getegid() : world->uid));
	return mount("tmpfs", world->tiny, "tmpfs", 0, options);
}

const char *world_enter(const struct world *world)
{
	bool other = world->uid != geteuid();
	if (!other && !world->tiny_bytes)
		return NULL;
	if (own_mounts() < 0)
		return problem_text("no mounts of its own");
	if (world->tiny_bytes && mount_tiny(world) < 0)
		return problem_text("no small file system");
	if (other && !world->nameless && add_user(world) < 0)
		return problem_text("no other user database");
	if (other && become_user(world->uid) < 0)
		return problem_text("no other user");
	return NULL;
}

const char *world_check(const struct world *world)
{
	static char text[256];
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return problem_text("pipe");
	pid_t pid = fork();
	if (pid < 0)
		return problem_text("fork");
	if (pid == 0) {
		const char *problem = world_enter(world);
		if (!problem && access(LINEFILL_PROGRAM, X_OK) < 0)
			problem = problem_text(LINEFILL_PROGRAM);
		if (problem && write(ends[1], problem, strlen(problem)) < 0)
			_exit(2);
		_exit(problem ? 1 : 0);
	}
	close(ends[1]);
	ssize_t length = read(ends[0], text, sizeof(text) - 1);
	close(ends[0]);
	int status = 0;
	waitpid(pid, &status, 0);
	text[length > 0 ? length : 0] = '\0';
	return status == 0 ? NULL : text;
}
