/* Study files: what they ask for, how the command line changes it, and their mistakes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/cli/program.h"

static void study_is_done_as_written(void **state)
{
	struct bench *bench = *state;
	bench_add_file(bench, "my.ini",
		       "[study]\ntitle = Two ways & <three>\nrounds = 2\n"
		       "[dataset]\nrecipe = small-files\nfiles = 20\nsize = 1KiB\n"
		       "[case plain]\ntransport = tcp\nlabel = One stream\n"
		       "[case wide]\ntransport = multi\nstreams = 1 2\ninstances = 2\n"
		       "[case copy]\ntransport = null\ncopy = yes\n");
	PROGRAM_STUDY(bench, "my.ini");
	ASSERT_EXIT(bench, 0);
	assert_int_equal(bench->results.count, 8);
	for (int round = 1; round <= 2; round++) {
		ASSERT_ROW(bench_row(bench, "plain", round), STATUS_OK);
		ASSERT_ROW(bench_row(bench, "copy", round), STATUS_OK);
		const struct result *one = bench_row(bench, "wide streams=1", round);
		const struct result *two = bench_row(bench, "wide streams=2", round);
		ASSERT_ROW(one, STATUS_OK);
		ASSERT_ROW(two, STATUS_OK);
		assert_string_equal(one->factors, "streams=1");
		assert_string_equal(two->factors, "streams=2");
		assert_int_equal(one->streams, 2);
		assert_int_equal(two->streams, 4);
	}
	assert_string_equal(bench_row(bench, "plain", 1)->label, "One stream");
	bench_check_clean(bench);
}

static void command_line_wins(void **state)
{
	struct bench *bench = *state;
	bench_add_file(bench, "my.ini",
		       "[study]\nrounds = 9\n[dataset]\nrecipe = single\nbytes = 1GiB\n"
		       "[case a]\ntransport = tcp\n[case b]\ntransport = multi\nstreams = 1 2\n");
	PROGRAM_STUDY(bench, "my.ini", "--rounds", "1", "--dataset", "small-files:files=3", "--set",
		      "case a.instances=2", "-t", "null:copy=yes", "--set", "study.title=Other");
	ASSERT_EXIT(bench, 0);
	assert_int_equal(bench->results.count, 4);
	assert_int_equal(bench_row(bench, "a", 1)->instances, 2);
	ASSERT_ROW(bench_row(bench, "null:copy=yes", 1), STATUS_OK);
	assert_int_equal(bench_row(bench, "b streams=2", 1)->files, 3);
	bench_check_clean(bench);
}

/* One of a sweep by its whole name, all of them by what stands before. */
static void cases_are_chosen(void **state)
{
	struct bench *bench = *state;
	bench_add_file(bench, "my.ini",
		       "[study]\nrounds = 1\n[dataset]\nrecipe = small-files\nfiles = 3\n"
		       "[case a]\ntransport = tcp\n[case b]\ntransport = multi\nstreams = 1 2 4\n");
	PROGRAM_STUDY(bench, "my.ini", "--case", "b streams=2");
	assert_int_equal(bench->results.count, 1);
	assert_string_equal(bench->results.rows[0].case_name, "b streams=2");
	strncat(bench->out, "2", 2);
	PROGRAM_STUDY(bench, "my.ini", "--case", "b", "--case", "a");
	assert_int_equal(bench->results.count, 4);
	bench_check_clean(bench);
}

static void studies_of_linefill_are_known_by_name(void **state)
{
	struct bench *bench = *state;
	PROGRAM_START_STUDY(bench, "first-study", "--plan");
	program_wait(bench);
	ASSERT_EXIT(bench, 0);
	static const char *const cases[] = { "tcp", "multi", "ssh", "scp", "rsync", "tar" };
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ASSERT_HOLDS(bench->output, cases[i]);
	PROGRAM_START_STUDY(bench, "first-studdy", "--plan");
	program_wait(bench);
	ASSERT_EXIT(bench, 2);
	ASSERT_HOLDS(bench->error, "first-studdy");
}

struct mistake {
	const char *text;
	const char *answers[3];
};

