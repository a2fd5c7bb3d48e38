/* Which case is fastest, by how much, and how sure: what `report` and `run --plan` say of rows
 * whose rates are known. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "tests/cli/program.h"

#define PAYLOAD (INT64_C(1) << 30)

/* An ok run of 1 GiB. */
static struct result make_row(const char *name, int64_t round, double goodput_bps)
{
	struct result row;
	result_init(&row);
	text_copy(row.study_id, sizeof(row.study_id), "made-up");
	text_copy(row.run_id, sizeof(row.run_id), name);
	text_copy(row.case_name, sizeof(row.case_name), name);
	text_copy(row.label, sizeof(row.label), name);
	text_copy(row.transport, sizeof(row.transport), name);
	row.round = round;
	row.instances = row.streams = 1;
	row.status = STATUS_OK;
	row.verified = VERIFIED_YES;
	row.payload_bytes = PAYLOAD;
	row.total_s = 8.0 * (double)PAYLOAD / goodput_bps;
	row.goodput_bps = goodput_bps;
	return row;
}

static const double scatter[] = { 1, 1.05, 0.96, 1.02, 0.98, 1.03, 0.97, 1.01 };

/* files/FOLDER/runs.csv: multi is next to tcp, scp far below. */
static void write_rows(const struct bench *bench, const char *folder, int64_t rounds)
{
	AUTO_FREE char *path = path_join(bench->files, folder);
	AUTO_FREE char *runs = path_join(path, "runs.csv");
	struct csv_writer writer;
	assert_return_code(folder_make_all(path, NULL), errno);
	assert_return_code(csv_open(&writer, runs, NULL), errno);
	for (int64_t round = 1; round <= rounds; round++) {
		const struct result rows[] = {
			make_row("scp", round, 0.75e9 * scatter[(round + 5) % 8]),
			make_row("tcp", round, 9.5e9 * scatter[(round + 3) % 8]),
			make_row("multi", round, 9.7e9 * scatter[round % 8]),
		};
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
			assert_return_code(csv_row(&writer, &rows[i], NULL), errno);
	}
	csv_close(&writer);
}

static char *read_file(const struct bench *bench, const char *folder, const char *name)
{
	AUTO_FREE char *inner = path_join(folder, name);
	AUTO_FREE char *path = path_join(bench->files, inner);
	char *text = NULL;
	assert_return_code(file_read_all(path, 8 << 20, &text, NULL, NULL), errno);
	return text;
}

static void a_difference_is_named(void **state)
{
	struct bench *bench = *state;
	write_rows(bench, "six", 6);
	PROGRAM_RUN(bench, "report", "six");
	ASSERT_EXIT(bench, 0);
	ASSERT_HOLDS(bench->output, "96.9 % interval");
	ASSERT_HOLDS(bench->output, "\nmulti is fastest: 9.70 Gbit/s; 1.02x tcp (not told apart: ");
	ASSERT_HOLDS(bench->output, "), 13x scp (12 to 14)\n");
	AUTO_FREE char *page = read_file(bench, "six", "report.html");
	ASSERT_HOLDS(page, "is ahead, but some other is not told apart from it:");
	ASSERT_HOLDS(page, "corrected for 3 comparisons (Bonferroni; all pairs");
	ASSERT_LACKS(page, "<td>tcp</td><td>scp</td>");
	AUTO_FREE char *summary = read_file(bench, "six", "summary.csv");
	ASSERT_HOLDS(summary, ",against,common_rounds,ratio,ratio_low,ratio_high,verdict,error\n");
	ASSERT_HOLDS(summary, ",multi,6,0.0");
	ASSERT_HOLDS(summary, ",differs,");
	ASSERT_HOLDS(summary, ",not told apart,");
	PROGRAM_RUN(bench, "report", "--all-pairs", "six");
	ASSERT_EXIT(bench, 0);
	ASSERT_HOLDS(bench->output, "\ntcp: 13x scp (12 to 14)\n");
	AUTO_FREE char *all = read_file(bench, "six", "report.html");
	ASSERT_HOLDS(all, "<td>tcp</td><td>scp</td>");
}

static void few_rounds_name_nobody(void **state)
{
	struct bench *bench = *state;
	write_rows(bench, "three", 3);
	PROGRAM_RUN(bench, "report", "three");
	ASSERT_EXIT(bench, 0);
	ASSERT_HOLDS(bench->output,
		     "\nobserved in 3 rounds, too few to name a difference: multi 9.89 Gbit/s; ");
	ASSERT_LACKS(bench->output, "fastest");
	AUTO_FREE char *page = read_file(bench, "three", "report.html");
	ASSERT_LACKS(page, "is fastest");
	ASSERT_LACKS(page, "is ahead");
	ASSERT_LACKS(page, "filled the line");
}

