/* What a report says of cases against each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "results/csv.h"
#include "tests/unit/results/report_page.h"

static void test_eight_rounds_differ(void **state)
{
	(void)state;
	write_runs(three, 2, 8);
	write_study("{\"same_host\":true,\"hosts\":{\"source\":{\"cpus\":2}}}");
	AUTO_FREE char *page = make_words();
	assert_has(page, "<strong>TCP</strong> is fastest:");
	assert_has(page, "99.2 % interval of the median");
	assert_has(page, "4.00x scp (4.00 to 4.00)");
	assert_has(page, "<h2>X against Y by round</h2>");
	assert_has(page, "<td>differs</td>");
	assert_has(page, "Both ends shared this machine&#39;s 2 CPUs; the split of CPU time");
	assert_has(page, "corrected for 1 comparison (Bonferroni)");
}

static void test_alike_is_not_told_apart(void **state)
{
	(void)state;
	AUTO_FREE char *path = path_join(folder, "runs.csv");
	struct csv_writer writer;
	assert_int_equal(csv_open(&writer, path, NULL), 0);
	for (int64_t round = 1; round <= 8; round++)
		for (size_t i = 0; i < 2; i++) {
			struct run run = three[i];
			run.goodput_bps = 8e9;
			double sign = (round + (int64_t)i) % 2 ? 1 : -1;
			struct result row = make_row(&run, round, 1 + sign * 0.01 * (double)round);
			assert_int_equal(csv_row(&writer, &row, NULL), 0);
		}
	csv_close(&writer);
	write_study("{}");
	AUTO_FREE char *page = make_words();
	assert_has(page, "is ahead, but some other is not told apart from it:");
	assert_has(page, "1.01x TCP (not told apart: 0.92 to 1.11)");
	assert_has(page, "<td>not told apart</td>");
	/* The pair's interval stands once in its table. */
	const char *table = strstr(page, "X against Y");
	assert_non_null(table);
	const char *interval = strstr(table, "0.92 to 1.11");
	assert_non_null(interval);
	assert_null(strstr(interval + 1, "0.92 to 1.11"));
	assert_lacks(page, "is fastest");
	assert_lacks(page, "<td>differs</td>");
}

static void write_six(int64_t rounds)
{
	struct run runs[6];
	char names[6][8];
	for (size_t i = 0; i < 6; i++) {
		runs[i] = three[0];
		snprintf(names[i], sizeof(names[i]), "case%zu", i);
		runs[i].name = runs[i].label = names[i];
		runs[i].goodput_bps = 1e9 * (double)(i + 1);
	}
	write_runs(runs, 6, rounds);
}

static size_t count_of(const char *page, const char *needle)
{
	size_t count = 0;
	for (const char *at = page; (at = strstr(at, needle)); at++)
		count++;
	return count;
}

/* Six cases and few rounds: what is plain is named. */
static void test_many_pairs(void **state)
{
	(void)state;
	write_six(4);
	write_study("{}");
	AUTO_FREE char *page = make_words();
	assert_has(page, "<strong>case5</strong> is fastest:");
	assert_has(page, "corrected for 15 comparisons (Bonferroni; all pairs");
	assert_int_equal(count_of(page, "<td>differs</td>"), 5);
	hide_gnuplot();
	struct error err = { 0 };
	assert_int_equal(try_report(true, &err), 0);
	show_gnuplot();
	AUTO_FREE char *path = path_join(folder, "report.html");
	AUTO_FREE char *all = NULL;
	assert_int_equal(file_read_all(path, 8 << 20, &all, NULL, NULL), 0);
	assert_int_equal(count_of(all, "<td>differs</td>"), 15);
}

static void test_baseline(void **state)
{
	(void)state;
	write_six(5);
	write_study("{\"baseline\":\"case2\"}");
	AUTO_FREE char *page = make_words();
	assert_has(page, "Against <strong>case2</strong> at <strong>3.09 Gbit/s</strong>");
	assert_has(page, "case5 2.00x (2.00 to 2.00), case4 1.67x");
	assert_has(page, "corrected for 5 comparisons (Bonferroni)");
	assert_lacks(page, "is fastest");
	write_study("{\"baseline\":\"case9\"}");
	AUTO_FREE char *other = make_words();
	assert_has(other, "The baseline case9 has no rate: the fastest is taken instead.");
	assert_has(other, "<strong>case5</strong> is fastest:");
}

