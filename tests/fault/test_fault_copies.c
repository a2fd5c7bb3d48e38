/* What is no copy, though all that arrives is right: another file by another name, a source that
 * changed meanwhile, bytes that never travelled. */
#include <errno.h>
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

#define SMALL "small-files:files=10,size=1KiB"

static void add_tree(const struct bench *bench)
{
	bench_add_file(bench, "tree/a/one", "1");
	bench_add_file(bench, "tree/b/two", "22");
}

/* The copy is right, and the source is not any more: also where it is ours. */
static void spoiled_dataset_is_noticed(void **state)
{
	struct bench *bench = *state;
	bench_add_tool(bench, "vandal",
		       "[tool]\nrun = %s copy {src} {dst} flip {src}/d00000/f00000003\n"
		       "[preserve]\nmode =\n",
		       FAULT_TOOL);
	PROGRAM_STUDY(bench, "-t", "vandal", "-t", "null:bytes=1MiB", "--dataset", SMALL,
		      "--rounds", "2");
	ASSERT_EXIT(bench, 1);
	for (int64_t round = 1; round <= 2; round++) {
		ASSERT_ROW(bench_row(bench, "vandal", round), STATUS_INVALID);
		ASSERT_HOLDS(bench_row(bench, "vandal", round)->error,
			     "the source changed: 'd00000/f00000003' has other contents");
		/* Who copies no file needs none. */
		ASSERT_ROW(bench_row(bench, "null:bytes=1MiB", round), STATUS_OK);
	}
	bench_check_clean(bench);
}

/* An agent that is started again reads the tree again: another one is no dataset of this study. */
static void changed_between_two_agents(void **state)
{
	struct bench *bench = *state;
	char dataset[200];
	add_tree(bench);
	bench_add_tool(bench, "killer",
		       "[tool]\nrun = %s copy {src} {dst}\n  once %s/first flip %s/tree/b/two\n"
		       "  once %s/second end-agent 9\n[preserve]\nmode =\n",
		       FAULT_TOOL, bench->files, bench->files, bench->files);
	snprintf(dataset, sizeof(dataset), "directory:use=place,path=%s/tree", bench->files);
	PROGRAM_STUDY(bench, "-t", "killer", "--dataset", dataset, "--rounds", "3");
	ASSERT_EXIT(bench, 1);
	ASSERT_ROW(bench_row(bench, "killer", 1), STATUS_FAILED);
	for (int64_t round = 2; round <= 3; round++) {
		ASSERT_ROW(bench_row(bench, "killer", round), STATUS_INVALID);
		ASSERT_HOLDS(bench_row(bench, "killer", round)->error,
			     "the source changed: its agent was started again");
	}
	bench_check_clean(bench);
}

/* What a tool does to its share it does to the source. */
static void spoiled_share_is_noticed(void **state)
{
	struct bench *bench = *state;
	bench_add_tool(bench, "vandal",
		       "[tool]\nrun = %s copy {src} {dst} remove {src}/d*/f*\n"
		       "[preserve]\nmode =\n",
		       FAULT_TOOL);
	PROGRAM_STUDY(bench, "-t", "vandal", "--set", "case vandal.instances=2", "--dataset", SMALL,
		      "--rounds", "1");
	ASSERT_EXIT(bench, 1);
	ASSERT_ROW(bench_row(bench, "vandal", 1), STATUS_INVALID);
	ASSERT_HOLDS(bench_row(bench, "vandal", 1)->error, "the source changed: 'd00000/f000000");
	bench_check_clean(bench);
}

/* What merely looks touched is read again, and is as it was: two ways of cutting, which make hard
 * links of the source, are not taken for a change. */
static void shares_are_no_change(void **state)
{
	struct bench *bench = *state;
	PROGRAM_STUDY(bench, "-t", "tcp", "-t", "multi", "-t", "tls", "--set",
		      "case tcp.instances=2", "--set", "case multi.instances=3", "--dataset", SMALL,
		      "--rounds", "3");
	ASSERT_EXIT(bench, 0);
	bench_check_clean(bench);
}

