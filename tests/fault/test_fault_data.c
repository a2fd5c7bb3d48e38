/* Data that vanishes, cannot be read or changes, disks that are full, targets that are not empty.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/base/cleanup.h"
#include "tests/cli/program.h"

#define SMALL "small-files:files=10,size=1KiB"

static void spoiled_copies_are_integrity(void **state)
{
	static const char *const cases[] = { "null:copy=yes,flip=yes", "null:copy=yes,truncate=yes",
					     "null:copy=yes,lose=yes" };
	struct bench *bench = *state;
	PROGRAM_STUDY(bench, "-t", cases[0], "-t", cases[1], "-t", cases[2], "-t", "null:copy=yes",
		      "--dataset", SMALL, "--rounds", "1");
	ASSERT_EXIT(bench, 1);
	for (size_t i = 0; i < 3; i++) {
		const struct result *row = bench_row(bench, cases[i], 1);
		ASSERT_ROW(row, STATUS_INTEGRITY);
		assert_int_equal(row->verified, VERIFIED_NO);
		assert_true(row->error[0]);
	}
	ASSERT_ROW(bench_row(bench, "null:copy=yes", 1), STATUS_OK);
	bench_check_clean(bench);
}

/* A copy that is right, of which an end says that it moved something else. */
static void disagreeing_counts_are_invalid(void **state)
{
	struct bench *bench = *state;
	PROGRAM_STUDY(bench, "-t", "null:copy=yes,miscount=yes", "--dataset", SMALL, "--rounds",
		      "1");
	ASSERT_EXIT(bench, 1);
	ASSERT_ROW(&bench->results.rows[0], STATUS_INVALID);
	ASSERT_HOLDS(bench->results.rows[0].error,
		     "the sink moved 10241 bytes, and 10240 were verified at the sink");
	bench_check_clean(bench);
}

/* Counted bytes prove nothing: such a row says so. */
static void memory_runs_are_only_counted(void **state)
{
	struct bench *bench = *state;
	PROGRAM_STUDY(bench, "-t", "null:bytes=1MiB", "--dataset", SMALL, "--rounds", "1");
	ASSERT_EXIT(bench, 0);
	const struct result *row = &bench->results.rows[0];
	ASSERT_ROW(row, STATUS_OK);
	assert_int_equal(row->verified, VERIFIED_COUNT);
	assert_int_equal(row->payload_bytes, 1 << 20);
	bench_check_clean(bench);
}

/* There was room for data and copy, and then somebody took it. */
static void full_disk_is_a_failed_row(void **state)
{
	struct bench *bench = *state;
	bench_use_tiny_data(bench, 5 << 20);
	bench_add_filler(bench, FAULT_TOOL);
	bench_add_tool(bench, "cp", "[tool]\nrun = %s copy {src} {dst}\n[preserve]\nmode =\n",
		       FAULT_TOOL);
	PROGRAM_STUDY(bench, "-t", "tcp", "-t", "multi", "-t", "cp", "-t", "null:copy=yes", "-t",
		      "filler", "--dataset", "small-files:files=8,size=256KiB", "--rounds", "2");
	ASSERT_EXIT(bench, 1);
	assert_int_equal(bench->results.count, 9);
	for (size_t i = 0; i < bench->results.count; i++) {
		const struct result *row = &bench->results.rows[i];
		if (strcmp(row->transport, "filler") == 0)
			continue;
		ASSERT_ROW(row, STATUS_FAILED);
		assert_int_equal(row->verified, VERIFIED_NO);
		/* Of what a tool says, only so much is shown. */
		ASSERT_HOLDS(row->error, strcmp(row->transport, "cp") == 0
						 ? "error copying"
						 : "space left on device");
	}
	bench_check_clean(bench);
}

/* No room for the data: that is known before. */
static void full_disk_for_the_dataset(void **state)
{
	struct bench *bench = *state;
	bench_use_tiny_data(bench, 1 << 20);
	PROGRAM_START_STUDY(bench, "-t", "tcp", "--dataset", "small-files:files=8,size=256KiB");
	program_wait(bench);
	ASSERT_EXIT(bench, 2);
	ASSERT_HOLDS(bench->error, "this dataset and a copy of it need 4.0 MiB of room in");
	ASSERT_HOLDS(bench->error, "1.0 MiB are free");
	assert_false(bench_has(bench, "out"));
	bench_check_clean(bench);
}

