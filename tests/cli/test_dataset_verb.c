/* `linefill dataset make` and `verify`. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/base/cleanup.h"
#include "tests/cli/program.h"

#define RECIPE "small-files:files=5,size=100B"

static void make(struct bench *bench, const char *seed, const char *folder)
{
	PROGRAM_RUN(bench, "dataset", "make", RECIPE, folder, "--seed", seed);
	ASSERT_EXIT(bench, 0);
	ASSERT_HOLDS(bench->output, "5 files");
	ASSERT_HOLDS(bench->output, "500 bytes");
}

/* The digest that was printed last. */
static void get_digest(const struct bench *bench, char digest[33])
{
	const char *word = strstr(bench->output, "digest ");
	assert_non_null(word);
	snprintf(digest, 33, "%.32s", word + strlen("digest "));
	assert_int_equal(strspn(digest, "0123456789abcdef"), 32);
}

static void same_seed_same_bytes(void **state)
{
	struct bench *bench = *state;
	char first[33], again[33], other[33];
	make(bench, "7", "a");
	get_digest(bench, first);
	make(bench, "7", "b/deep/er/");
	get_digest(bench, again);
	make(bench, "8", "c");
	get_digest(bench, other);
	assert_string_equal(first, again);
	assert_string_not_equal(first, other);
	assert_true(bench_has(bench, "files/a.manifest"));
	assert_true(bench_has(bench, "files/b/deep/er.manifest"));
	PROGRAM_RUN(bench, "dataset", "verify", "b/deep/er");
	ASSERT_EXIT(bench, 0);
	ASSERT_HOLDS(bench->output, first);
	/* Another tree's manifest does not fit. */
	PROGRAM_RUN(bench, "dataset", "verify", "a", "--manifest", "c.manifest");
	ASSERT_EXIT(bench, 1);
}

static void spoil_byte(const char *path)
{
	char byte = 0;
	AUTO_FD fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(pread(fd, &byte, 1, 50), 1);
	byte = (char)(byte ^ 0x10);
	assert_int_equal(pwrite(fd, &byte, 1, 50), 1);
}

static void check_spoiled(struct bench *bench, const char *named)
{
	PROGRAM_RUN(bench, "dataset", "verify", "a");
	ASSERT_EXIT(bench, 1);
	assert_string_equal(bench->output, "");
	ASSERT_HOLDS(bench->error, named);
}

static void differences_are_found(void **state)
{
	struct bench *bench = *state;
	char path[200], moved[200];
	make(bench, "1", "a");
	snprintf(path, sizeof(path), "%s/a/d00000/f00000002", bench->files);
	snprintf(moved, sizeof(moved), "%s/moved", bench->files);
	spoil_byte(path);
	check_spoiled(bench, "d00000/f00000002");
	spoil_byte(path);
	assert_return_code(truncate(path, 99), errno);
	check_spoiled(bench, "d00000/f00000002");
	PROGRAM_RUN(bench, "dataset", "make", RECIPE, "fresh", "--seed", "1");
	snprintf(moved, sizeof(moved), "%s/fresh/d00000/f00000002", bench->files);
	assert_return_code(rename(moved, path), errno);
	PROGRAM_RUN(bench, "dataset", "verify", "a");
	ASSERT_EXIT(bench, 0);
	bench_add_file(bench, "a/extra", "x");
	check_spoiled(bench, "extra");
	snprintf(moved, sizeof(moved), "%s/a/extra", bench->files);
	assert_return_code(unlink(moved), errno);
	assert_return_code(chmod(path, 0777), errno);
	check_spoiled(bench, "d00000/f00000002");
	PROGRAM_RUN(bench, "dataset", "verify", "a", "--preserve", "content");
	ASSERT_EXIT(bench, 0);
	assert_return_code(unlink(path), errno);
	check_spoiled(bench, "d00000/f00000002");
}

static void full_folder_is_refused(void **state)
{
	struct bench *bench = *state;
	bench_add_file(bench, "a/mine", "precious");
	PROGRAM_RUN(bench, "dataset", "make", RECIPE, "a");
	ASSERT_EXIT(bench, 2);
	ASSERT_HOLDS(bench->error, "not empty");
	assert_false(bench_has(bench, "files/a/d00000"));
	assert_true(bench_has(bench, "files/a/mine"));
}

static void bad_manifest_is_refused(void **state)
{
	struct bench *bench = *state;
	make(bench, "1", "a");
	PROGRAM_RUN(bench, "dataset", "verify", "b");
	assert_int_not_equal(bench->status, 0);
	ASSERT_HOLDS(bench->error, "b.manifest");
	bench_add_file(bench, "junk", "this is no manifest at all");
	PROGRAM_RUN(bench, "dataset", "verify", "a", "--manifest", "junk");
	assert_true(bench->status == 1 || bench->status == 2);
	ASSERT_HOLDS(bench->error, "junk");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(same_seed_same_bytes),
		BENCH_TEST(differences_are_found),
		BENCH_TEST(full_folder_is_refused),
		BENCH_TEST(bad_manifest_is_refused),
	};
	cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
