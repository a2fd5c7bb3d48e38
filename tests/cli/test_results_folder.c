/* The files of a results folder, and `linefill report`, which makes them again. */
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

static void run_study(struct bench *bench)
{
	PROGRAM_STUDY(bench, "-t", "tcp", "-t", "scp", "-t", "null:fail=send", "--dataset",
		      "small-files:files=20,size=1KiB", "--rounds", "2", "--set",
		      "study.title=Rows & <columns>");
	ASSERT_EXIT(bench, 1);
}

static void columns_are_in_order(void **state)
{
	struct bench *bench = *state;
	AUTO_TEXT wanted = { 0 };
	run_study(bench);
	AUTO_FREE char *rows = bench_read_out(bench, "runs.csv");
	for (size_t i = 0; i < result_fields_count; i++)
		text_addf(&wanted, "%s%s", i ? "," : "", result_fields[i].name);
	text_add(&wanted, "\n");
	assert_int_equal(strncmp(rows, text_string(&wanted), wanted.length), 0);
	static const char *const promised[] = {
		"schema",
		"study_id",
		"run_id",
		"round",
		"case",
		"pair",
		"pairs",
		"instances",
		"factors",
		"transport",
		"transport_version",
		"options",
		"dataset",
		"files",
		"payload_bytes",
		"streams",
		"cipher",
		"mac",
		"start_utc",
		"setup_s",
		"transfer_s",
		"total_s",
		"goodput_bps",
		"cpu_source_s",
		"cpu_sink_s",
		"cpu_source_host_pct",
		"cpu_sink_host_pct",
		"cpu_scope",
		"sd_source_us_per_kib",
		"sd_sink_us_per_kib",
		"csw_voluntary",
		"csw_involuntary",
		"verified",
		"status",
		"error",
	};
	for (size_t i = 0; i < ARRAY_SIZE(promised); i++)
		assert_non_null(result_field_find(promised[i]));
	/* Nothing unknown is ever 0. */
	const struct result *failed = bench_row(bench, "null:fail=send", 1);
	ASSERT_ROW(failed, STATUS_FAILED);
	assert_true(failed->goodput_bps != failed->goodput_bps);
	assert_true(failed->total_s != failed->total_s);
	assert_int_equal(failed->payload_bytes, RESULT_UNKNOWN_COUNT);
	assert_int_equal(failed->csw_voluntary, RESULT_UNKNOWN_COUNT);
}

static const json_t *member(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	if (!value)
		fail_msg("study.json lacks '%s'", key);
	return value;
}

static void study_record_is_complete(void **state)
{
	struct bench *bench = *state;
	run_study(bench);
	AUTO_FREE char *text = bench_read_out(bench, "study.json");
	json_t *study = json_loads(text, 0, NULL);
	assert_non_null(study);
	static const char *const keys[] = { "schema",      "study_id",         "title",
					    "created_utc", "linefill_version", "command_line",
					    "seed",        "rounds",           "configuration",
					    "hosts",       "versions",         "dataset",
					    "cases" };
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		member(study, keys[i]);
	assert_string_equal(json_string_value(member(study, "title")), "Rows & <columns>");
	assert_string_equal(json_string_value(member(study, "study_id")),
			    bench->results.rows[0].study_id);
	static const char *const sides[] = { "source", "sink" };
	for (size_t i = 0; i < 2; i++) {
		const json_t *host = member(member(study, "hosts"), sides[i]);
		const json_t *versions = member(member(study, "versions"), sides[i]);
		static const char *const facts[] = {
			"hostname", "kernel",       "cpu_model",
			"cpus",     "memory_bytes", "linefill_version"
		};
		for (size_t j = 0; j < ARRAY_SIZE(facts); j++)
			member(host, facts[j]);
		assert_true(json_string_length(member(versions, "scp")) > 0);
		assert_true(json_string_length(member(versions, "tcp")) > 0);
	}
	assert_int_equal(json_array_size(member(study, "cases")), 3);
	member(member(study, "configuration"), "study.timeout");
	json_decref(study);
}

