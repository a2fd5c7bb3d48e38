#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <xxhash.h>

#include <cmocka.h>

#include "harness/api/manifest.h"
#include "harness/base/clock.h"
#include "harness/base/parallel.h"
#include "tests/unit/tree_folder.h"

/* Linked with --wrap: a test gets a word in between listing and hashing, and can take openat2 away.
 */
void __real_parallel_run(unsigned threads, void (*work)(void *context), void *context);
void __wrap_parallel_run(unsigned threads, void (*work)(void *context), void *context);
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

static void (*between)(void);
static bool without_openat2;

void __wrap_parallel_run(unsigned threads, void (*work)(void *context), void *context)
{
	if (between)
		between();
	__real_parallel_run(threads, work, context);
}

long __wrap_syscall(long number, ...)
{
	long args[4]; /* what openat2 has, and nothing else here has more */
	va_list list;
	va_start(list, number);
	for (int i = 0; i < 4; i++)
		args[i] = va_arg(list, long);
	va_end(list);
	if (without_openat2 && number == SYS_openat2) {
		errno = ENOSYS;
		return -1;
	}
	return __real_syscall(number, args[0], args[1], args[2], args[3]);
}

static void scan(struct manifest *manifest, unsigned threads)
{
	const struct manifest_scan_options options = { .threads = threads,
						       .deadline_ns = CLOCK_NEVER };
	struct error error = { 0 };
	if (manifest_scan(manifest, ".", &options, &error) < 0)
		fail_msg("%s", error.message);
}

static const struct manifest_entry *entry_at(const struct manifest *manifest, const char *path)
{
	for (size_t i = 0; i < manifest->count; i++)
		if (strcmp(manifest->entries[i].path, path) == 0)
			return &manifest->entries[i];
	fail_msg("'%s' is not there", path);
	return NULL;
}

static void check_digest(const struct manifest_entry *entry, const void *bytes, size_t count)
{
	XXH128_hash_t hash = XXH3_128bits(bytes, count);
	assert_true(entry->digest.low == hash.low64 && entry->digest.high == hash.high64);
}

/* Everything a tree may hold. */
static void make_tree(void)
{
	assert_true(tree_put("plain", "some text"));
	assert_true(tree_put("empty", ""));
	assert_true(tree_put("-dash 'quote' \"two\" \n\xff", "odd"));
	assert_int_equal(chmod("plain", 0640), 0);
	assert_int_equal(mkdir("folder", 0700), 0);
	assert_int_equal(chmod("folder", 0750), 0);
	assert_int_equal(mkdir("folder/empty", 0755), 0);
	assert_true(tree_put("folder/file", "more"));
	assert_int_equal(symlink("/etc", "to-folder"), 0);
	assert_int_equal(symlink("nowhere\xff", "folder/dangling"), 0);
	const struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 12345, .tv_nsec = 6 } };
	assert_int_equal(utimensat(AT_FDCWD, "plain", times, 0), 0);
}

static void test_scan_sees_all(void **state)
{
	(void)state;
	struct manifest manifest = { 0 };
	make_tree();
	scan(&manifest, 0);
	assert_int_equal(manifest.count, 8);
	assert_int_equal(manifest.files, 4);
	assert_int_equal(manifest.folders, 2);
	assert_int_equal(manifest.links, 2);
	assert_int_equal(manifest.bytes, 9 + 3 + 4);
	assert_true(manifest.odd_names);
	assert_true(manifest.empty_folders);
	const struct manifest_entry *plain = entry_at(&manifest, "plain");
	assert_int_equal(plain->mode, 0640);
	assert_int_equal(plain->mtime_s, 12345);
	check_digest(plain, "some text", 9);
	check_digest(entry_at(&manifest, "empty"), "", 0);
	check_digest(entry_at(&manifest, "-dash 'quote' \"two\" \n\xff"), "odd", 3);
	assert_int_equal(entry_at(&manifest, "folder")->mode, 0750);
	assert_string_equal(entry_at(&manifest, "to-folder")->target, "/etc");
	assert_string_equal(entry_at(&manifest, "folder/dangling")->target, "nowhere\xff");
	manifest_free(&manifest);
}

static void test_list_opens_no_file(void **state)
{
	(void)state;
	struct manifest manifest = { 0 };
	struct error error = { 0 };
	make_tree();
	if (manifest_list(&manifest, tree_folder, NULL, &error) < 0)
		fail_msg("%s", error.message);
	assert_int_equal(manifest.count, 8);
	assert_int_equal(manifest.bytes, 16);
	assert_int_equal(entry_at(&manifest, "plain")->digest.low, 0);
	manifest_free(&manifest);
}