/* A full disk fails a run, and when there is room again the next one is fine: nothing stays. */
static void failed_copies_give_their_room_back(void **state)
{
	struct bench *bench = *state;
	bench_use_tiny_data(bench, 5 << 20);
	bench_add_tool(bench, "twice",
		       "[tool]\nrun = %s\n  once %s/first fill {dst}\n  copy {src} {dst}\n"
		       "[preserve]\nmode =\n",
		       FAULT_TOOL, bench->files);
	PROGRAM_STUDY(bench, "-t", "twice", "--dataset", "small-files:files=8,size=256KiB",
		      "--rounds", "3");
	ASSERT_EXIT(bench, 1);
	assert_int_not_equal(bench_row(bench, "twice", 1)->status, STATUS_OK);
	ASSERT_ROW(bench_row(bench, "twice", 2), STATUS_OK);
	ASSERT_ROW(bench_row(bench, "twice", 3), STATUS_OK);
	bench_check_clean(bench);
}

static void add_tree(const struct bench *bench)
{
	bench_add_file(bench, "tree/a/one", "1");
	bench_add_file(bench, "tree/b/two", "22");
	bench_add_file(bench, "tree/c/three", "333");
}

/* The tool takes a file away before the clock starts: from then on no row blames a tool. */
static void vanished_file_is_named(void **state)
{
	struct bench *bench = *state;
	char dataset[200];
	add_tree(bench);
	bench_add_tool(bench, "thief",
		       "[tool]\nprepare = %s once %s/first remove %s/tree/b/two\n"
		       "run = %s copy {src} {dst}\n[preserve]\nmode =\n",
		       FAULT_TOOL, bench->files, bench->files, FAULT_TOOL);
	snprintf(dataset, sizeof(dataset), "directory:use=place,path=%s/tree", bench->files);
	PROGRAM_STUDY(bench, "-t", "thief", "-t", "tcp", "-t", "multi", "--dataset", dataset,
		      "--rounds", "2");
	ASSERT_EXIT(bench, 1);
	static const char *const cases[] = { "thief", "tcp", "multi" };
	for (size_t i = 0; i < 3; i++) {
		const struct result *row = bench_row(bench, cases[i], 2);
		ASSERT_ROW(row, STATUS_INVALID);
		ASSERT_HOLDS(row->error, "the source changed: 'b/two' is missing");
	}
	ASSERT_ROW(bench_row(bench, "thief", 1), STATUS_INVALID);
	assert_true(bench_has(bench, "files/tree/a/one"));
	bench_check_clean(bench);
}

/* A source that changes after it was looked at is never an ok row. */
static void changed_file_is_noticed(void **state)
{
	struct bench *bench = *state;
	char dataset[200];
	add_tree(bench);
	bench_add_tool(bench, "forger",
		       "[tool]\nprepare = %s once %s/first flip %s/tree/b/two\n"
		       "run = %s copy {src} {dst}\n[preserve]\nmode =\n",
		       FAULT_TOOL, bench->files, bench->files, FAULT_TOOL);
	snprintf(dataset, sizeof(dataset), "directory:use=place,path=%s/tree", bench->files);
	PROGRAM_STUDY(bench, "-t", "forger", "-t", "tcp", "--dataset", dataset, "--rounds", "2");
	ASSERT_EXIT(bench, 1);
	ASSERT_ROW(bench_row(bench, "forger", 1), STATUS_INVALID);
	ASSERT_ROW(bench_row(bench, "tcp", 2), STATUS_INVALID);
	ASSERT_HOLDS(bench_row(bench, "tcp", 2)->error,
		     "the source changed: 'b/two' has other contents");
	bench_check_clean(bench);
}

