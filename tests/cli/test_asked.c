/* What was asked is what ran, and what is recorded, whatever bytes it is made of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "tests/cli/program.h"

#define SMALL "small-files:files=20,size=1KiB"

static json_t *read_study(const struct bench *bench)
{
	AUTO_FREE char *text = bench_read_out(bench, "study.json");
	json_t *study = json_loads(text, 0, NULL);
	assert_non_null(study);
	return study;
}

/* Not all defaults, as if nothing had been said. */
static void options_that_are_no_utf8(void **state)
{
	struct bench *bench = *state;
	PROGRAM_STUDY(bench, "-t", "tcp:block=8KiB,congestion=\xff", "--dataset", SMALL, "--rounds",
		      "1");
	ASSERT_EXIT(bench, 0);
	assert_int_equal(bench->results.count, 1);
	ASSERT_ROW(&bench->results.rows[0], STATUS_UNAVAILABLE);
	ASSERT_HOLDS(bench->results.rows[0].error, "congestion control \\xff");
	ASSERT_HOLDS(bench->results.rows[0].options, "block=8KiB");
	bench_check_clean(bench);
}

static void comma_in_a_value_of_a_file(void **state)
{
	struct bench *bench = *state;
	bench_add_file(bench, "comma.ini",
		       "[dataset]\nrecipe = small-files\nfiles = 20\nsize = 1KiB\n"
		       "[case a]\ntransport = tcp\ncongestion = cubic,block=4KiB\n");
	AUTO_TEXT file = { 0 };
	text_addf(&file, "%s/comma.ini", bench->files);
	PROGRAM_STUDY(bench, text_string(&file), "--rounds", "1");
	assert_int_equal(bench->results.count, 1);
	ASSERT_ROW(&bench->results.rows[0], STATUS_UNAVAILABLE);
	ASSERT_HOLDS(bench->results.rows[0].error, "cubic,block=4KiB");
	json_t *study = read_study(bench);
	const json_t *options = json_object_get(json_array_get(json_object_get(study, "cases"), 0),
						"option_values");
	assert_string_equal(json_string_value(json_object_get(options, "congestion")),
			    "cubic,block=4KiB");
	assert_string_equal(json_string_value(json_object_get(options, "block")), "2MiB");
	json_decref(study);
	bench_check_clean(bench);
}

/* Beside a folder with the name's first part: that one is not meant. */
static void comma_in_the_name_of_a_folder(void **state)
{
	struct bench *bench = *state;
	bench_add_file(bench, "X/wrong", "wrong");
	bench_add_file(bench, "X,links=skip/a", "right");
	bench_add_file(bench, "X,links=skip/b", "right, too");
	bench_add_file(bench, "folder.ini",
		       "[dataset]\nrecipe = directory\npath = %s/X,links=skip\n"
		       "[case a]\ntransport = tcp\n",
		       bench->files);
	AUTO_TEXT file = { 0 };
	text_addf(&file, "%s/folder.ini", bench->files);
	PROGRAM_STUDY(bench, text_string(&file), "--rounds", "1");
	ASSERT_EXIT(bench, 0);
	ASSERT_ROW(&bench->results.rows[0], STATUS_OK);
	assert_int_equal(bench->results.rows[0].files, 2);
	assert_int_equal(bench->results.rows[0].payload_bytes, 15);
	bench_check_clean(bench);
}

static void largest_seed_is_itself(void **state)
{
	struct bench *bench = *state;
	PROGRAM_STUDY(bench, "-t", "tcp", "--dataset", SMALL, "--rounds", "1", "--seed",
		      "18446744073709551615");
	ASSERT_EXIT(bench, 0);
	json_t *study = read_study(bench);
	assert_string_equal(json_string_value(json_object_get(study, "seed")),
			    "18446744073709551615");
	json_decref(study);
}

/* As long as a path may be here. */
static void long_path_is_not_cut(void **state)
{
	struct bench *bench = *state;
	AUTO_TEXT path = { 0 };
	AUTO_TEXT dataset = { 0 };
	AUTO_TEXT name = { 0 };
	text_addf(&path, "%s/", bench->files);
	while (path.length + name.length < 250)
		text_add(&name, name.length % 100 == 99 ? "/" : "x");
	text_add(&path, text_string(&name));
	text_add(&name, "/a");
	bench_add_file(bench, text_string(&name), "right");
	text_addf(&dataset, "directory:path=%s,links=skip", text_string(&path));
	PROGRAM_STUDY(bench, "-t", "tcp", "--dataset", text_string(&dataset), "--rounds", "1");
	ASSERT_EXIT(bench, 0);
	assert_true(dataset.length > 270);
	assert_string_equal(bench->results.rows[0].dataset, text_string(&dataset));
	ASSERT_ROW(&bench->results.rows[0], STATUS_OK);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(options_that_are_no_utf8),      BENCH_TEST(comma_in_a_value_of_a_file),
		BENCH_TEST(comma_in_the_name_of_a_folder), BENCH_TEST(largest_seed_is_itself),
		BENCH_TEST(long_path_is_not_cut),
	};
	cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