static void plan_says_what_can_be_told(void **state)
{
	struct bench *bench = *state;
	PROGRAM_RUN(bench, "run", "-t", "tcp", "-t", "scp", "-t", "multi", "--rounds", "6",
		    "--plan");
	ASSERT_EXIT(bench, 0);
	ASSERT_HOLDS(bench->output,
		     "Differences: 3 pairs; the ratio of two runs of a round scatters "
		     "by 10.0 % (a guess: there are no earlier results");
	ASSERT_HOLDS(bench->output,
		     "\n6 rounds can tell a factor of 1.22, in four studies of five\n");
	PROGRAM_RUN(bench, "run", "-t", "tcp", "-t", "scp", "--rounds", "3", "--plan");
	ASSERT_HOLDS(bench->output, "\n3 rounds: no difference is named below 4");
	PROGRAM_RUN(bench, "run", "-t", "tcp", "--rounds", "6", "--plan");
	ASSERT_HOLDS(bench->output, "Nothing is compared");
	/* Noise that was seen. */
	write_rows(bench, "six", 6);
	PROGRAM_RUN(bench, "run", "-t", "tcp", "-t", "scp", "-t", "multi", "--rounds", "6",
		    "--plan", "--noise-from", "six");
	ASSERT_EXIT(bench, 0);
	ASSERT_HOLDS(bench->output, " % (seen in six)\n6 rounds can tell a factor of 1.");
	ASSERT_LACKS(bench->output, "10.0 %");
	/* The newest results of the study of this name, and of no other. */
	write_rows(bench, "linefill-results/tcp-20260101T000000Z", 6);
	write_rows(bench, "linefill-results/tcp-20260201T000000Z", 6);
	write_rows(bench, "linefill-results/tcp-x-20270201T000000Z", 6);
	write_rows(bench, "linefill-results/tcp-20260301T000000Z", 1);
	PROGRAM_RUN(bench, "run", "-t", "tcp", "-t", "tcp:block=64KiB", "--rounds", "6", "--plan");
	ASSERT_EXIT(bench, 0);
	ASSERT_HOLDS(bench->output, "(seen in linefill-results/tcp-20260201T000000Z)\n");
}

static void noise_comes_from_results(void **state)
{
	struct bench *bench = *state;
	PROGRAM_RUN(bench, "run", "-t", "tcp", "-t", "scp", "--plan", "--noise-from", "nowhere");
	ASSERT_EXIT(bench, 2);
	ASSERT_HOLDS(bench->error, "--noise-from: open nowhere/runs.csv");
	write_rows(bench, "one", 1);
	PROGRAM_RUN(bench, "run", "-t", "tcp", "-t", "scp", "--plan", "--noise-from", "one");
	ASSERT_EXIT(bench, 2);
	ASSERT_HOLDS(bench->error, "no two cases have 2 rounds in common");
	PROGRAM_RUN(bench, "run", "-t", "tcp", "--noise-from", "one");
	ASSERT_EXIT(bench, 2);
	ASSERT_HOLDS(bench->error, "--noise-from belongs to --plan");
}

/* Changes the first one of a text in files/FOLDER/runs.csv. */
static void spoil(const struct bench *bench, const char *folder, const char *from, const char *to)
{
	AUTO_FREE char *text = read_file(bench, folder, "runs.csv");
	AUTO_FREE char *name = path_join(folder, "runs.csv");
	AUTO_FREE char *path = path_join(bench->files, name);
	char *at = strstr(text, from);
	assert_non_null(at);
	*at = '\0';
	AUTO_TEXT spoiled = { 0 };
	text_addf(&spoiled, "%s%s%s", text, to, at + strlen(from));
	assert_return_code(file_write_all(path, text_string(&spoiled), spoiled.length, 0644, NULL),
			   errno);
}

/* "line 4, column 27: ", as the program counts. */
static void add_place(size_t line, const char *column, struct text *out)
{
	const struct result_field *field = result_field_find(column);
	assert_non_null(field);
	text_addf(out, "runs.csv: line %zu, column %zu: ", line,
		  (size_t)(field - result_fields) + 1);
}