static void mistakes_name_file_line_and_key(void **state)
{
	static const struct mistake mistakes[] = {
		{ "[study]\nronds = 3\n", { "my.ini:2:", "ronds", "rounds" } },
		{ "[study]\n\nrounds = many\n", { "my.ini:3:", "rounds", "many" } },
		{ "[study]\nrounds = 99999\n", { "my.ini:2:", "rounds" } },
		{ "[study]\nrounds =\n", { "my.ini:2:", "rounds" } },
		{ "[study]\nrounds = 1\nrounds = 2\n", { "my.ini:3:", "rounds" } },
		{ "[study]\npreserve = al\n", { "my.ini:2:", "preserve", "all" } },
		{ "[study]\ntimeout = -1\n", { "my.ini:2:", "timeout" } },
		{ "[study]\ntimeout = nan\n", { "my.ini:2:", "timeout" } },
		{ "[stduy]\nrounds = 1\n", { "my.ini:1:", "stduy", "study" } },
		{ "[study\nrounds = 1\n", { "my.ini:1:" } },
		{ "[study]\nrounds\n", { "my.ini:2:" } },
		{ "rounds = 1\n", { "my.ini:1:", "rounds", "[study]" } },
		{ "[hosts]\nsource = mars\n", { "my.ini:2:", "source", "local" } },
		{ "[ssh]\nciper = x\n", { "my.ini:2:", "ciper", "cipher" } },
		{ "[dataset]\nrecipe = singel\n", { "my.ini:2:", "singel", "single" } },
		{ "[dataset]\nrecipe = single\nbyts = 1\n", { "my.ini:3:", "byts", "bytes" } },
		{ "[dataset]\nrecipe = single\nlocatoin = ram\n",
		  { "my.ini:3:", "locatoin", "location" } },
		{ "[dataset]\nrecipe = single\ncompressible = 200\n",
		  { "my.ini:3:", "compressible" } },
		{ "[case]\ntransport = tcp\n", { "my.ini:1:", "name" } },
		{ "[case a]\ntransport = tpc\n", { "my.ini:2:", "tpc", "tcp" } },
		{ "[case a]\nlabel = x\n", { "my.ini:1:", "transport" } },
		{ "[case a]\ntransport = multi\nstreems = 1\n",
		  { "my.ini:3:", "streems", "streams" } },
		{ "[case a]\ntransport = multi\nstreams = 1 x 3\n",
		  { "my.ini:3:", "streams", "x" } },
		{ "[case a]\ntransport = tcp\ninstances = 65\n", { "my.ini:3:", "instances" } },
		{ "[case a]\ntransport = tcp\n[case a]\ntransport = multi\n",
		  { "my.ini:3:", "[case a]", "line 1" } },
		{ "[study] rounds = 99\n", { "my.ini:1:", "[study]", "'rounds = 99'" } },
		{ "[study]\rrounds = 99\r", { "my.ini:1:", "carriage return" } },
		{ "[study]\nrounds = 0x3\n", { "my.ini:2:", "rounds", "0x3" } },
		{ "[study]\nrounds = 3 ; 4 # 5\nseed = 3 # 4\n", { "my.ini:3:", "seed", "# 4" } },
		{ "[dataset]\nrecipe = single\nbytes = 0x1000\n", { "my.ini:3:", "0x1000" } },
		{ "[dataset]\nrecipe = single\nbytes = 256\n", { "my.ini:3:", "256MiB" } },
		{ "[study]\n= 3\n", { "my.ini:2:", "without a key" } },
	};
	struct bench *bench = *state;
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		const struct mistake *mistake = &mistakes[i];
		bench_add_file(bench, "my.ini", "%s", mistake->text);
		PROGRAM_START_STUDY(bench, "my.ini", "-t", "null");
		program_wait(bench);
		if (bench->status != 2)
			print_error("mistake %zu: %s\n", i, mistake->text);
		ASSERT_EXIT(bench, 2);
		for (size_t j = 0; j < 3 && mistake->answers[j]; j++)
			ASSERT_HOLDS(bench->error, mistake->answers[j]);
		assert_false(bench_has(bench, "out"));
	}
	bench_check_clean(bench);
}

/* What people type: it works, or the very thing to type is said. */
static void what_people_type_works(void **state)
{
	struct bench *bench = *state;
	bench_add_file(bench, "my.ini",
		       "[study]\nrounds = 1\ntimeout = 5m\n[ssh]\ncipher = aes128-ctr, aes256-ctr\n"
		       "[dataset]\nrecipe = small-files\nfiles = 3\n"
		       "[case a]\ntransport = scp\ncipher = aes128-ctr chacha20-poly1305\n");
	PROGRAM_START_STUDY(bench, "my.ini", "-t", "ssh:cipher=aes128-ctr aes256-ctr+aes192-ctr",
			    "--set", "study.timeout=2m", "--plan");
	program_wait(bench);
	ASSERT_EXIT(bench, 0);
	ASSERT_HOLDS(bench->output, "scp:cipher=chacha20-poly1305@openssh.com");
	ASSERT_HOLDS(bench->output, "ssh:cipher=aes256-ctr,aes192-ctr");
	PROGRAM_START_STUDY(bench, "-t", "tcp", "--set", "ssh.cipher=aes256-gcm", "--plan");
	program_wait(bench);
	ASSERT_EXIT(bench, 0);
}

/* A sweep that would run for years is a mistake. */
static void endless_sweep_is_refused(void **state)
{
	struct bench *bench = *state;
	PROGRAM_START_STUDY(bench, "-t",
			    "null:prepare_s=1 2 3 4 5 6 7 8 9,connect_s=1 2 3 4 5 6 7 8 9,"
			    "send_s=1 2 3 4 5 6 7 8 9,receive_s=1 2 3 4 5 6 7 8 9",
			    "--dataset", "small-files:files=3");
	program_wait(bench);
	ASSERT_EXIT(bench, 2);
	ASSERT_HOLDS(bench->error, "1000 cases");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(study_is_done_as_written),
		BENCH_TEST(command_line_wins),
		BENCH_TEST(cases_are_chosen),
		BENCH_TEST(studies_of_linefill_are_known_by_name),
		BENCH_TEST(mistakes_name_file_line_and_key),
		BENCH_TEST(what_people_type_works),
		BENCH_TEST(endless_sweep_is_refused),
	};
	cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
