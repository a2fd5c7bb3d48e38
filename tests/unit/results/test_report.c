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
#include "tests/unit/results/report_page.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FOLDER(test_words_and_facts),   IN_FOLDER(test_self_contained_with_chart),
		IN_FOLDER(test_failures_are_told), IN_FOLDER(test_without_study_json),
		IN_FOLDER(test_odd_study_json),    IN_FOLDER(test_errors_name_the_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