static void test_threads_do_not_matter(void **state)
{
	(void)state;
	static const unsigned threads[] = { 1, 2, 7, 32 };
	char path[32];
	struct manifest first = { 0 };
	for (int i = 0; i < 300; i++) {
		snprintf(path, sizeof(path), "f%d", (i * 37) % 300);
		assert_true(tree_put(path, path));
	}
	assert_true(tree_put_sparse("large", 3000001, "x", 2000000));
	scan(&first, 1);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		struct manifest other = { 0 };
		struct error error = { 0 };
		scan(&other, threads[i]);
		if (manifest_compare(&first, &other, PRESERVE_ALL, &error) < 0)
			fail_msg("%s", error.message);
		assert_int_equal(first.hole_bytes, other.hole_bytes);
		manifest_free(&other);
	}
	manifest_free(&first);
}

static void test_holes(void **state)
{
	(void)state;
	enum { SIZE = 4 << 20 };
	struct manifest manifest = { 0 };
	char *dense = calloc(1, SIZE + 1);
	assert_non_null(dense);
	memcpy(dense + (1 << 20), "data", 4);
	assert_true(tree_put_sparse("sparse", SIZE, "data", 1 << 20));
	assert_true(tree_put_sparse("all-hole", SIZE, "", 0));
	assert_int_equal(file_write_all("dense", dense, SIZE, 0644, NULL), 0);
	scan(&manifest, 2);
	check_digest(entry_at(&manifest, "sparse"), dense, SIZE);
	check_digest(entry_at(&manifest, "dense"), dense, SIZE);
	memset(dense, 0, SIZE);
	check_digest(entry_at(&manifest, "all-hole"), dense, SIZE);
	assert_in_range(entry_at(&manifest, "sparse")->hole_bytes, SIZE / 2, SIZE - 4096);
	assert_int_equal(entry_at(&manifest, "all-hole")->hole_bytes, SIZE);
	assert_int_equal(entry_at(&manifest, "dense")->hole_bytes, 0);
	free(dense);
	manifest_free(&manifest);
}

