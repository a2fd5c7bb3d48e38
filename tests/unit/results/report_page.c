#include "tests/unit/results/report_page.h"

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

char folder[64];
static char *path_before;

int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/linefill-test-report-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

int remove_folder(void **state)
{
	(void)state;
	return folder_remove(folder, NULL);
}

void hide_gnuplot(void)
{
	path_before = strdup(getenv("PATH"));
	setenv("PATH", folder, 1);
}

void show_gnuplot(void)
{
	setenv("PATH", path_before, 1);
	free(path_before);
}

struct result make_row(const struct run *run, int64_t round, double factor)
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

void write_runs(const struct run *runs, size_t count, int64_t rounds)
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

void write_study(const char *json)
{
	AUTO_FREE char *path = path_join(folder, "study.json");
	assert_int_equal(file_write_all(path, json, strlen(json), 0600, NULL), 0);
}

int try_report(bool all_pairs, struct error *err)
{
	struct results_folder data;
	if (results_folder_read(&data, folder, all_pairs, err) < 0)
		return -1;
	int written = report_write(folder, &data, err);
	results_folder_free(&data);
	return written;
}

char *make_report(void)
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

char *make_words(void)
{
	hide_gnuplot();
	char *page = make_report();
	show_gnuplot();
	return page;
}

void assert_has(const char *page, const char *needle)
{
	if (!strstr(page, needle))
		fail_msg("'%s' is missing in:\n%.3000s", needle, strstr(page, "<body>"));
}

void assert_lacks(const char *page, const char *needle)
{
	if (strstr(page, needle))
		fail_msg("'%s' is in the page", needle);
}

const struct run three[3] = {
	{ "tcp", "TCP", "none", STATUS_OK, VERIFIED_YES, 8e9, NULL },
	{ "scp", "scp", "aes128-ctr", STATUS_OK, VERIFIED_YES, 2e9, NULL },
	{ "mem", "memory", "none", STATUS_OK, VERIFIED_COUNT, 2e10, NULL },
};
