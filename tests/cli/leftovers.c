/* Looks for what the program left behind. */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/files.h"
#include "tests/cli/program.h"

#define MOUNTS_MAX (16u << 20)
#define LOOK_S     0.01
#define CLEAN_S    5.0

/* True when all of our children have ended, and were reaped. */
static bool children_are_gone(void)
{
	pid_t child;
	while ((child = waitpid(-1, NULL, WNOHANG)) > 0)
		;
	return child < 0 && errno == ECHILD;
}

static bool is_empty(const char *path)
{
	bool empty = false;
	return folder_is_empty(path, &empty, NULL) == 0 && empty;
}

static bool has_mount(const char *root)
{
	AUTO_FREE char *mounts = NULL;
	return file_read_all("/proc/self/mounts", MOUNTS_MAX, &mounts, NULL, NULL) < 0 ||
	       strstr(mounts, root);
}

/* The command lines of our children, for the message of a test that fails. */
static void show_children(void)
{
	char path[64];
	pid_t child = process_child(getpid());
	AUTO_FREE char *line = NULL;
	size_t count = 0;
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)child);
	if (child <= 0 || file_read_all(path, 4096, &line, &count, NULL) < 0)
		return;
	for (size_t i = 0; i + 1 < count; i++)
		line[i] = line[i] ? line[i] : ' ';
	print_error("left running: %d %s\n", (int)child, line);
}

static void show_folder(const char *path)
{
	AUTO_DIR folder = opendir(path);
	for (struct dirent *item; folder && (item = readdir(folder));)
		if (item->d_name[0] != '.')
			print_error("left behind: %s/%s\n", path, item->d_name);
}

void bench_check_clean_within(const struct bench *bench, double seconds)
{
	int64_t deadline = clock_deadline_ns(seconds);
	bool clean = false;
	do {
		clean = children_are_gone() && is_empty(bench->tmp) && is_empty(bench->data) &&
			!has_mount(bench->root);
		if (!clean)
			rest_s(LOOK_S);
	} while (!clean && clock_now_ns() < deadline);
	if (clean)
		return;
	show_children();
	show_folder(bench->tmp);
	show_folder(bench->data);
	fail_msg("something is left%s", has_mount(bench->root) ? ": a mount" : "");
}

void bench_check_clean(const struct bench *bench)
{
	bench_check_clean_within(bench, CLEAN_S);
}