/* One file, offline: nothing in it leads elsewhere, and no script runs. */
static void report_stands_alone(void **state)
{
	static const char *const foreign[] = { "http://", "https://", "src=\"//", "@import",
					       "<script", "<link",    "url(" };
	struct bench *bench = *state;
	run_study(bench);
	AUTO_FREE char *report = bench_read_out(bench, "report.html");
	/* The name of a vocabulary, not an address that anyone fetches. */
	for (char *at; (at = strstr(report, "http://www.w3.org/"));)
		memset(at, '-', strlen("http://www.w3.org/"));
	for (size_t i = 0; i < ARRAY_SIZE(foreign); i++)
		ASSERT_LACKS(report, foreign[i]);
	ASSERT_HOLDS(report, "<!DOCTYPE html>");
	ASSERT_HOLDS(report, "</html>");
	ASSERT_HOLDS(report, "Rows &amp; &lt;columns&gt;");
	ASSERT_HOLDS(report, "scp");
	ASSERT_HOLDS(report, "failed in send, as asked");
}

static void pictures_are_drawn(void **state)
{
	struct bench *bench = *state;
	run_study(bench);
	AUTO_FREE char *svg = bench_read_out(bench, "charts/throughput-cpu.svg");
	AUTO_FREE char *png = bench_read_out(bench, "charts/throughput-cpu.png");
	AUTO_FREE char *script = bench_read_out(bench, "charts/throughput-cpu.gp");
	AUTO_FREE char *data = bench_read_out(bench, "charts/throughput-cpu.csv");
	ASSERT_HOLDS(svg, "<svg");
	ASSERT_HOLDS(svg, "</svg>");
	ASSERT_HOLDS(svg, "Mbit/s");
	assert_int_equal(strncmp(png, "\x89PNG", 4), 0);
	ASSERT_HOLDS(script, "throughput-cpu.csv");
	ASSERT_HOLDS(data, "scp");
}

/* From runs.csv and study.json alone, and the same as before. */
static void report_makes_them_again(void **state)
{
	static const char *const made[] = { "report.html", "summary.csv",
					    "charts/throughput-cpu.svg",
					    "charts/throughput-cpu.csv" };
	struct bench *bench = *state;
	char *before[ARRAY_SIZE(made)];
	run_study(bench);
	for (size_t i = 0; i < ARRAY_SIZE(made); i++) {
		AUTO_FREE char *path = path_join(bench->out, made[i]);
		before[i] = bench_read_out(bench, made[i]);
		assert_return_code(unlink(path), errno);
	}
	AUTO_FREE char *rows = bench_read_out(bench, "runs.csv");
	PROGRAM_RUN(bench, "report", bench->out);
	ASSERT_EXIT(bench, 0);
	ASSERT_HOLDS(bench->output, "report.html");
	for (size_t i = 0; i < ARRAY_SIZE(made); i++) {
		AUTO_FREE char *after = bench_read_out(bench, made[i]);
		if (strcmp(before[i], after) != 0)
			fail_msg("%s differs", made[i]);
		free(before[i]);
	}
	AUTO_FREE char *rows_after = bench_read_out(bench, "runs.csv");
	assert_string_equal(rows, rows_after);
}

/* A study that was killed leaves what it has: that must be enough for a report. */
static void report_of_a_part(void **state)
{
	struct bench *bench = *state;
	AUTO_FREE char *study = path_join(bench->out, "study.json");
	run_study(bench);
	assert_return_code(unlink(study), errno);
	PROGRAM_RUN(bench, "report", bench->out);
	assert_true(bench->status == 0 || bench->status == 1);
	AUTO_FREE char *rows = bench_read_out(bench, "runs.csv");
	bench_add_file(bench, "bad/runs.csv", "%snot,a,row\n", rows);
	PROGRAM_RUN(bench, "report", "bad");
	ASSERT_EXIT(bench, 2);
	ASSERT_HOLDS(bench->error, "bad/runs.csv: line 8");
}

/* What a kill kept from being run is said, wherever the rest is shown. */
static void missing_runs_are_told(void **state)
{
	static const char says[] = "5 of 6 planned runs have no row";
	struct bench *bench = *state;
	PROGRAM_STUDY(bench, "-t", "tcp", "-t", "null:copy=yes", "--dataset",
		      "small-files:files=20,size=1KiB", "--rounds", "3");
	ASSERT_EXIT(bench, 0);
	ASSERT_LACKS(bench->output, "planned");
	/* As a kill after the first run leaves it. */
	AUTO_FREE char *runs = path_join(bench->out, "runs.csv");
	AUTO_FREE char *rows = bench_read_out(bench, "runs.csv");
	char *end = strchr(strchr(rows, '\n') + 1, '\n') + 1;
	assert_return_code(truncate(runs, end - rows), errno);
	PROGRAM_RUN(bench, "report", bench->out);
	ASSERT_EXIT(bench, 0);
	ASSERT_HOLDS(bench->output, says);
	AUTO_FREE char *page = bench_read_out(bench, "report.html");
	ASSERT_HOLDS(page, says);
	AUTO_FREE char *summary = bench_read_out(bench, "summary.csv");
	ASSERT_HOLDS(summary, ",missing,far,against,");
	ASSERT_HOLDS(summary, ",2,0,,,,,,,\n");
}

