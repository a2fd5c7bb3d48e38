#include <ctype.h>
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
#include "results/csv.h"
#include "results/report.h"

static char folder[64];
static char *path_before;

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/linefill-test-report-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return folder_remove(folder, NULL);
}

/* Most of these tests read words: a PATH without gnuplot saves the drawing. */
static void hide_gnuplot(void)
{
	path_before = strdup(getenv("PATH"));
	setenv("PATH", folder, 1);
}

static void show_gnuplot(void)
{
	setenv("PATH", path_before, 1);
	free(path_before);
}

struct run {
	const char *name, *label, *cipher;
	enum result_status status;
	enum result_verified verified;
	double goodput_bps;
	const char *error;
};

static struct result make_row(const struct run *run, int64_t round, double factor)
{
	struct result row;
	result_init(&row);
	text_copy(row.case_name, sizeof(row.case_name), run->name);
	text_copy(row.label, sizeof(row.label), run->label ? run->label : "");
	text_copy(row.transport, sizeof(row.transport), run->name);
	text_copy(row.cipher, sizeof(row.cipher), run->cipher ? run->cipher : "");
	text_copy(row.error, sizeof(row.error), run->error ? run->error : "");
	row.round = round;
	row.instances = row.streams = 1;
	row.status = run->status;
	row.verified = run->verified;
	if (run->status == STATUS_OK) {
		row.goodput_bps = run->goodput_bps * factor;
		row.payload_bytes = INT64_C(1) << 30;
		row.total_s = 8 * 0x1p30 / row.goodput_bps;
		row.cpu_source_s = 0.25;
		row.cpu_sink_s = 0.5;
		row.cpu_source_host_pct = 30;
		row.cpu_sink_host_pct = 60;
	}
	return row;
}

static void write_runs(const struct run *runs, size_t count, int64_t rounds)
{
	AUTO_FREE char *path = path_join(folder, "runs.csv");
	struct csv_writer writer;
	assert_int_equal(csv_open(&writer, path, NULL), 0);
	for (int64_t round = 1; round <= rounds; round++)
		for (size_t i = 0; i < count; i++) {
			struct result row = make_row(&runs[i], round, 1 + 0.01 * (double)round);
			assert_int_equal(csv_row(&writer, &row, NULL), 0);
		}
	csv_close(&writer);
}

static void write_study(const char *json)
{
	AUTO_FREE char *path = path_join(folder, "study.json");
	assert_int_equal(file_write_all(path, json, strlen(json), 0600, NULL), 0);
}

static int try_report(bool all_pairs, struct error *err)
{
	struct results_folder data;
	if (results_folder_read(&data, folder, all_pairs, err) < 0)
		return -1;
	int written = report_write(folder, &data, err);
	results_folder_free(&data);
	return written;
}

static char *make_report(void)
{
	AUTO_FREE char *path = path_join(folder, "report.html");
	struct error err = { 0 };
	char *page = NULL;
	if (try_report(false, &err) < 0)
		fail_msg("%s", err.message);
	if (file_read_all(path, 8 << 20, &page, NULL, &err) < 0)
		fail_msg("%s", err.message);
	return page;
}

static char *make_words(void)
{
	hide_gnuplot();
	char *page = make_report();
	show_gnuplot();
	return page;
}

static void assert_has(const char *page, const char *needle)
{
	if (!strstr(page, needle))
		fail_msg("'%s' is missing in:\n%.3000s", needle, strstr(page, "<body>"));
}

static void assert_lacks(const char *page, const char *needle)
{
	if (strstr(page, needle))
		fail_msg("'%s' is in the page", needle);
}

static const struct run three[] = {
	{ "tcp", "TCP", "none", STATUS_OK, VERIFIED_YES, 8e9, NULL },
	{ "scp", "scp", "aes128-ctr", STATUS_OK, VERIFIED_YES, 2e9, NULL },
	{ "mem", "memory", "none", STATUS_OK, VERIFIED_COUNT, 2e10, NULL },
};

static const char study[] =
	"{\"schema\":1,\"study_id\":\"s-1\",\"title\":\"A <title> & 'more'\","
	"\"created_utc\":\"2026-01-31T12:00:00Z\",\"linefill_version\":\"0.1.0\","
	"\"command_line\":[\"linefill\",\"run\",\"--set\",\"study.title=it's <b>\"],"
	"\"seed\":4711,\"rounds\":3,\"configuration\":{\"study.cache\":\"warm\",\"x.n\":7},"
	"\"hosts\":{\"source\":{\"hostname\":\"alpha\",\"kernel\":\"Linux 6.1\",\"cpus\":16,"
	"\"memory_bytes\":68719476736},\"sink\":{\"hostname\":\"beta\",\"kernel\":\"Linux 6.2\"}},"
	"\"versions\":{\"source\":{\"scp\":\"OpenSSH_9.2p1\"},\"sink\":{\"sshd\":\"OpenSSH_9.3\"}},"
	"\"dataset\":{\"recipe\":\"single\",\"files\":1,\"bytes\":1073741824,"
	"\"digest\":\"00ff\"},"
	"\"cases\":[{\"name\":\"scp\",\"label\":\"scp\",\"transport\":\"scp\",\"instances\":4,"
	"\"command\":[\"scp\",\"-F\",\"/x y\",\"a\"],\"plan\":\"one scp a share\"}],"
	"\"same_host\":false,\"notes\":[\"a <note>\"],\"future\":{\"x\":[1]}}";