/* Ok in the 8 fast rounds of 16 only, beside one that is faster in each of these. */
static void test_fast_rounds_alone_win_nothing(void **state)
{
	(void)state;
	AUTO_FREE char *path = path_join(folder, "runs.csv");
	struct csv_writer writer;
	assert_int_equal(csv_open(&writer, path, NULL), 0);
	for (int64_t round = 1; round <= 16; round++)
		for (size_t i = 0; i < 2; i++) {
			bool fast = round % 2;
			struct run run = three[i];
			run.goodput_bps = (fast ? 8e9 : 4e9) * (i == 0 ? 1.1 : 1);
			run.status = fast || i == 0 ? STATUS_OK : STATUS_FAILED;
			run.error = run.status == STATUS_OK ? "" : "cut";
			struct result row = make_row(&run, round, 1 + 0.001 * (double)round);
			assert_int_equal(csv_row(&writer, &row, NULL), 0);
		}
	csv_close(&writer);
	write_study("{}");
	AUTO_FREE char *page = make_words();
	assert_has(page, "<strong>TCP</strong> is fastest:");
	assert_has(page, "1.10x scp (1.10 to 1.10; 8 of 16 rounds)");
	assert_has(page, "By its median scp would be ahead");
	assert_has(page, "they share 8 of 16 rounds.");
	assert_has(page, "8 of 16</td>");
}

/* Each cipher is held against the tool's own plain case, then its twin, then any other tool. */
static void test_encryption_is_held_against_twins(void **state)
{
	(void)state;
	static const struct run runs[] = {
		{ "tcp", NULL, "none", STATUS_OK, VERIFIED_YES, 9e9, NULL },
		{ "ssh-none", NULL, "none", STATUS_OK, VERIFIED_YES, 4e9, NULL },
		{ "ssh", NULL, "aes128-ctr", STATUS_OK, VERIFIED_YES, 1e9, NULL },
		{ "ssh-b", NULL, "aes128-ctr", STATUS_OK, VERIFIED_YES, 2e9, NULL },
		{ "scp", NULL, "aes128-ctr", STATUS_OK, VERIFIED_YES, 0.9e9, NULL },
		{ "many", NULL, "none", STATUS_OK, VERIFIED_YES, 3e9, NULL },
	};
	static const char json[] =
		"{\"cases\":[{\"name\":\"ssh-none\",\"option_values\":{\"server\":\"proftpd\","
		"\"cipher\":\"none\"}},"
		"{\"name\":\"ssh\",\"plain_twins\":[\"ssh-none\"],\"option_values\":"
		"{\"server\":\"sshd\",\"cipher\":\"\"}},"
		"{\"name\":\"ssh-b\",\"plain_twins\":[1,\"ssh-none\"],\"option_values\":"
		"{\"server\":\"proftpd\",\"cipher\":\"\"}},"
		"{\"name\":\"scp\",\"plain_twins\":\"tcp\"}]}";
	write_runs(runs, 6, 4);
	write_study(json);
	AUTO_FREE char *page = make_words();
	assert_has(page, "ssh</th><td>aes128-ctr</td><td>ssh-none</td><td>its twin without "
			 "encryption; but server=sshd against proftpd</td><td class=\"n\">0.25");
	assert_has(page, "ssh-b</th><td>aes128-ctr</td><td>ssh-none</td><td>its twin without "
			 "encryption</td><td class=\"n\">0.50");
	assert_has(page, "scp</th><td>aes128-ctr</td><td>tcp</td><td>another tool</td>");
	/* The same tool told to use no cipher is nearer than any twin. */
	AUTO_FREE char *path = path_join(folder, "runs.csv");
	struct csv_writer writer;
	struct run own = runs[1];
	own.name = "ssh";
	own.goodput_bps = 3e9;
	assert_int_equal(csv_open(&writer, path, NULL), 0);
	for (int64_t round = 1; round <= 4; round++) {
		struct result row = make_row(&own, round, 1 + 0.01 * (double)round);
		text_copy(row.case_name, sizeof(row.case_name), "ssh:cipher=none");
		assert_int_equal(csv_row(&writer, &row, NULL), 0);
	}
	csv_close(&writer);
	AUTO_FREE char *other = make_words();
	assert_has(other, "<td>ssh:cipher=none</td><td>the same tool without encryption</td><td "
			  "class=\"n\">0.33");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FOLDER(test_eight_rounds_differ),
		IN_FOLDER(test_alike_is_not_told_apart),
		IN_FOLDER(test_many_pairs),
		IN_FOLDER(test_baseline),
		IN_FOLDER(test_fast_rounds_alone_win_nothing),
		IN_FOLDER(test_encryption_is_held_against_twins),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
