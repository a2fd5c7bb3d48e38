#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <errno.h>

#include <cmocka.h>

#include "datasets/registry.h"
#include "harness/base/clock.h"
#include "harness/base/parallel.h"
#include "tests/unit/resident.h"
#include "tests/unit/tree_folder.h"

/* Linked with --wrap: a test gets a word in between listing and copying. */
void __real_parallel_run(unsigned threads, void (*work)(void *context), void *context);
void __wrap_parallel_run(unsigned threads, void (*work)(void *context), void *context);

static void (*between)(void);

void __wrap_parallel_run(unsigned threads, void (*work)(void *context), void *context)
{
	if (between)
		between();
	between = NULL;
	__real_parallel_run(threads, work, context);
}

/* The user's tree is "from", the data location "to". */
static int make_folders(void **state)
{
	if (tree_folder_make(state) < 0)
		return -1;
	between = NULL;
	return mkdir("from", 0755) == 0 && mkdir("to", 0777) == 0 && chmod("to", 0777) == 0 ? 0
											    : -1;
}

static void *parse(const char *string)
{
	const struct dataset *dataset = dataset_find("directory");
	struct error error = { 0 };
	void *options = calloc(1, dataset->options_size);
	assert_non_null(options);
	if (option_defaults(dataset->options, options, &error) < 0 ||
	    option_set_all(dataset->options, options, string, &error) < 0)
		fail_msg("%s", error.message);
	return options;
}

/* settle, plan and make, as a study does. */
static int run(const char *string, struct manifest *manifest, struct error *err)
{
	const struct dataset *dataset = dataset_find("directory");
	AUTO_FREE void *options = parse(string);
	AUTO_FREE char *root = path_join(tree_folder, "to");
	const struct dataset_job job = {
		.options = options,
		.root = root,
		.manifest = manifest,
		.deadline_ns = CLOCK_NEVER,
	};
	struct dataset_estimate estimate;
	if (dataset->settle(options, err) < 0 || dataset->plan(options, &estimate, err) < 0 ||
	    dataset->make(&job, err) < 0)
		return -1;
	assert_int_equal(estimate.files, manifest->files);
	assert_int_equal(estimate.bytes, manifest->bytes);
	return 0;
}

static void expect_made(const char *string, struct manifest *manifest)
{
	struct error error = { 0 };
	if (run(string, manifest, &error) < 0)
		fail_msg("%s", error.message);
}

static void expect_refused(const char *string, enum error_kind kind, const char *words)
{
	struct manifest manifest = { 0 };
	struct error error = { 0 };
	assert_int_equal(run(string, &manifest, &error), -1);
	if (error.kind != kind || !strstr(error.message, words))
		fail_msg("%s: %s", error_kind_name(error.kind), error.message);
	manifest_free(&manifest);
}

static void check_same(const struct manifest *wanted, const char *folder)
{
	struct manifest found = { 0 };
	struct error error = { 0 };
	if (manifest_scan(&found, folder, NULL, &error) < 0 ||
	    manifest_compare(wanted, &found, PRESERVE_ALL, &error) < 0)
		fail_msg("%s: %s", folder, error.message);
	assert_int_equal(found.hole_bytes, wanted->hole_bytes);
	manifest_free(&found);
}