static void test_words_and_facts(void **state)
{
	(void)state;
	static const char *const wanted[] = {
		"Observed in 3 rounds, too few to name a difference: <strong>TCP</strong> "
		"<strong>8.16 Gbit/s</strong>",
		"(observed 8.08 to 8.24 Gbit/s in 3 runs); 4.00x scp.",
		"memory carried 20.4 Gbit/s",
		"<h2>Ceilings</h2>",
		"<h2>What encryption costs</h2>",
		"another tool</td><td class=\"n\">0.25",
		"A &lt;title&gt; &amp; &#39;more&#39;",
		"alpha to beta",
		"64.0 GiB (68719476736 bytes)",
		"Version of sshd",
		"OpenSSH_9.3",
		"4711",
		"linefill run --set &#39;study.title=it&#39;\\&#39;&#39;s &lt;b&gt;&#39;",
		"scp -F &#39;/x y&#39; a",
		"4 instances a side",
		"one scp a share",
		"study.cache",
		"a &lt;note&gt;",
		"gnuplot-nox",
		"href=\"runs.csv\"",
	};
	write_runs(three, 3, 3);
	write_study(study);
	AUTO_FREE char *page = make_words();
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		assert_has(page, wanted[i]);
	assert_lacks(page, "X against Y");
	/* Nobody is named. */
	assert_lacks(page, "is fastest");
	assert_lacks(page, "is ahead");
	assert_lacks(page, "What went wrong");
	assert_lacks(page, "<title>A <title>");
	AUTO_FREE char *summary = path_join(folder, "summary.csv");
	assert_int_equal(access(summary, R_OK), 0);
}

/* Everything in one file: nothing is fetched, nothing runs. */
static void test_self_contained_with_chart(void **state)
{
	(void)state;
	static const char *const absent[] = { "<script", "<link",         "<img",
					      "@import", "url(http",      "src=\"http",
					      "<?xml",   "<!DOCTYPE svg", "Gnuplot</title>" };
	write_runs(three, 3, 3);
	write_study(study);
	AUTO_FREE char *page = make_report();
	assert_has(page, "<svg");
	assert_has(page, "role=\"img\" aria-label=\"Bar chart of receive throughput");
	assert_has(page, "TCP 8.16 Gbit/s, sink host CPU 60 %");
	assert_has(page, "Receive throughput (Mbit/s)");
	for (size_t i = 0; i < ARRAY_SIZE(absent); i++)
		assert_lacks(page, absent[i]);
	for (const char *href = page; (href = strstr(href, "href=\"")); href++)
		assert_int_not_equal(strncmp(href, "href=\"http", 10), 0);
}

static void test_failures_are_told(void **state)
{
	(void)state;
	static const struct run runs[] = {
		{ "a", NULL, NULL, STATUS_FAILED, VERIFIED_NO, 0, "exit <1>\nsecond" },
		{ "b", NULL, NULL, STATUS_UNSUPPORTED, VERIFIED_NO, 0, "no links" },
	};
	write_runs(runs, 2, 1);
	write_study("{}");
	AUTO_FREE char *page = make_words();
	assert_has(page, "No run made a verified copy");
	assert_has(page, "2 of 2 cases gave no rate");
	assert_has(page, "exit &lt;1&gt;\\x0asecond");
	assert_has(page, "unsupported");
	assert_lacks(page, "<h2>Ranking</h2>");
}

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
	assert_has(page, "is ahead, but not told apart from every other:");
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

static void test_without_study_json(void **state)
{
	(void)state;
	write_runs(three, 3, 1);
	AUTO_FREE char *page = make_words();
	assert_has(page, "in one run");
	assert_has(page, "<h1>Copy study</h1>");
	assert_lacks(page, "<h2>The hosts</h2>");
}

/* Shapes that study.json should not have must not hurt. */
static void test_odd_study_json(void **state)
{
	(void)state;
	static const char *const odd[] = {
		"{\"hosts\":[],\"versions\":3,\"cases\":{},\"notes\":\"x\",\"command_line\":7}",
		"{\"hosts\":{\"source\":[]},\"cases\":[1,null,{}],\"notes\":[1],\"title\":5}",
		"{\"configuration\":{\"a\":[],\"b\":null,\"c\":true,\"d\":1.5}}",
		"{\"dataset\":{\"bytes\":-5,\"files\":\"x\"},\"command_line\":[1,\"a\"]}",
	};
	write_runs(three, 3, 1);
	for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
		write_study(odd[i]);
		AUTO_FREE char *page = make_words();
		assert_has(page, "</html>");
	}
}

static void test_errors_name_the_file(void **state)
{
	(void)state;
	struct error err = { 0 };
	assert_int_equal(try_report(false, &err), -1);
	assert_has(err.message, "runs.csv");
	write_runs(three, 1, 1);
	write_study("{\"title\": }");
	assert_int_equal(try_report(false, &err), -1);
	assert_int_equal(err.kind, ERROR_CONFIG);
	assert_has(err.message, "study.json: line 1");
	write_study("[1]");
	assert_int_equal(try_report(false, &err), -1);
	assert_has(err.message, "not a JSON object");
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

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FOLDER(test_words_and_facts),
		IN_FOLDER(test_self_contained_with_chart),
		IN_FOLDER(test_failures_are_told),
		IN_FOLDER(test_eight_rounds_differ),
		IN_FOLDER(test_alike_is_not_told_apart),
		IN_FOLDER(test_many_pairs),
		IN_FOLDER(test_baseline),
		IN_FOLDER(test_fast_rounds_alone_win_nothing),
		IN_FOLDER(test_encryption_is_held_against_twins),
		IN_FOLDER(test_without_study_json),
		IN_FOLDER(test_odd_study_json),
		IN_FOLDER(test_errors_name_the_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
