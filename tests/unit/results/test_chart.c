#include <dirent.h>
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
#include "results/chart.h"
#include "results/chart_script.h"

static char folder[64];

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/linefill-test-chart-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return folder_remove(folder, NULL);
}

static void add_row(struct results *results, const char *label, double goodput_bps)
{
	struct result row;
	result_init(&row);
	snprintf(row.case_name, sizeof(row.case_name), "case %zu", results->count);
	text_copy(row.label, sizeof(row.label), label);
	row.round = 1;
	row.status = goodput_bps > 0 ? STATUS_OK : STATUS_UNSUPPORTED;
	row.verified = goodput_bps > 0 ? VERIFIED_YES : VERIFIED_NO;
	if (goodput_bps > 0) {
		row.goodput_bps = goodput_bps;
		row.cpu_sink_host_pct = row.cpu_source_host_pct = 50;
	}
	results_add(results, &row);
}

static char *read_file(const char *name)
{
	AUTO_FREE char *path = path_join(folder, name);
	char *bytes = NULL;
	struct error err = { 0 };
	if (file_read_all(path, 8 << 20, &bytes, NULL, &err) < 0)
		fail_msg("%s", err.message);
	return bytes;
}

static void assert_has(const char *haystack, const char *needle)
{
	if (!strstr(haystack, needle))
		fail_msg("'%s' is missing", needle);
}

static void draw(const struct results *results, const char *title, bool same_host)
{
	AUTO_SUMMARY summary = { 0 };
	struct error err = { 0 };
	struct chart chart = { .title = title, .same_host = same_host };
	summary_make(results, &summary);
	if (chart_throughput_cpu(folder, &summary, &chart, &err) < 0)
		fail_msg("%s", err.message);
}

/* Labels and titles that would do harm if gnuplot took them for more than letters. */
static const char *const nasty[] = {
	"`touch PWNED`",
	"$(touch PWNED)",
	"x\"; system(\"touch PWNED\"); \"",
	"x'; system('touch PWNED'); '",
	"back\\slash \\\" end\\",
	"{/=40 big} a_b^c @home ~x{y}",
	"%s %d %n",
	"line\nbreak\ttab\x1b[31m",
	"\xff\xfe raw",
	"<script>&amp;</script>",
	"",
	"a label that is so long that it cannot be shown as a whole anywhere at all",
};

static void test_nasty_labels_stay_letters(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	for (size_t i = 0; i < ARRAY_SIZE(nasty); i++)
		add_row(&results, nasty[i], 1e9 * (double)(i + 1));
	for (size_t i = 0; i < ARRAY_SIZE(nasty); i++)
		draw(&results, nasty[i], i % 2 == 0);
	AUTO_FREE char *svg = read_file("charts/throughput-cpu.svg");
	assert_has(svg, "`touch PWNED`");
	assert_has(svg, "$(touch PWNED)");
	assert_has(svg, "back\\slash \\' end\\");
	assert_has(svg, "{/=40 big} a_b^c @home ~x{y}");
	assert_has(svg, "%s %d %n");
	assert_has(svg, "&lt;script>&amp;amp;&lt;/script>");
	assert_null(strstr(svg, "<script"));
	AUTO_FREE char *path = path_join(folder, "charts/PWNED");
	assert_int_equal(access(path, F_OK), -1);
}

static void test_files_and_contents(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	add_row(&results, "one", 2.5e9);
	add_row(&results, "two", -1);
	results.rows[1].verified = VERIFIED_NO;
	draw(&results, "It's a title", false);
	AUTO_FREE char *data = read_file("charts/throughput-cpu.csv");
	AUTO_FREE char *script = read_file("charts/throughput-cpu.gp");
	AUTO_FREE char *svg = read_file("charts/throughput-cpu.svg");
	AUTO_FREE char *png = read_file("charts/throughput-cpu.png");
	assert_has(data, "\ncopy,1,\"case 0\",\"one\",\"2500\",,2500,,,2500,50,50\n");
	assert_has(data, "\nnone,2,\"case 1\",\"two\",\"unsupported\",,,,,,,\n");
	assert_has(data, "\nrun,");
	assert_has(script, "It''s a title");
	assert_has(script, "noenhanced");
	assert_has(svg, "It's a title");
	assert_has(svg, ">unsupported<");
	assert_has(svg, "Receive throughput (Mbit/s)");
	assert_has(svg, "CPU of the source host");
	assert_memory_equal(png, "\x89PNG", 4);
}

/* A run that is far from its case's median has a ring, and the key says what that is. */
static void test_far_runs_have_a_ring(void **state)
{
	(void)state;
	for (int far = 0; far < 2; far++) {
		AUTO_RESULTS results = { 0 };
		for (int i = 0; i < 6; i++) {
			add_row(&results, "one", i == 3 && far ? 1e9 : 2e9 + 1e7 * i);
			text_copy(results.rows[i].case_name, sizeof(results.rows[i].case_name),
				  "one");
			results.rows[i].round = i + 1;
		}
		draw(&results, "t", true);
		AUTO_FREE char *data = read_file("charts/throughput-cpu.csv");
		AUTO_FREE char *svg = read_file("charts/throughput-cpu.svg");
		assert_int_equal(strstr(data, ",,\"far\",,1000,") != NULL, far);
		assert_int_equal(strstr(svg, "far from the median") != NULL, far);
	}
}