/* A tool that moves its source's files makes no copy, though all that arrives is right. */
static void moved_files_are_no_copy(void **state)
{
	struct bench *bench = *state;
	bench_add_tool(bench, "mover", "[tool]\nrun = %s move {src}/* {dst}\n[preserve]\nmode =\n",
		       FAULT_TOOL);
	PROGRAM_STUDY(bench, "-t", "mover", "--dataset", SMALL, "--rounds", "1");
	ASSERT_EXIT(bench, 1);
	ASSERT_ROW(bench_row(bench, "mover", 1), STATUS_INVALID);
	ASSERT_HOLDS(bench_row(bench, "mover", 1)->error,
		     "the source changed: 'd00000' is missing");
	bench_check_clean(bench);
}

static void no_copy(struct bench *bench, const char *does, const char *says)
{
	bench_add_tool(bench, "cheat", "[tool]\nrun = %s %s\n[preserve]\nmode =\n", FAULT_TOOL,
		       does);
	PROGRAM_STUDY(bench, "-t", "cheat", "-t", "tcp", "--dataset", SMALL, "--rounds", "2");
	ASSERT_EXIT(bench, 1);
	for (int64_t round = 1; round <= 2; round++) {
		ASSERT_ROW(bench_row(bench, "cheat", round), STATUS_INTEGRITY);
		ASSERT_HOLDS(bench_row(bench, "cheat", round)->error, says);
		ASSERT_ROW(bench_row(bench, "tcp", round), STATUS_OK);
	}
	bench_check_clean(bench);
}

static void links_are_no_copy(void **state)
{
	no_copy(*state, "link {src} {dst}",
		"not a copy: 'd00000/f00000000' is a hard link to a file outside the copy, and 9 "
		"more are not new");
}

/* What the source has as one file with two names may be that at the sink, too, but it is less to
 * send. */
static void links_as_at_the_source(void **state)
{
	struct bench *bench = *state;
	char dataset[200], one[200], two[200];
	add_tree(bench);
	snprintf(one, sizeof(one), "%s/tree/b/two", bench->files);
	snprintf(two, sizeof(two), "%s/tree/b/three", bench->files);
	assert_return_code(link(one, two), errno);
	bench_add_tool(bench, "keeps-links",
		       "[tool]\nrun = cp -rP --preserve=mode,links {src}/. {dst}\n"
		       "[preserve]\nmode =\n");
	snprintf(dataset, sizeof(dataset), "directory:use=place,path=%s/tree", bench->files);
	PROGRAM_STUDY(bench, "-t", "keeps-links", "-t", "tcp", "--dataset", dataset, "--rounds",
		      "1");
	ASSERT_EXIT(bench, 0);
	ASSERT_ROW(bench_row(bench, "keeps-links", 1), STATUS_OK);
	assert_int_equal(bench_row(bench, "keeps-links", 1)->payload_bytes, 5);
	assert_int_equal(bench_row(bench, "keeps-links", 1)->data_sink_bytes, 3);
	assert_int_equal(bench_row(bench, "tcp", 1)->data_sink_bytes, 5);
	ASSERT_HOLDS(bench->output, "-  keeps-links");
	ASSERT_HOLDS(bench->output, "holes or hard links");
	bench_check_clean(bench);
}

static void link_to_the_source_is_no_copy(void **state)
{
	no_copy(*state, "replace {src} {dst}", "not a copy: its folder is now a symbolic link");
}

static void mode_of_the_root_counts(void **state)
{
	no_copy(*state, "copy {src} {dst} close {dst}", "'.' has mode 0500 instead of 0700");
}

