/* What tests of manifests and datasets share: a private folder, and things to put in it. */
#ifndef LINEFILL_TESTS_UNIT_TREE_FOLDER_H
#define LINEFILL_TESTS_UNIT_TREE_FOLDER_H

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"

static char tree_folder[64];

/* cmocka's setup and teardown: an empty folder that everybody may read, and the working folder. */
static inline int tree_folder_make(void **state)
{
	(void)state;
	snprintf(tree_folder, sizeof(tree_folder), "/tmp/linefill-test-tree-XXXXXX");
	return mkdtemp(tree_folder) && chmod(tree_folder, 0755) == 0 && chdir(tree_folder) == 0
		       ? 0
		       : -1;
}

static inline int tree_folder_drop(void **state)
{
	(void)state;
	return chdir("/") == 0 ? folder_remove(tree_folder, NULL) : -1;
}

/* A file with that text, mode 0644; false where it cannot be made. */
static inline bool tree_put(const char *path, const char *text)
{
	return file_write_all(path, text, strlen(text), 0644, NULL) == 0 && chmod(path, 0644) == 0;
}

/* A file of size bytes, all hole but the text at the offset. */
static inline bool tree_put_sparse(const char *path, off_t size, const char *text, off_t at)
{
	AUTO_FD fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	return fd >= 0 && ftruncate(fd, size) == 0 &&
	       pwrite(fd, text, strlen(text), at) == (ssize_t)strlen(text);
}

static inline bool tree_put_socket(const char *path)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	AUTO_FD fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(name.sun_path, sizeof(name.sun_path), "%s", path);
	return fd >= 0 && bind(fd, (const struct sockaddr *)&name, sizeof(name)) == 0;
}

/* Empty files with long paths, enough for the memory of a list of them to be seen. */
#define TREE_MANY      20000
#define TREE_MANY_TEXT "20000"
#define TREE_MANY_KIB  2500 /* what such a list takes at least */
static inline bool tree_put_many(const char *folder)
{
	char path[250];
	static const char *const below[] = { "", "/a-folder-with-a-long-name-as-in-deep-trees",
					     "/and-one-more-within-it" };
	int length = snprintf(path, sizeof(path), "%s", folder);
	for (size_t i = 0; i < ARRAY_SIZE(below); i++) {
		length += snprintf(path + length, sizeof(path) - (size_t)length, "%s", below[i]);
		if (mkdir(path, 0755) < 0 && (i > 0 || errno != EEXIST))
			return false;
	}
	for (unsigned i = 0; i < TREE_MANY; i++) {
		snprintf(path + length, sizeof(path) - (size_t)length, "/a-file-of-many-%05u", i);
		if (mknod(path, S_IFREG | 0644, 0) < 0)
			return false;
	}
	return true;
}

/* Root can read everything: such a check runs in a child that is nobody. */
static inline bool tree_as_nobody(bool (*check)(void))
{
	if (geteuid() != 0)
		return check();
	pid_t pid = fork();
	if (pid == 0) {
		bool dropped = setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0;
		_exit(dropped && check() ? 0 : 1);
	}
	int status = -1;
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0;
}

#endif