static void test_one_host_has_one_mark(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	add_row(&results, "one", 2.5e9);
	draw(&results, "t", true);
	AUTO_FREE char *svg = read_file("charts/throughput-cpu.svg");
	assert_null(strstr(svg, "source host"));
	assert_has(svg, "CPU of the host of both ends");
}

static void test_nothing_to_draw_is_no_error(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	draw(&results, "empty", true);
	add_row(&results, "only failures", -1);
	draw(&results, "t", true);
	AUTO_FREE char *svg = read_file("charts/throughput-cpu.svg");
	assert_has(svg, ">unsupported<");
}

/* A file of rows may name a case with nothing at all. */
static void test_nameless_case(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	add_row(&results, "", 1e9);
	results.rows[0].case_name[0] = '\0';
	draw(&results, "", true);
}

static void test_many_cases(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	for (int i = 0; i < 60; i++)
		add_row(&results, "some label of a case", 1e9);
	draw(&results, "t", true);
}

static void test_without_gnuplot(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	AUTO_SUMMARY summary = { 0 };
	struct error err = { 0 };
	struct chart chart = { .title = "t" };
	AUTO_FREE char *path = strdup(getenv("PATH"));
	add_row(&results, "one", 1e9);
	summary_make(&results, &summary);
	setenv("PATH", folder, 1);
	int status = chart_throughput_cpu(folder, &summary, &chart, &err);
	setenv("PATH", path, 1);
	assert_int_equal(status, -1);
	assert_int_equal(err.kind, ERROR_UNAVAILABLE);
	assert_has(err.message, "gnuplot-nox");
	AUTO_FREE char *data = read_file("charts/throughput-cpu.csv");
	AUTO_FREE char *script = read_file("charts/throughput-cpu.gp");
	assert_has(data, "copy,1");
	assert_has(script, "plot");
}

static void test_gnuplot_that_fails(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	AUTO_SUMMARY summary = { 0 };
	struct error err = { 0 };
	struct chart chart = { .title = "t" };
	AUTO_FREE char *path = strdup(getenv("PATH"));
	AUTO_FREE char *fake = path_join(folder, "gnuplot");
	static const char program[] = "#!/bin/sh\necho no such terminal\nexit 3\n";
	assert_int_equal(file_write_all(fake, program, sizeof(program) - 1, 0755, NULL), 0);
	add_row(&results, "one", 1e9);
	summary_make(&results, &summary);
	setenv("PATH", folder, 1);
	int status = chart_throughput_cpu(folder, &summary, &chart, &err);
	setenv("PATH", path, 1);
	assert_int_equal(status, -1);
	assert_int_equal(err.kind, ERROR_TOOL);
	assert_int_equal(err.code, 3);
	assert_has(err.message, "no such terminal");
}

static void test_axis_is_round_and_high_enough(void **state)
{
	(void)state;
	static const double highest[] = { 1e3, 9.9e6, 1e8, 1.2e9, 9.81e9, 4.4e10, 1e12 };
	for (size_t i = 0; i < ARRAY_SIZE(highest); i++) {
		AUTO_RESULTS results = { 0 };
		AUTO_SUMMARY summary = { 0 };
		add_row(&results, "x", highest[i]);
		summary_make(&results, &summary);
		struct chart_layout layout = chart_layout(&summary);
		assert_true(layout.top_mbit >= highest[i] / 1e6);
		assert_true(layout.top_mbit <= 2 * highest[i] / 1e6);
	}
}

static void test_long_labels_turn(void **state)
{
	(void)state;
	AUTO_RESULTS few = { 0 };
	AUTO_RESULTS many = { 0 };
	AUTO_SUMMARY few_summary = { 0 };
	AUTO_SUMMARY many_summary = { 0 };
	for (int i = 0; i < 20; i++) {
		if (i < 4)
			add_row(&few, "rsync over ssh", 1e9);
		add_row(&many, "rsync over ssh", 1e9);
	}
	summary_make(&few, &few_summary);
	summary_make(&many, &many_summary);
	assert_true(chart_layout(&few_summary).wrap > 0);
	add_row(&many, "one_word_that_is_far_too_long", 1e9);
	summary_free(&many_summary);
	summary_make(&many, &many_summary);
	assert_int_equal(chart_layout(&many_summary).wrap, 0);
	assert_true(chart_layout(&many_summary).bottom > chart_layout(&few_summary).bottom);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nasty_labels_stay_letters, make_folder,
						remove_folder),
		cmocka_unit_test_setup_teardown(test_files_and_contents, make_folder,
						remove_folder),
		cmocka_unit_test_setup_teardown(test_far_runs_have_a_ring, make_folder,
						remove_folder),
		cmocka_unit_test_setup_teardown(test_one_host_has_one_mark, make_folder,
						remove_folder),
		cmocka_unit_test_setup_teardown(test_nothing_to_draw_is_no_error, make_folder,
						remove_folder),
		cmocka_unit_test_setup_teardown(test_nameless_case, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_many_cases, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_without_gnuplot, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_gnuplot_that_fails, make_folder,
						remove_folder),
		cmocka_unit_test(test_axis_is_round_and_high_enough),
		cmocka_unit_test(test_long_labels_turn),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
