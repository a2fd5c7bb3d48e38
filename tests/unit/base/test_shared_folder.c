#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/shared_folder.h"

static char *base, *path;

static bool exists(const char *name)
{
	return access(name, F_OK) == 0;
}

static void test_last_one_removes(void **state)
{
	(void)state;
	struct error err = { 0 };
	struct stat status;
	mode_t before = umask(077);
	assert_int_equal(shared_folder_hold(path, "a", &err), 0);
	umask(before);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0755);
	assert_int_equal(shared_folder_hold(path, "b", &err), 0);
	shared_folder_release(path, "a");
	shared_folder_release(path, "a");
	assert_true(exists(path));
	shared_folder_release(path, "b");
	assert_false(exists(path));
	shared_folder_release(path, "b");
}

static void test_foreign_stays(void **state)
{
	(void)state;
	struct error err = { 0 };
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(shared_folder_hold(path, "a", &err), 0);
	shared_folder_release(path, "a");
	assert_true(exists(path));
	assert_int_equal(rmdir(path), 0);
}

static void test_failure(void **state)
{
	(void)state;
	struct error err = { 0 };
	assert_int_equal(shared_folder_hold("/no/such/folder", "a", &err), -1);
	assert_int_equal(err.kind, ERROR_SYSTEM);
	AUTO_FREE char *file = path_join(base, "file");
	assert_int_equal(file_write_all(file, "", 0, 0600, NULL), 0);
	assert_int_equal(shared_folder_hold(file, "a", &err), -1);
}

/* Holds and releases many times; while it holds, the folder must be there. */
static int live(int number)
{
	char name[16];
	snprintf(name, sizeof(name), "%d", number);
	for (int i = 0; i < 500; i++) {
		struct error err = { 0 };
		if (shared_folder_hold(path, name, &err) < 0) {
			fprintf(stderr, "%s\n", err.message);
			return 1;
		}
		if (!exists(path))
			return 2;
		shared_folder_release(path, name);
	}
	return 0;
}

static void test_many_at_once(void **state)
{
	(void)state;
	pid_t pids[4];
	for (int i = 0; i < 4; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			_exit(live(i));
	}
	for (int i = 0; i < 4; i++) {
		int status = -1;
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	assert_false(exists(path));
}

static int set_up(void **state)
{
	(void)state;
	char name[] = "/tmp/linefill-test-XXXXXX";
	if (!mkdtemp(name))
		return -1;
	base = strdup(name);
	path = path_join(base, "shared");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	int result = folder_remove(base, NULL);
	free(base);
	free(path);
	return result;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_last_one_removes),
		cmocka_unit_test(test_foreign_stays),
		cmocka_unit_test(test_failure),
		cmocka_unit_test(test_many_at_once),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
