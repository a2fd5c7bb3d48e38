/* How many rounds there are, what a case is held against, and what a study without a name is
 * called.
 */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static void assert_rounds(const struct bench *bench, int rounds, const char *why)
{
	json_t *study = read_study(bench);
	char text[16];
	snprintf(text, sizeof(text), "%d", rounds);
	assert_int_equal(json_integer_value(json_object_get(study, "rounds")), rounds);
	assert_string_equal(json_string_value(json_object_get(
				    json_object_get(study, "configuration"), "study.rounds")),
			    text);
	const char *said = json_string_value(json_object_get(study, "rounds_why"));
	if (why)
		ASSERT_HOLDS(said, why);
	else
		assert_null(said);
	json_decref(study);
}

/* A short first round is followed by more than were planned; each case has each round once. */
static void short_rounds_are_ten(void **state)
{
	struct bench *bench = *state;
	PROGRAM_STUDY(bench, "-t", "tcp", "-t", "multi", "--dataset", SMALL);
	ASSERT_EXIT(bench, 0);
	ASSERT_HOLDS(bench->error, ": 10 rounds instead of 5\n");
	ASSERT_HOLDS(bench->error, "  1/10  round 1  ");
	ASSERT_HOLDS(bench->error, " 20/20  round 10  ");
	assert_int_equal(bench->results.count, 20);
	for (int64_t round = 1; round <= 10; round++) {
		ASSERT_ROW(bench_row(bench, "tcp", round), STATUS_OK);
		ASSERT_ROW(bench_row(bench, "multi", round), STATUS_OK);
	}
	assert_rounds(bench, 10, "not set; the first round took ");
	ASSERT_LACKS(bench->output, "planned runs have no row");
	ASSERT_HOLDS(bench->output,
		     "Copied: 20 files, 20.0 KiB (small-files:files=20,size=1KiB), ");
	ASSERT_HOLDS(bench->output, "; cipher none; memory ");
	ASSERT_HOLDS(bench->output, "; 10 rounds\n");
	AUTO_FREE char *page = bench_read_out(bench, "report.html");
	ASSERT_HOLDS(page, ">10 (not set; the first round took ");
}

static void set_rounds_are_kept(void **state)
{
	struct bench *bench = *state;
	PROGRAM_STUDY(bench, "-t", "tcp", "--dataset", SMALL, "--rounds", "5");
	ASSERT_EXIT(bench, 0);
	assert_int_equal(bench->results.count, 5);
	ASSERT_LACKS(bench->error, "instead of");
	assert_rounds(bench, 5, NULL);
}

/* What only fails is not tried more often. */
static void failures_are_not_multiplied(void **state)
{
	struct bench *bench = *state;
	PROGRAM_STUDY(bench, "-t", "null:fail=send", "--dataset", SMALL);
	ASSERT_EXIT(bench, 1);
	assert_int_equal(bench->results.count, 5);
	assert_rounds(bench, 5, NULL);
}

/* A case that cannot run has one row, which stands for all rounds, also for those that came later.
 */
static void whole_cases_are_counted(void **state)
{
	struct bench *bench = *state;
	bench_add_tool(bench, "absent",
		       "[tool]\nsummary = not there\ndriver = source\nprobe = /nonexistent/tool\n"
		       "run = /nonexistent/tool {src} {dst}\n[preserve]\nmode =\n");
	PROGRAM_STUDY(bench, "-t", "tcp", "-t", "absent", "--dataset", SMALL);
	ASSERT_EXIT(bench, 0);
	assert_int_equal(bench->results.count, 11);
	ASSERT_HOLDS(bench->error, "  5/10  round 1  absent");
	ASSERT_HOLDS(bench->error, " 20/20  round 10  tcp");
	ASSERT_LACKS(bench->output, "planned runs have no row");
}

static void plan_tells_of_both(void **state)
{
	struct bench *bench = *state;
	PROGRAM_RUN(bench, "run", "-t", "tcp", "-t", "multi", "--dataset", SMALL, "--plan");
	ASSERT_EXIT(bench, 0);
	ASSERT_HOLDS(bench->output, "In all: 10 runs, ");
	ASSERT_HOLDS(bench->output,
		     "Rounds are not set: 10 instead of 5 where the first takes less than 10 s\n");
	ASSERT_HOLDS(bench->output, "\n5 rounds can tell a factor of 1.18, ");
	ASSERT_HOLDS(bench->output, "\n10 rounds can tell a factor of 1.10, ");
	PROGRAM_RUN(bench, "run", "-t", "tcp", "-t", "multi", "--dataset", SMALL, "--plan",
		    "--rounds", "5");
	ASSERT_LACKS(bench->output, "not set");
	ASSERT_LACKS(bench->output, "10 rounds");
}

