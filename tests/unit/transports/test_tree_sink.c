/* What the sink may touch, whatever it is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "tests/contract/trees.h"
#include "transports/wire/tree_sink.h"

static char *base, *root;
static int root_fd;

static int setup(void **state)
{
	(void)state;
	base = tree_temporary();
	root = path_join(base, "root");
	assert_int_equal(mkdir(root, 0700), 0);
	root_fd = tree_open(root);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	close(root_fd);
	assert_int_equal(folder_remove(base, NULL), 0);
	free(root);
	free(base);
	return 0;
}

static mode_t mode_of(const char *path)
{
	struct stat status;
	assert_int_equal(fstatat(root_fd, path, &status, AT_SYMLINK_NOFOLLOW), 0);
	return status.st_mode & 07777;
}

static void open_sink(struct tree_sink *sink, enum preserve preserve)
{
	struct error err = { 0 };
	assert_int_equal(tree_sink_open(sink, root, preserve, &err), 0);
}

static void test_links_are_not_followed(void **state)
{
	struct tree_sink sink;
	struct error err = { 0 };
	int fd = -1;
	(void)state;
	open_sink(&sink, PRESERVE_MODE);
	assert_int_equal(tree_sink_link(&sink, "up", "..", &err), 0);
	assert_int_equal(tree_sink_link(&sink, "abs", base, &err), 0);
	assert_int_equal(tree_sink_link(&sink, "file", "../planted", &err), 0);
	assert_int_equal(tree_sink_file(&sink, "up/planted", &fd, &err), -1);
	assert_int_equal(err.code, ELOOP);
	assert_int_equal(tree_sink_file(&sink, "abs/planted", &fd, &err), -1);
	assert_int_equal(tree_sink_folder(&sink, "up/planted", 0755, &err), -1);
	assert_int_equal(tree_sink_link(&sink, "abs/planted", "x", &err), -1);
	assert_int_equal(tree_sink_folder_mode(&sink, "up", 0, &err), -1);
	assert_int_equal(tree_sink_file(&sink, "file", &fd, &err), -1);
	assert_int_equal(err.kind, ERROR_PEER);
	assert_int_equal(tree_sink_reopen(&sink, "file", &fd, &err), -1);
	assert_int_equal(tree_sink_folder_mode(&sink, "../root", 0, &err), -1);
	AUTO_FREE char *planted = path_join(base, "planted");
	assert_int_equal(access(planted, F_OK), -1);
	tree_sink_close(&sink);
}

/* A folder that was entered and then replaced by a link: the open descriptor still is the folder.
 */
static void test_replaced_folder(void **state)
{
	struct tree_sink sink;
	struct error err = { 0 };
	int fd = -1;
	(void)state;
	open_sink(&sink, PRESERVE_CONTENT);
	assert_int_equal(tree_sink_folder(&sink, "real", 0755, &err), 0);
	assert_int_equal(tree_sink_file(&sink, "real/one", &fd, &err), 0);
	close(fd);
	assert_int_equal(renameat(root_fd, "real", root_fd, "moved"), 0);
	assert_int_equal(symlinkat("..", root_fd, "real"), 0);
	assert_int_equal(tree_sink_file(&sink, "real/two", &fd, &err), 0);
	close(fd);
	assert_int_equal(faccessat(root_fd, "moved/two", F_OK, 0), 0);
	tree_sink_close(&sink);
}

static void test_nothing_twice(void **state)
{
	struct tree_sink sink;
	struct error err = { 0 };
	int fd = -1;
	(void)state;
	open_sink(&sink, PRESERVE_MODE);
	assert_int_equal(tree_sink_file(&sink, "twice", &fd, &err), 0);
	close(fd);
	assert_int_equal(tree_sink_file(&sink, "twice", &fd, &err), -1);
	assert_int_equal(err.kind, ERROR_PEER);
	assert_int_equal(tree_sink_folder(&sink, "twice", 0755, &err), -1);
	assert_int_equal(err.kind, ERROR_PEER);
	assert_int_equal(tree_sink_link(&sink, "twice", "x", &err), -1);
	assert_int_equal(err.kind, ERROR_PEER);
	tree_sink_close(&sink);
}

static void test_modes(void **state)
{
	static const mode_t modes[] = { 0, 0400, 0444, 0600, 0666, 0755, 0777 };
	struct tree_sink sink;
	struct error err = { 0 };
	(void)state;
	mode_t mask = umask(0077);
	open_sink(&sink, PRESERVE_MODE);
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		AUTO_FD fd = -1;
		char name[] = { 'm', (char)('0' + i), '\0' };
		assert_int_equal(tree_sink_file(&sink, name, &fd, &err), 0);
		assert_int_equal(tree_sink_file_done(&sink, fd, modes[i] | 04000, 0, &err), 0);
		assert_int_equal(mode_of(name), modes[i]);
	}
	assert_int_equal(tree_sink_folder(&sink, "open", 0777, &err), 0);
	assert_int_equal(mode_of("open"), 0777);
	/* Its owner must get in until all is there. */
	assert_int_equal(tree_sink_folder(&sink, "closed", 0555, &err), 0);
	assert_int_equal(mode_of("closed"), 0700);
	assert_int_equal(tree_sink_folder_mode(&sink, "closed", 0555, &err), 0);
	assert_int_equal(mode_of("closed"), 0555);
	tree_sink_close(&sink);
	umask(0027);
	open_sink(&sink, PRESERVE_CONTENT);
	assert_int_equal(tree_sink_folder(&sink, "default", 0777, &err), 0);
	assert_int_equal(mode_of("default"), 0750);
	AUTO_FD fd = -1;
	assert_int_equal(tree_sink_file(&sink, "default/file", &fd, &err), 0);
	assert_int_equal(tree_sink_file_done(&sink, fd, 0777, 0, &err), 0);
	assert_int_equal(mode_of("default/file"), 0640);
	tree_sink_close(&sink);
	umask(mask);
}

static void test_time(void **state)
{
	struct tree_sink sink;
	struct error err = { 0 };
	struct stat status;
	AUTO_FD fd = -1;
	(void)state;
	open_sink(&sink, PRESERVE_ALL);
	assert_int_equal(tree_sink_file(&sink, "old", &fd, &err), 0);
	assert_int_equal(tree_sink_file_done(&sink, fd, 0644, 86400, &err), 0);
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(status.st_mtime, 86400);
	tree_sink_close(&sink);
}

/* Paths longer than PATH_MAX cannot come, but ones up to it must work. */
static void test_deep(void **state)
{
	struct tree_sink sink;
	struct error err = { 0 };
	char path[BENEATH_PATH_SIZE] = "";
	size_t length = 0;
	(void)state;
	open_sink(&sink, PRESERVE_MODE);
	while (length + 12 < sizeof(path)) {
		length += (size_t)snprintf(path + length, sizeof(path) - length, "%sabcdefghij",
					   length ? "/" : "");
		if (tree_sink_folder(&sink, path, 0755, &err) < 0)
			fail_msg("%zu: %s", length, err.message);
	}
	assert_int_equal(tree_sink_folder(&sink, "back", 0755, &err), 0);
	assert_int_equal(tree_sink_folder(&sink, "abcdefghij/back", 0755, &err), 0);
	tree_sink_close(&sink);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_links_are_not_followed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_replaced_folder, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing_twice, setup, teardown),
		cmocka_unit_test_setup_teardown(test_modes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_time, setup, teardown),
		cmocka_unit_test_setup_teardown(test_deep, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