/* It became so between two runs: no tool can be blamed for what it may not read. */
static void file_that_becomes_unreadable(void **state)
{
	struct bench *bench = *state;
	char dataset[200];
	bench_use_ordinary(bench);
	add_tree(bench);
	bench_add_tool(bench, "locker",
		       "[tool]\nrun = %s copy {src} {dst} once %s/first shut {src}/b/two\n"
		       "[preserve]\nmode =\ncontent =\n",
		       FAULT_TOOL, bench->files);
	snprintf(dataset, sizeof(dataset), "directory:use=copy,path=%s/tree", bench->files);
	PROGRAM_STUDY(bench, "-t", "locker", "-t", "tcp", "--set", "study.preserve=content",
		      "--dataset", dataset, "--rounds", "2");
	ASSERT_EXIT(bench, 1);
	ASSERT_ROW(bench_row(bench, "locker", 1), STATUS_INVALID);
	ASSERT_HOLDS(bench_row(bench, "locker", 1)->error, "the source cannot be read: 'b/two'");
	ASSERT_ROW(bench_row(bench, "tcp", 2), STATUS_INVALID);
	bench_check_clean(bench);
}

/* A file that is one hole: who does not send it is not faster. */
static void holes_are_no_throughput(void **state)
{
	struct bench *bench = *state;
	char dataset[200], path[200];
	bench_add_file(bench, "tree/one", "1");
	snprintf(path, sizeof(path), "%s/tree/hole", bench->files);
	bench_add_file(bench, "tree/hole", "x");
	assert_return_code(truncate(path, 0), errno);
	assert_return_code(truncate(path, 64 << 20), errno);
	bench_add_tool(bench, "sends",
		       "[tool]\nrun = cp -rP --sparse=never {src}/. {dst}\n[preserve]\nmode =\n");
	bench_add_tool(bench, "skips",
		       "[tool]\nrun = cp -rP --sparse=always {src}/. {dst}\n[preserve]\nmode =\n");
	snprintf(dataset, sizeof(dataset), "directory:use=place,path=%s/tree", bench->files);
	PROGRAM_STUDY(bench, "-t", "sends", "-t", "skips", "-t", "tcp", "-t", "multi", "--dataset",
		      dataset, "--rounds", "1");
	ASSERT_EXIT(bench, 0);
	const int64_t payload = (64 << 20) + 1;
	for (size_t i = 0; i < bench->results.count; i++) {
		const struct result *row = &bench->results.rows[i];
		bool sends = strcmp(row->case_name, "sends") == 0;
		bool ours = strcmp(row->case_name, "skips") != 0 && !sends;
		ASSERT_ROW(row, STATUS_OK);
		assert_int_equal(row->payload_bytes, payload);
		assert_in_range(row->data_source_bytes, 1, 1 << 20);
		if (sends)
			assert_int_equal(row->data_sink_bytes, payload);
		else
			assert_in_range(row->data_sink_bytes, 1, 1 << 20);
		if (ours)
			assert_in_range(row->line_bytes, 1, 1 << 20);
		else
			assert_int_equal(row->line_bytes, RESULT_UNKNOWN_COUNT);
	}
	ASSERT_HOLDS(bench->output, "1  sends");
	ASSERT_HOLDS(bench->output, "-  skips");
	ASSERT_HOLDS(bench->output, "-  tcp");
	ASSERT_HOLDS(bench->output, "less than the payload was sent");
	AUTO_FREE char *page = bench_read_out(bench, "report.html");
	ASSERT_HOLDS(page, "<h2>Less moved</h2>");
	ASSERT_HOLDS(page, "Less than the payload was sent");
	AUTO_FREE char *chart = bench_read_out(bench, "charts/throughput-cpu.csv");
	ASSERT_HOLDS(chart, "less");
	bench_check_clean(bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(holes_are_no_throughput),
		BENCH_TEST(spoiled_dataset_is_noticed),
		BENCH_TEST(changed_between_two_agents),
		BENCH_TEST(spoiled_share_is_noticed),
		BENCH_TEST(shares_are_no_change),
		BENCH_TEST(moved_files_are_no_copy),
		BENCH_TEST(links_are_no_copy),
		BENCH_TEST(links_as_at_the_source),
		BENCH_TEST(link_to_the_source_is_no_copy),
		BENCH_TEST(mode_of_the_root_counts),
		BENCH_TEST(file_that_becomes_unreadable),
	};
	cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