static void check_unreadable(struct bench *bench, const char *use)
{
	char dataset[200], path[200];
	bench_use_ordinary(bench);
	add_tree(bench);
	snprintf(path, sizeof(path), "%s/tree/b/two", bench->files);
	assert_return_code(chmod(path, 0), errno);
	snprintf(dataset, sizeof(dataset), "directory:use=%s,path=%s/tree", use, bench->files);
	PROGRAM_STUDY(bench, "-t", "tcp", "-t", "scp", "--dataset", dataset, "--rounds", "1");
	ASSERT_EXIT(bench, 1);
	assert_int_equal(bench->results.count, 2);
	for (size_t i = 0; i < bench->results.count; i++) {
		ASSERT_ROW(&bench->results.rows[i], STATUS_FAILED);
		ASSERT_HOLDS(bench->results.rows[i].error, "b/two");
		ASSERT_HOLDS(bench->results.rows[i].error, "Permission denied");
	}
	bench_check_clean(bench);
}

static void unreadable_file_is_named(void **state)
{
	check_unreadable(*state, "copy");
}

static void unreadable_file_in_place_is_named(void **state)
{
	check_unreadable(*state, "place");
}

static void special_file_is_named(void **state)
{
	struct bench *bench = *state;
	char dataset[200], path[200];
	add_tree(bench);
	snprintf(path, sizeof(path), "%s/tree/b/pipe", bench->files);
	assert_return_code(mkfifo(path, 0644), errno);
	snprintf(dataset, sizeof(dataset), "directory:path=%s/tree", bench->files);
	PROGRAM_START_STUDY(bench, "-t", "tcp", "--dataset", dataset, "--rounds", "1");
	program_wait(bench);
	ASSERT_EXIT(bench, 2);
	ASSERT_HOLDS(bench->error, "b/pipe");
	ASSERT_HOLDS(bench->error, "fifo");
	bench_check_clean(bench);
}

/* Something lies where the copy is to go: this is not copied over. The litter comes from a tool's
 * prepare, which runs while the sink waits; the run after it must not find it. */
static void litter_in_the_target_is_noticed(void **state)
{
	struct bench *bench = *state;
	bench_add_tool(bench, "litters",
		       "[tool]\nprepare = %s\n  once %s/first litter %s/linefill-*/copy/0\n"
		       "run = %s copy {src} {dst}\n[preserve]\nmode =\n",
		       FAULT_TOOL, bench->files, bench->data, FAULT_TOOL);
	PROGRAM_STUDY(bench, "-t", "litters", "--dataset", SMALL, "--rounds", "2");
	ASSERT_EXIT(bench, 1);
	ASSERT_ROW(bench_row(bench, "litters", 1), STATUS_INTEGRITY);
	ASSERT_HOLDS(bench_row(bench, "litters", 1)->error, "litter");
	ASSERT_ROW(bench_row(bench, "litters", 2), STATUS_OK);
	bench_check_clean(bench);
}

static void location_must_be_there(void **state)
{
	struct bench *bench = *state;
	bench_add_file(bench, "plain", "x");
	static const char *const bad[] = { "/lf-no-such-folder", "relative/folder" };
	for (size_t i = 0; i < 2; i++) {
		char set[200];
		snprintf(set, sizeof(set), "dataset.location=%s", bad[i]);
		bench->out[strlen(bench->root) + strlen("/out")] = '\0';
		strncat(bench->out, i ? "b" : "a", 2);
		program_start_study(bench, (const char *const[]){ "-t", "tcp", "--dataset", SMALL,
								  "--set", set, NULL });
		program_wait(bench);
		assert_int_not_equal(bench->status, 0);
		assert_int_not_equal(bench->status, 99);
		ASSERT_HOLDS(bench->error, bad[i]);
		bench_check_clean(bench);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(disagreeing_counts_are_invalid),
		BENCH_TEST(spoiled_copies_are_integrity),
		BENCH_TEST(memory_runs_are_only_counted),
		BENCH_TEST(full_disk_is_a_failed_row),
		BENCH_TEST(full_disk_for_the_dataset),
		BENCH_TEST(failed_copies_give_their_room_back),
		BENCH_TEST(vanished_file_is_named),
		BENCH_TEST(changed_file_is_noticed),
		BENCH_TEST(unreadable_file_is_named),
		BENCH_TEST(unreadable_file_in_place_is_named),
		BENCH_TEST(special_file_is_named),
		BENCH_TEST(litter_in_the_target_is_noticed),
		BENCH_TEST(location_must_be_there),
	};
	cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
