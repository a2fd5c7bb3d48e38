/* What the program is started with: descriptors that are closed, a pipe that nobody reads, disks
 * and files that are full. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "tests/cli/program.h"

#define SMALL "small-files:files=20,size=1KiB"

/* Every file of the results is what it should be, and nobody's lines are in it. */
static void check_results(struct bench *bench, size_t rows)
{
	static const char *const starts[][2] = {
		{ "runs.csv", "schema,study_id," },
		{ "study.json", "{" },
		{ "summary.csv", "" },
		{ "report.html", "<!DOCTYPE html>" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		AUTO_FREE char *text = bench_read_out(bench, starts[i][0]);
		assert_memory_equal(text, starts[i][1], strlen(starts[i][1]));
		ASSERT_LACKS(text, "cleaning up");
		ASSERT_LACKS(text, "looking for tools");
	}
	bench_read_results(bench);
	assert_int_equal(bench->results.count, rows);
	for (size_t i = 0; i < rows; i++)
		ASSERT_ROW(&bench->results.rows[i], STATUS_OK);
	AUTO_FREE char *source = bench_read_out(bench, "agent-source.log");
	AUTO_FREE char *sink = bench_read_out(bench, "agent-sink.log");
	assert_string_equal(source, "");
	assert_string_equal(sink, "");
}

/* All eight ways. What is printed to a closed output is missed; what is told to a closed error
 * output is not. */
static void closed_descriptors(void **state)
{
	struct bench *bench = *state;
	for (int which = 1; which < 8; which++) {
		for (int number = 0; number <= 2; number++)
			bench->closed[number] = which & 1 << number;
		PROGRAM_STUDY(bench, "-t", "tcp", "-t", "tar-ssh", "-t", "ssh", "--dataset", SMALL,
			      "--rounds", "1");
		ASSERT_EXIT(bench, bench->closed[1] ? 1 : 0);
		check_results(bench, 3);
		bench_check_clean(bench);
		assert_int_equal(folder_remove(bench->out, NULL), 0);
	}
}

/* 0 to 2 of every process that a tool can see: its own, and those of the worker that started it. */
static void tools_have_all_three(void **state)
{
	struct bench *bench = *state;
	bench_add_file(bench, "look",
		       "#!/bin/sh\nfor p in $$ $PPID; do\n"
		       "for n in 0 1 2; do readlink /proc/$p/fd/$n; done; done >> %s/seen\n"
		       "cp -R $1/. $2\n",
		       bench->files);
	AUTO_FREE char *script = path_join(bench->files, "look");
	assert_return_code(chmod(script, 0755), errno);
	bench_add_tool(bench, "looker",
		       "[tool]\nsummary = looks\ndriver = sink\ncaps = empty-folders\n"
		       "probe = sh -c true\nrun = %s {src} {dst}\n[preserve]\nmode =\n",
		       script);
	bench->closed[0] = bench->closed[1] = bench->closed[2] = true;
	PROGRAM_STUDY(bench, "-t", "looker", "--dataset", SMALL, "--rounds", "1");
	ASSERT_ROW(&bench->results.rows[0], STATUS_OK);
	AUTO_FREE char *path = path_join(bench->files, "seen");
	AUTO_FREE char *seen = NULL;
	assert_int_equal(file_read_all(path, 1 << 16, &seen, NULL, NULL), 0);
	size_t lines = 0;
	for (const char *at = seen; (at = strchr(at, '\n')); at++)
		lines++;
	assert_int_equal(lines, 6);
	ASSERT_LACKS(seen, ".csv");
	bench_check_clean(bench);
}

/* A reader that had enough: no message, no fault, and everything is written. */
static void pipe_that_nobody_reads(void **state)
{
	struct bench *bench = *state;
	AUTO_FREE char *fifo = path_join(bench->files, "fifo");
	assert_return_code(mkfifo(fifo, 0600), errno);
	AUTO_FD reader = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_return_code(reader, errno);
	bench->printed_to = fifo;
	PROGRAM_START_STUDY(bench, "-t", "tcp", "--dataset", SMALL, "--rounds", "2");
	bench_await_agent(bench, "sink"); /* the program has opened it by now */
	close(take_fd(&reader));
	program_wait(bench);
	ASSERT_EXIT(bench, 0);
	ASSERT_LACKS(bench->error, "linefill:");
	check_results(bench, 2);
	bench_check_clean(bench);
}

/* The same before the first word. */
static void lists_to_a_pipe_that_nobody_reads(void **state)
{
	static const char *const lists[] = { "transports", "keys", "fields" };
	struct bench *bench = *state;
	AUTO_FREE char *fifo = path_join(bench->files, "fifo");
	assert_return_code(mkfifo(fifo, 0600), errno);
	bench->printed_to = fifo;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		AUTO_FD reader = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		assert_return_code(reader, errno);
		program_start(bench, (const char *const[]){ "list", lists[i], NULL });
		/* Once somebody may write, "not yet" takes the place of "the end". */
		char byte;
		while (read(reader, &byte, 1) == 0)
			rest_s(0.0005);
		close(take_fd(&reader));
		program_wait(bench);
		ASSERT_EXIT(bench, 0);
		assert_string_equal(bench->error, "");
	}
}