static void set_time(const char *path, time_t when)
{
	const struct timespec times[2] = { { .tv_sec = when }, { .tv_sec = when, .tv_nsec = 5 } };
	assert_int_equal(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

static void make_tree(void)
{
	assert_true(tree_put("from/plain", "some text"));
	assert_true(tree_put("from/empty", ""));
	assert_true(tree_put("from/-odd 'name'\n\xff", "odd"));
	assert_int_equal(mkdir("from/folder", 0755), 0);
	assert_int_equal(mkdir("from/folder/empty", 0700), 0);
	assert_true(tree_put("from/folder/program", "#!"));
	assert_true(tree_put_sparse("from/folder/sparse", 3 << 20, "data", 1 << 20));
	assert_int_equal(chmod("from/folder/program", 0751), 0);
	assert_int_equal(symlink("folder/program", "from/link"), 0);
	assert_int_equal(symlink("/etc/passwd", "from/folder/outside"), 0);
	set_time("from/plain", 1000);
	set_time("from/folder/sparse", 2000);
	set_time("from/folder", 3000);
	assert_int_equal(chmod("from/folder", 0555), 0);
}

static void test_copy(void **state)
{
	(void)state;
	struct manifest manifest = { 0 };
	struct stat status;
	make_tree();
	expect_made("path=from", &manifest);
	assert_int_equal(manifest.files, 5);
	assert_int_equal(manifest.links, 2);
	assert_int_equal(manifest.folders, 2);
	assert_in_range(manifest.hole_bytes, 2 << 20, (3 << 20) - 4);
	check_same(&manifest, "from");
	check_same(&manifest, "to");
	assert_int_equal(lstat("to/folder", &status), 0);
	assert_int_equal(status.st_mtim.tv_sec, 3000);
	assert_int_equal(lstat("to/plain", &status), 0);
	assert_int_equal(status.st_mtim.tv_nsec, 5);
	manifest_free(&manifest);
}

static void test_copy_drops_special_bits(void **state)
{
	(void)state;
	struct manifest manifest = { 0 };
	assert_true(tree_put("from/tool", "x"));
	assert_int_equal(chmod("from/tool", 06755), 0);
	expect_made("path=from", &manifest);
	assert_int_equal(manifest.entries[0].mode, 0755);
	manifest_free(&manifest);
}

static void test_skip_links(void **state)
{
	(void)state;
	struct manifest manifest = { 0 };
	make_tree();
	expect_made("path=from,links=skip", &manifest);
	assert_int_equal(manifest.files, 5);
	assert_int_equal(manifest.links, 0);
	check_same(&manifest, "to");
	manifest_free(&manifest);
	assert_int_equal(folder_clear("to", NULL), 0);
	/* In its place: the rest of it, by hard links. */
	struct manifest linked = { 0 };
	struct stat own, other;
	expect_made("path=from,links=skip,use=place", &linked);
	assert_int_equal(linked.files, 5);
	assert_int_equal(linked.links, 0);
	check_same(&linked, "to");
	manifest_free(&linked);
	assert_int_equal(stat("from/plain", &own), 0);
	assert_int_equal(stat("to/plain", &other), 0);
	assert_int_equal(own.st_ino, other.st_ino);
}

/* Never two lists of the tree at a time: at a million files they would not fit in 256 MiB. */
static void test_takes_little_memory(void **state)
{
	(void)state;
	static const char *const uses[] = { "path=from,use=place", "path=from,use=copy" };
	struct manifest manifest = { 0 };
	if (UNDER_SANITIZER)
		skip();
	assert_true(tree_put_many("from"));
	long before = resident_peak_kib();
	assert_int_equal(manifest_list(&manifest, "from", NULL, NULL), 0);
	manifest_free(&manifest);
	long listed = resident_peak_kib();
	assert_true(listed - before >= TREE_MANY_KIB);
	for (size_t i = 0; i < ARRAY_SIZE(uses); i++) {
		expect_made(uses[i], &manifest);
		manifest_free(&manifest);
		long taken = resident_peak_kib() - listed;
		print_message("%s took %ld KiB more than a list\n", uses[i], taken);
		assert_true(taken < TREE_MANY_KIB);
	}
}

static void test_place(void **state)
{
	(void)state;
	const struct dataset *dataset = dataset_find("directory");
	AUTO_FREE void *copied = parse("path=/a,b/c,use=copy");
	AUTO_FREE void *placed = parse("path=/a,b/c,use=place");
	struct manifest manifest = { 0 };
	bool empty;
	assert_null(dataset->in_place(copied));
	assert_string_equal(dataset->in_place(placed), "/a,b/c");
	assert_true(dataset->users_own);
	make_tree();
	expect_made("path=from,use=place", &manifest);
	check_same(&manifest, "from");
	assert_int_equal(folder_is_empty("to", &empty, NULL), 0);
	assert_true(empty);
	manifest_free(&manifest);
	assert_int_equal(chmod("from/folder", 0755), 0);
	assert_int_equal(unlink("from/link"), 0);
	assert_int_equal(unlink("from/folder/outside"), 0);
	expect_made("path=from,use=place,links=skip", &manifest);
	manifest_free(&manifest);
}

static void test_settle(void **state)
{
	(void)state;
	const struct dataset *dataset = dataset_find("directory");
	AUTO_FREE char *wanted = path_join(tree_folder, "from");
	AUTO_FREE void *options = parse("path=to/../from/,use=place");
	struct error error = { 0 };
	if (dataset->settle(options, &error) < 0)
		fail_msg("%s", error.message);
	assert_string_equal(dataset->in_place(options), wanted);
	expect_refused("path=nowhere", ERROR_CONFIG, "'nowhere': No such file");
	expect_refused("", ERROR_CONFIG, "needs path=FOLDER");
	/* Unsettled, a relative path is refused rather than guessed. */
	AUTO_FREE void *relative = parse("path=from");
	struct dataset_estimate estimate;
	assert_int_equal(dataset->plan(relative, &estimate, &error), -1);
	assert_int_equal(error.kind, ERROR_CONFIG);
	assert_non_null(strstr(error.message, "must be absolute"));
}

static void test_special_files(void **state)
{
	(void)state;
	assert_true(tree_put_socket("from/sock"));
	expect_refused("path=from", ERROR_CONFIG, "'sock' is a socket");
	expect_refused("path=from,use=place", ERROR_CONFIG, "'sock' is a socket");
	assert_int_equal(unlink("from/sock"), 0);
	assert_int_equal(mkfifo("from/pipe", 0600), 0);
	expect_refused("path=from", ERROR_CONFIG, "'pipe' is a fifo");
}

static bool copy_is_refused(void)
{
	struct manifest manifest = { 0 };
	struct error error = { 0 };
	bool refused = run("path=from", &manifest, &error) < 0 && error.kind == ERROR_SYSTEM &&
		       error.code == EACCES && strstr(error.message, "'locked'");
	if (!refused)
		fprintf(stderr, "%s\n", error.message);
	return refused;
}

static void test_unreadable(void **state)
{
	(void)state;
	assert_true(tree_put("from/locked", "secret"));
	assert_int_equal(chmod("from/locked", 0), 0);
	assert_true(tree_as_nobody(copy_is_refused));
}

static void remove_one(void)
{
	unlink("from/folder/program");
}

static void make_link(void)
{
	unlink("from/plain");
	assert_int_equal(symlink("/etc/passwd", "from/plain"), 0);
}

static void make_fifo(void)
{
	unlink("from/plain");
	assert_int_equal(mkfifo("from/plain", 0644), 0);
}

static void test_changes_meanwhile(void **state)
{
	(void)state;
	static const struct {
		void (*change)(void);
		const char *words;
	} cases[] = {
		{ make_fifo, "'plain': it is no longer a file" },
		{ make_link, "'plain': open: Too many levels" },
		{ remove_one, "'folder/program': open: No such file" },
	};
	make_tree();
	assert_int_equal(chmod("from/folder", 0755), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		between = cases[i].change;
		expect_refused("path=from", ERROR_SYSTEM, cases[i].words);
		assert_int_equal(folder_clear("to", NULL), 0);
		unlink("from/plain");
		assert_true(tree_put("from/plain", "again"));
	}
}

static void test_into_itself(void **state)
{
	(void)state;
	expect_refused("path=.", ERROR_CONFIG, "contains the data location");
	expect_refused("path=to", ERROR_CONFIG, "contains the data location");
}

static void test_stops(void **state)
{
	(void)state;
	const struct dataset *dataset = dataset_find("directory");
	struct cancel cancel = { .fd = -1 };
	struct manifest manifest = { 0 };
	struct error error = { 0 };
	AUTO_FREE void *options = parse("path=from");
	make_tree();
	assert_int_equal(dataset->settle(options, &error), 0);
	struct dataset_job job = {
		.options = options,
		.root = "to",
		.manifest = &manifest,
		.cancel = &cancel,
		.deadline_ns = CLOCK_NEVER,
	};
	cancel_request(&cancel);
	assert_int_equal(dataset->make(&job, &error), -1);
	assert_int_equal(error.kind, ERROR_CANCELLED);
	job.cancel = NULL;
	job.deadline_ns = clock_now_ns();
	assert_int_equal(dataset->make(&job, &error), -1);
	assert_int_equal(error.kind, ERROR_TIMEOUT);
}

#define TREE_TEST(test) cmocka_unit_test_setup_teardown(test, make_folders, tree_folder_drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(test_copy),
		TREE_TEST(test_copy_drops_special_bits),
		TREE_TEST(test_skip_links),
		TREE_TEST(test_place),
		TREE_TEST(test_settle),
		TREE_TEST(test_special_files),
		TREE_TEST(test_unreadable),
		TREE_TEST(test_changes_meanwhile),
		TREE_TEST(test_into_itself),
		TREE_TEST(test_stops),
		TREE_TEST(test_takes_little_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
