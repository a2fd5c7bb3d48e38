#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/mman.h>

#include "harness/agent/cache.h"
#include "harness/base/cancel.h"
#include "tests/unit/processes.h"
#include "tests/unit/tree_folder.h"

#define FILE_BYTES (1u << 20)

static struct manifest files;

static bool put_big(const char *path)
{
	AUTO_FREE char *bytes = malloc(FILE_BYTES);
	memset(bytes, 0x5a, FILE_BYTES);
	return file_write_all(path, bytes, FILE_BYTES, 0644, NULL) == 0;
}

static bool make_tree(const char *folder)
{
	const struct manifest_scan_options scan = { .deadline_ns = CLOCK_NEVER };
	files = (struct manifest){ 0 };
	return chdir(folder) == 0 && mkdir("d", 0755) == 0 && put_big("a") && put_big("d/b") &&
	       tree_put("empty", "") && symlink("a", "link") == 0 &&
	       manifest_list(&files, ".", &scan, NULL) == 0;
}

static int setup(void **state)
{
	return tree_folder_make(state) == 0 && make_tree(tree_folder) ? 0 : -1;
}

static int teardown(void **state)
{
	manifest_free(&files);
	return tree_folder_drop(state);
}

/* How much of a file is in the page cache. */
static double resident_pct(const char *path)
{
	unsigned char in_core[FILE_BYTES / 4096];
	size_t resident = 0;
	AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC);
	void *mapped = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	assert_true(mapped != MAP_FAILED);
	assert_int_equal(mincore(mapped, FILE_BYTES, in_core), 0);
	munmap(mapped, FILE_BYTES);
	size_t pages = FILE_BYTES / (size_t)sysconf(_SC_PAGESIZE);
	for (size_t i = 0; i < pages; i++)
		resident += in_core[i] & 1;
	return 100.0 * (double)resident / (double)pages;
}

static void test_is_ram(void **state)
{
	(void)state;
	struct error err = { 0 };
	assert_int_equal(cache_is_ram("/dev/shm", &err), 1);
	assert_int_equal(cache_is_ram("/proc", &err), 0);
	assert_int_equal(cache_is_ram("/no/such/folder", &err), -1);
	assert_string_equal(err.message, "statfs /no/such/folder: No such file or directory");
}

static void test_drop_and_warm(void **state)
{
	(void)state;
	double left_pct = -1;
	struct error err = { 0 };
	if (cache_is_ram(".", NULL) == 1)
		skip(); /* a system whose /tmp is in RAM */
	for (int i = 0; i < 2; i++) {
		/* Fresh files are dirty at first: they must be written before they can go. */
		assert_int_equal(cache_drop(".", &files, &left_pct, within(60), &err), 0);
		assert_true(left_pct >= 0 && left_pct < 5);
		assert_true(resident_pct("a") < 5 && resident_pct("d/b") < 5);
		assert_int_equal(cache_warm(".", &files, within(60), &err), 0);
		assert_true(resident_pct("a") == 100 && resident_pct("d/b") == 100);
	}
}

/* Pages that somebody holds on to stay: the figure must say so. */
static void test_drop_is_honest(void **state)
{
	(void)state;
	double left_pct = -1;
	if (cache_is_ram(".", NULL) == 1)
		skip();
	AUTO_FD fd = open("a", O_RDONLY | O_CLOEXEC);
	void *held = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
	assert_true(held != MAP_FAILED);
	for (size_t i = 0; i < FILE_BYTES; i += 4096)
		assert_int_equal(((volatile const char *)held)[i], 0x5a);
	assert_int_equal(cache_drop(".", &files, &left_pct, within(60), NULL), 0);
	assert_true(left_pct > 45 && left_pct < 55); /* one of two files */
	munmap(held, FILE_BYTES);
}

static void test_in_ram(void **state)
{
	(void)state;
	char folder[] = "/dev/shm/linefill-test-cache-XXXXXX";
	double left_pct = -1;
	struct error err = { 0 };
	assert_non_null(mkdtemp(folder));
	manifest_free(&files);
	assert_true(make_tree(folder));
	assert_int_equal(cache_drop(".", &files, &left_pct, within(60), &err), 0);
	assert_true(left_pct == 100);
	assert_int_equal(cache_settle(".", &files, within(60), &err), 0);
	/* There is nothing to be warmed: not even a missing file matters. */
	assert_int_equal(unlink("a"), 0);
	assert_int_equal(cache_warm(".", &files, within(60), &err), 0);
	assert_int_equal(cache_settle(".", &files, within(60), &err), -1);
	assert_string_equal(err.message, "open a: No such file or directory");
	assert_int_equal(folder_remove(folder, NULL), 0);
}

static void test_nothing_to_drop(void **state)
{
	(void)state;
	struct manifest none = { 0 };
	double left_pct = -1;
	assert_int_equal(cache_drop(".", &none, &left_pct, within(60), NULL), 0);
	assert_true(left_pct == 0);
	assert_int_equal(cache_warm(".", &none, within(60), NULL), 0);
}

static void test_errors(void **state)
{
	(void)state;
	double left_pct = -1;
	struct error err = { 0 };
	struct cancel cancel;
	if (cache_is_ram(".", NULL) == 1)
		skip();
	assert_int_equal(cache_warm(".", &files, within(-1), &err), -1);
	assert_int_equal(err.kind, ERROR_TIMEOUT);
	assert_int_equal(cache_drop(".", &files, &left_pct, within(-1), &err), -1);
	assert_int_equal(err.kind, ERROR_TIMEOUT);
	assert_int_equal(cancel_open(&cancel, NULL), 0);
	cancel_request(&cancel);
	const struct io_limit stopped = { .deadline_ns = CLOCK_NEVER, .cancel = &cancel };
	assert_int_equal(cache_warm(".", &files, &stopped, &err), -1);
	assert_int_equal(err.kind, ERROR_CANCELLED);
	cancel_close(&cancel);
	assert_int_equal(unlink("d/b"), 0);
	assert_int_equal(cache_warm(".", &files, within(60), &err), -1);
	assert_string_equal(err.message, "open d/b: No such file or directory");
	/* A link in a file's place is not followed. */
	assert_int_equal(symlink("/etc/passwd", "d/b"), 0);
	assert_int_equal(cache_drop(".", &files, &left_pct, within(60), &err), -1);
	assert_int_equal(err.code, ELOOP);
}

#define WITH_TREE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_is_ram),   WITH_TREE(test_drop_and_warm),
		WITH_TREE(test_drop_is_honest),  WITH_TREE(test_in_ram),
		WITH_TREE(test_nothing_to_drop), WITH_TREE(test_errors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