/* No line of runs.csv is half, and the error says why. From no file at all to all but the
 * pictures: exit status 1, and nothing else lies about. */
static void files_of_limited_size(void **state)
{
	static const uint64_t limits[] = { 100,  1000,  1500,  2000,  3000, 4000,
					   5000, 10000, 20000, 30000, 40000 };
	struct bench *bench = *state;
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		bench->file_bytes_max = limits[i];
		PROGRAM_START_STUDY(bench, "-t", "tcp", "-t", "null", "--dataset",
				    "single:bytes=8B", "--rounds", "4");
		program_wait(bench);
		ASSERT_EXIT(bench, 1);
		if (!strstr(bench->error, "File too large"))
			ASSERT_HOLDS(bench->error, "killed by SIGXFSZ");
		bench_check_clean(bench);
		static const char *const fresh[] = { "out/.study.json.new", "out/.report.html.new",
						     "out/.summary.csv.new" };
		for (size_t j = 0; j < ARRAY_SIZE(fresh); j++)
			assert_false(bench_has(bench, fresh[j]));
		if (bench_has(bench, "out/runs.csv"))
			bench_read_results(bench); /* complains about half a line */
		assert_int_equal(folder_remove(bench->out, NULL), 0);
	}
}

/* gnuplot itself does not notice. */
static void disk_that_is_full(void **state)
{
	static const uint64_t sizes[] = { 16 << 10, 60 << 10, 80 << 10 };
	struct bench *bench = *state;
	AUTO_TEXT out = { 0 };
	AUTO_TEXT location = { 0 };
	text_addf(&out, "%s/out", bench->data);
	text_addf(&location, "dataset.location=%s", bench->tmp);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		bench_use_tiny_data(bench, sizes[i]);
		PROGRAM_RUN(bench, "run", "-t", "tcp", "-t", "null", "--dataset", "single:bytes=8B",
			    "--rounds", "2", "--out", text_string(&out), "--set",
			    text_string(&location));
		ASSERT_EXIT(bench, 1);
		ASSERT_HOLDS(bench->error,
			     i == 0 ? "No space left on device" : "is the disk full?");
		bench_check_clean(bench);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(closed_descriptors),     BENCH_TEST(tools_have_all_three),
		BENCH_TEST(pipe_that_nobody_reads), BENCH_TEST(lists_to_a_pipe_that_nobody_reads),
		BENCH_TEST(files_of_limited_size),  BENCH_TEST(disk_that_is_full),
	};
	signal(SIGPIPE, SIG_IGN);
	cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