static void baseline_is_held_against_each(void **state)
{
	struct bench *bench = *state;
	PROGRAM_STUDY(bench, "-t", "tcp", "-t", "multi:streams=1 2", "--dataset", SMALL, "--rounds",
		      "4", "--set", "study.baseline=multi streams=2");
	ASSERT_EXIT(bench, 0);
	json_t *study = read_study(bench);
	assert_string_equal(json_string_value(json_object_get(study, "baseline")),
			    "multi streams=2");
	json_decref(study);
	ASSERT_HOLDS(bench->output, "\nagainst multi streams=2 at ");
	ASSERT_LACKS(bench->output, "fastest");
	AUTO_FREE char *page = bench_read_out(bench, "report.html");
	ASSERT_HOLDS(page, "Against <strong>multi streams=2</strong> at ");
	ASSERT_HOLDS(page, "corrected for 2 comparisons (Bonferroni)");
	PROGRAM_RUN(bench, "report", "--all-pairs", bench->out);
	ASSERT_HOLDS(bench->output, " is fastest: ");
	PROGRAM_RUN(bench, "run", "-t", "tcp", "-t", "multi", "-t", "scp", "--set",
		    "study.baseline=scp", "--rounds", "6", "--plan");
	ASSERT_HOLDS(bench->output, "Differences: 2 pairs, each with scp; ");
	PROGRAM_RUN(bench, "run", "-t", "tcp", "-t", "multi", "-t", "scp", "--set",
		    "study.baseline=scp", "--rounds", "6", "--plan", "--all-pairs");
	ASSERT_HOLDS(bench->output, "Differences: 3 pairs; ");
}

static void baseline_must_be_one_case(void **state)
{
	static const struct {
		const char *baseline, *message;
	} cases[] = {
		{ "study.baseline=multi",
		  "'multi' is several cases, one is needed: 'multi streams=1', 'multi streams=2'" },
		{ "study.baseline=scpp", "there is no case 'scpp' to run: did you mean 'scp'?" },
		{ "study.baseline=tar", "there is no case 'tar' to run" },
	};
	struct bench *bench = *state;
	bench_add_file(bench, "my.ini",
		       "[case scp]\ntransport = scp\n[case multi]\ntransport = multi\n"
		       "streams = 1 2\n[case tar]\ntransport = tar-ssh\n");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		PROGRAM_RUN(bench, "run", "my.ini", "--case", "scp", "--case", "multi", "--set",
			    cases[i].baseline, "--plan");
		ASSERT_EXIT(bench, 2);
		ASSERT_HOLDS(bench->error, "--set study.baseline");
		ASSERT_HOLDS(bench->error, cases[i].message);
	}
}

/* The one folder in linefill-results; the caller frees. */
static char *only_folder(const struct bench *bench)
{
	AUTO_FREE char *path = path_join(bench->files, "linefill-results");
	DIR *folder = opendir(path);
	char *name = NULL;
	assert_non_null(folder);
	for (const struct dirent *entry; (entry = readdir(folder));)
		if (entry->d_name[0] != '.') {
			assert_null(name);
			name = strdup(entry->d_name);
		}
	closedir(folder);
	assert_non_null(name);
	return name;
}

static void titles_name_all_cases(void **state)
{
	static const struct {
		const char *transports[8], *folder, *title;
	} cases[] = {
		{ { "-t", "null:copy=yes" }, "null-2", "null:copy=yes" },
		{ { "-t", "null", "-t", "tcp" }, "null-tcp-2", "null and tcp" },
		{ { "-t", "null", "-t", "tcp", "-t", "multi" },
		  "null-tcp-multi-2",
		  "null, tcp and multi" },
		{ { "-t", "multi:streams=1 2" }, "multi-2", "multi, 2 cases" },
	};
	struct bench *bench = *state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *arguments[16] = { "run", "--dataset", "single:bytes=1KiB", "--rounds",
					      "1" };
		memcpy(arguments + 5, cases[i].transports, sizeof(cases[i].transports));
		program_run(bench, arguments);
		ASSERT_EXIT(bench, 0);
		AUTO_FREE char *name = only_folder(bench);
		assert_int_equal(strncmp(name, cases[i].folder, strlen(cases[i].folder)), 0);
		AUTO_FREE char *results = path_join(bench->files, "linefill-results");
		AUTO_FREE char *folder = path_join(results, name);
		AUTO_FREE char *path = path_join(folder, "report.html");
		AUTO_FREE char *page = NULL;
		AUTO_TEXT title = { 0 };
		text_addf(&title, "<h1>%s</h1>", cases[i].title);
		assert_return_code(file_read_all(path, 8 << 20, &page, NULL, NULL), errno);
		ASSERT_HOLDS(page, text_string(&title));
		assert_return_code(folder_remove(results, NULL), errno);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(short_rounds_are_ten),        BENCH_TEST(set_rounds_are_kept),
		BENCH_TEST(failures_are_not_multiplied), BENCH_TEST(whole_cases_are_counted),
		BENCH_TEST(plan_tells_of_both),          BENCH_TEST(baseline_is_held_against_each),
		BENCH_TEST(baseline_must_be_one_case),   BENCH_TEST(titles_name_all_cases),
	};
	cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