/* Deeper than there are descriptors. */
static void test_deep_tree(void **state)
{
	(void)state;
	enum { DEPTH = 200 };
	struct rlimit old;
	struct manifest manifest = { 0 };
	for (int i = 0; i < DEPTH; i++) {
		assert_int_equal(mkdir("deep", 0755), 0);
		assert_int_equal(chdir("deep"), 0);
	}
	assert_true(tree_put("bottom", "x"));
	assert_int_equal(chdir(tree_folder), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	struct rlimit few = { .rlim_cur = 24, .rlim_max = old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	scan(&manifest, 2);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(manifest.folders, DEPTH);
	assert_int_equal(manifest.files, 1);
	manifest_free(&manifest);
}

static void expect_failure(const struct manifest_scan_options *options, enum error_kind kind,
			   const char *words)
{
	struct manifest manifest = { 0 };
	struct error error = { 0 };
	assert_int_equal(manifest_scan(&manifest, tree_folder, options, &error), -1);
	if (error.kind != kind || !strstr(error.message, words))
		fail_msg("%s: %s", error_kind_name(error.kind), error.message);
	assert_null(manifest.entries);
}

static void test_special_files(void **state)
{
	(void)state;
	assert_int_equal(mkdir("in", 0755), 0);
	assert_true(tree_put_socket("in/sock\x1b"));
	expect_failure(NULL, ERROR_CONFIG, "'in/sock\\x1b' is a socket");
	assert_int_equal(unlink("in/sock\x1b"), 0);
	assert_int_equal(mkfifo("in/fifo", 0644), 0);
	expect_failure(NULL, ERROR_CONFIG, "'in/fifo' is a fifo");
	assert_int_equal(unlink("in/fifo"), 0);
	if (mknod("in/null", S_IFCHR | 0600, makedev(1, 3)) < 0)
		return; /* only root makes devices */
	expect_failure(NULL, ERROR_CONFIG, "'in/null' is a device");
}

static bool scan_is_refused(void)
{
	struct manifest manifest = { 0 };
	struct error error = { 0 };
	bool refused = manifest_scan(&manifest, tree_folder, NULL, &error) < 0 &&
		       error.kind == ERROR_SYSTEM && error.code == EACCES &&
		       strstr(error.message, "'locked'");
	if (!refused)
		fprintf(stderr, "%s\n", error.message);
	return refused;
}

static void test_unreadable(void **state)
{
	(void)state;
	assert_true(tree_put("locked", "secret"));
	assert_int_equal(chmod("locked", 0), 0);
	assert_true(tree_as_nobody(scan_is_refused));
	assert_int_equal(unlink("locked"), 0);
	assert_int_equal(mkdir("locked", 0), 0);
	assert_true(tree_as_nobody(scan_is_refused));
}

static void remove_one(void)
{
	unlink("folder/file");
}

static void make_fifo(void)
{
	unlink("folder/file");
	assert_int_equal(mkfifo("folder/file", 0644), 0);
}

static void make_link(void)
{
	unlink("folder/file");
	assert_int_equal(symlink("/etc/passwd", "folder/file"), 0);
}

static void swap_folder(void)
{
	assert_int_equal(rename("folder", "aside"), 0);
	assert_int_equal(symlink("aside", "folder"), 0);
}

static void test_changes_meanwhile(void **state)
{
	(void)state;
	static const struct {
		void (*change)(void);
		const char *words;
	} cases[] = {
		{ remove_one, "'folder/file': open: No such file" },
		{ make_fifo, "'folder/file': it is no longer a file" },
		{ make_link, "'folder/file': open: Too many levels" },
		{ swap_folder, "'folder/file': open: " },
	};
	make_tree();
	for (int stepwise = 0; stepwise < 2; stepwise++) {
		without_openat2 = stepwise == 1;
		for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
			between = cases[i].change;
			expect_failure(NULL, ERROR_SYSTEM, cases[i].words);
			between = NULL;
			if (cases[i].change == swap_folder) {
				assert_int_equal(unlink("folder"), 0);
				assert_int_equal(rename("aside", "folder"), 0);
			}
			unlink("folder/file");
			assert_true(tree_put("folder/file", "more"));
		}
	}
	without_openat2 = false;
}

static void test_without_openat2(void **state)
{
	(void)state;
	struct manifest manifest = { 0 };
	struct manifest other = { 0 };
	struct error error = { 0 };
	make_tree();
	scan(&manifest, 1);
	without_openat2 = true;
	scan(&other, 2);
	without_openat2 = false;
	if (manifest_compare(&manifest, &other, PRESERVE_ALL, &error) < 0)
		fail_msg("%s", error.message);
	manifest_free(&manifest);
	manifest_free(&other);
}

static void test_roots(void **state)
{
	(void)state;
	struct manifest manifest = { 0 };
	struct error error = { 0 };
	scan(&manifest, 0);
	assert_int_equal(manifest.count, 0);
	manifest_free(&manifest);
	assert_int_equal(manifest_scan(&manifest, "/nowhere\n", NULL, &error), -1);
	assert_non_null(strstr(error.message, "'/nowhere\\x0a': No such file"));
	assert_true(tree_put("file", ""));
	assert_int_equal(manifest_scan(&manifest, "file", NULL, &error), -1);
	assert_int_equal(error.code, ENOTDIR);
	assert_int_equal(mkdir("real", 0755), 0);
	assert_true(tree_put("real/x", ""));
	assert_int_equal(symlink("real", "link"), 0);
	assert_int_equal(manifest_scan(&manifest, "link", NULL, &error), 0);
	assert_int_equal(manifest.files, 1);
	manifest_free(&manifest);
}

static struct cancel *to_cancel;

static void cancel_now(void)
{
	cancel_request(to_cancel);
}

static void test_stops(void **state)
{
	(void)state;
	struct cancel cancel = { .fd = -1 };
	struct manifest_scan_options options = { .cancel = &cancel, .deadline_ns = CLOCK_NEVER };
	make_tree();
	to_cancel = &cancel;
	between = cancel_now;
	expect_failure(&options, ERROR_CANCELLED, "cancelled");
	between = NULL;
	expect_failure(&options, ERROR_CANCELLED, "cancelled");
	options = (struct manifest_scan_options){ .deadline_ns = clock_now_ns() };
	expect_failure(&options, ERROR_TIMEOUT, "time limit");
}

#define TREE_TEST(test) cmocka_unit_test_setup_teardown(test, tree_folder_make, tree_folder_drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(test_scan_sees_all),
		TREE_TEST(test_list_opens_no_file),
		TREE_TEST(test_threads_do_not_matter),
		TREE_TEST(test_holes),
		TREE_TEST(test_deep_tree),
		TREE_TEST(test_special_files),
		TREE_TEST(test_unreadable),
		TREE_TEST(test_changes_meanwhile),
		TREE_TEST(test_without_openat2),
		TREE_TEST(test_roots),
		TREE_TEST(test_stops),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