static void what_cannot_be_is_refused(void **state)
{
	static const struct {
		const char *from, *to, *column, *message;
	} cases[] = {
		{ ",10185000000,", ",1e308,", "goodput_bps", "goodput_bps = 1e308 cannot be" },
		{ ",10185000000,", ",-5,", "goodput_bps", "goodput_bps = -5 cannot be" },
		{ ",10185000000,", ",10195000000,", "goodput_bps",
		  "goodput_bps = 1.0195e+10, but payload_bytes * 8 / total_s is 1.0185e+10" },
		{ "made-up,multi", "another,multi", "study_id",
		  "study_id = another, but line 2 has made-up" },
		{ ",goodput_bps", ",goodput", NULL,
		  "runs.csv: line 1: there is no column 'goodput_bps'" },
		{ ",status", ",state", NULL, "runs.csv: line 1: there is no column 'status'" },
	};
	struct bench *bench = *state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_TEXT message = { 0 };
		char folder[16];
		snprintf(folder, sizeof(folder), "bad%zu", i);
		write_rows(bench, folder, 1);
		spoil(bench, folder, cases[i].from, cases[i].to);
		if (cases[i].column)
			add_place(4, cases[i].column, &message);
		text_add(&message, cases[i].message);
		PROGRAM_RUN(bench, "report", folder);
		ASSERT_EXIT(bench, 2);
		ASSERT_HOLDS(bench->error, text_string(&message));
	}
}

/* Rows of two datasets are no ranking, and the record of one study is not that of another's rows.
 */
static void studies_are_not_mixed(void **state)
{
	struct bench *bench = *state;
	static const char *const datasets[] = { "single:bytes=1GiB", "single:bytes=2GiB" };
	AUTO_TEXT rows = { 0 };
	for (size_t i = 0; i < ARRAY_SIZE(datasets); i++) {
		struct csv_writer writer;
		char folder[16];
		snprintf(folder, sizeof(folder), "part%zu", i);
		AUTO_FREE char *path = path_join(bench->files, folder);
		AUTO_FREE char *runs = path_join(path, "runs.csv");
		assert_return_code(folder_make_all(path, NULL), errno);
		assert_return_code(csv_open(&writer, runs, NULL), errno);
		struct result row = make_row(i ? "tcp" : "scp", 1, 1e9);
		text_copy(row.dataset, sizeof(row.dataset), datasets[i]);
		assert_return_code(csv_row(&writer, &row, NULL), errno);
		csv_close(&writer);
		AUTO_FREE char *text = read_file(bench, folder, "runs.csv");
		text_add(&rows, i ? strchr(text, '\n') + 1 : text);
	}
	bench_add_file(bench, "both/runs.csv", "%s", text_string(&rows));
	PROGRAM_RUN(bench, "report", "both");
	ASSERT_EXIT(bench, 2);
	AUTO_TEXT message = { 0 };
	add_place(3, "dataset", &message);
	text_add(&message, "dataset = single:bytes=2GiB, but line 2 has single:bytes=1GiB");
	ASSERT_HOLDS(bench->error, text_string(&message));
	bench_add_file(bench, "part0/study.json", "{\"study_id\": \"another\"}");
	PROGRAM_RUN(bench, "report", "part0");
	ASSERT_EXIT(bench, 2);
	ASSERT_HOLDS(bench->error,
		     "part0: runs.csv is of the study made-up, study.json of the study another");
}

/* A file of an earlier linefill has fewer columns. */
static void old_files_are_read(void **state)
{
	struct bench *bench = *state;
	AUTO_TEXT rows = { 0 };
	text_add(&rows, "case,round,status,verified,goodput_bps\n");
	for (int round = 1; round <= 4; round++)
		text_addf(&rows, "tcp,%d,ok,yes,%d\nscp,%d,ok,yes,1000000\n", round,
			  9000000 + round, round);
	bench_add_file(bench, "old/runs.csv", "%s", text_string(&rows));
	PROGRAM_RUN(bench, "report", "old");
	ASSERT_EXIT(bench, 0);
	ASSERT_HOLDS(bench->output, "tcp is fastest: 9.00 Mbit/s; 9.00x scp (9.00 to 9.00)\n");
}

/* No exponents where people read. */
static void slow_rates_are_written_out(void **state)
{
	struct bench *bench = *state;
	bench_add_file(bench, "slow/runs.csv",
		       "case,round,status,verified,goodput_bps\nx,1,ok,yes,31\ny,1,ok,yes,62\n");
	PROGRAM_RUN(bench, "report", "slow");
	ASSERT_EXIT(bench, 0);
	ASSERT_HOLDS(bench->output, "0.000031");
	ASSERT_HOLDS(bench->output, "y 62.0 bit/s; 2.00x x\n");
	AUTO_FREE char *page = read_file(bench, "slow", "report.html");
	ASSERT_LACKS(page, "e-05");
	AUTO_FREE char *svg = read_file(bench, "slow", "charts/throughput-cpu.svg");
	ASSERT_LACKS(svg, "e-0");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(a_difference_is_named),      BENCH_TEST(few_rounds_name_nobody),
		BENCH_TEST(plan_says_what_can_be_told), BENCH_TEST(noise_comes_from_results),
		BENCH_TEST(what_cannot_be_is_refused),  BENCH_TEST(studies_are_not_mixed),
		BENCH_TEST(old_files_are_read),         BENCH_TEST(slow_rates_are_written_out),
	};
	cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