/* The table on the terminal has every case, and the report's place. */
static void table_is_printed(void **state)
{
	struct bench *bench = *state;
	run_study(bench);
	ASSERT_HOLDS(bench->output, "tcp");
	ASSERT_HOLDS(bench->output, "scp");
	ASSERT_HOLDS(bench->output, "2/2");
	ASSERT_HOLDS(bench->output, "null:fail=send: 2 of 2 runs: failed");
	ASSERT_HOLDS(bench->output, "/out/report.html");
	/* No terminal: plain lines. */
	ASSERT_LACKS(bench->error, "\r");
	ASSERT_LACKS(bench->error, "\033");
}

static void assert_utf8(const struct bench *bench, const char *name)
{
	AUTO_FREE char *text = bench_read_out(bench, name);
	for (const char *s = text; *s;) {
		size_t length = *s == '\n' || *s == '\t' ? 1 : text_utf8_length(s);
		if (length == 0)
			fail_msg("%s: byte 0x%02x after '%.*s'", name, (unsigned char)*s,
				 (int)(s - text > 40 ? 40 : s - text),
				 s - (s - text > 40 ? 40 : s - text));
		s += length;
	}
}

/* A byte that is not UTF-8, or drives terminals, is \xNN in every file, and the runs are made. */
static void odd_bytes_are_escaped(void **state)
{
	static const char *const made[] = { "runs.csv",
					    "summary.csv",
					    "study.json",
					    "report.html",
					    "charts/throughput-cpu.csv",
					    "charts/throughput-cpu.gp",
					    "charts/throughput-cpu.svg" };
	struct bench *bench = *state;
	char dataset[256];
	bench_add_file(bench, "d\xff\nx/f\xfe", "some bytes");
	snprintf(dataset, sizeof(dataset), "directory:path=%s/d\xff\nx", bench->files);
	PROGRAM_STUDY(bench, "-t", "tcp:label=a\xff,instances=1", "-t", "null:fail=send",
		      "--dataset", dataset, "--rounds", "1", "--set", "study.title=t\xfe \x1b[1m",
		      "--set", "study.baseline=tcp:instances=1");
	ASSERT_EXIT(bench, 1);
	for (size_t i = 0; i < ARRAY_SIZE(made); i++)
		assert_utf8(bench, made[i]);
	const struct result *row = bench_row(bench, "tcp:instances=1", 1);
	assert_string_equal(row->label, "a\\xff");
	ASSERT_HOLDS(row->dataset, "/d\\xff\\x0ax");
	ASSERT_HOLDS(bench->output, "a\\xff");
	ASSERT_LACKS(bench->output, "\xff");
	ASSERT_LACKS(bench->error, "\xff");
	AUTO_FREE char *page = bench_read_out(bench, "report.html");
	ASSERT_HOLDS(page, "<h1>t\\xfe \\x1b[1m</h1>");
	AUTO_FREE char *text = bench_read_out(bench, "study.json");
	json_t *study = json_loads(text, 0, NULL);
	assert_non_null(study);
	json_decref(study);
	/* A folder for the data is seen by remote shells: it is refused before anything is made. */
	snprintf(dataset, sizeof(dataset), "dataset.target=%s/d\xff\nx", bench->files);
	PROGRAM_RUN(bench, "run", "-t", "tcp", "--set", dataset, "--out", "never");
	ASSERT_EXIT(bench, 2);
	ASSERT_LACKS(bench->error, "\xff");
	ASSERT_HOLDS(bench->error, "x: ram, or an absolute path of letters");
	assert_false(bench_has(bench, "files/never"));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(columns_are_in_order),    BENCH_TEST(study_record_is_complete),
		BENCH_TEST(report_stands_alone),     BENCH_TEST(pictures_are_drawn),
		BENCH_TEST(report_makes_them_again), BENCH_TEST(report_of_a_part),
		BENCH_TEST(odd_bytes_are_escaped),   BENCH_TEST(table_is_printed),
		BENCH_TEST(missing_runs_are_told),
	};
	cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
