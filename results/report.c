#include "results/report.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/log.h"
#include "results/chart.h"
#include "results/html.h"
#include "results/report_parts.h"
#include "results/study_json.h"

#define SVG_MAX ((size_t)32 << 20)

static void report_free(struct report *report)
{
	free(report->svg);
	free(report->pairs);
	json_decref(report->study);
	summary_free(&report->summary);
	results_free(&report->results);
}

/* A study without its study.json still has its rows: facts are then left out. */
static int load_study(struct report *report, const char *folder, struct error *err)
{
	if (study_json_read(folder, &report->study, err) < 0)
		return -1;
	if (json_object_size(report->study) == 0)
		log_line(LOG_WARNING,
			 "%s has no study.json: the report has no facts about the hosts", folder);
	report->same_host = json_is_true(json_object_get(report->study, "same_host"));
	return 0;
}

/* The picture as part of a page: without XML prolog, and without gnuplot's own title. */
static void take_svg(struct report *report, const char *folder)
{
	AUTO_FREE char *path = path_join(folder, CHART_FOLDER "/" CHART_THROUGHPUT_CPU ".svg");
	AUTO_FREE char *bytes = NULL;
	if (file_read_all(path, SVG_MAX, &bytes, NULL, &report->chart_error) < 0)
		return;
	char *start = strstr(bytes, "<svg");
	if (!start) {
		error_set(&report->chart_error, ERROR_TOOL, 0, "gnuplot wrote no SVG");
		return;
	}
	static const char title[] = "<title>Gnuplot</title>";
	char *found = strstr(start, title);
	if (found)
		memset(found, ' ', sizeof(title) - 1);
	report->svg = strdup(start);
	if (!report->svg)
		abort();
}

static void draw(struct report *report, const char *folder)
{
	const char *title = report_string(report->study, "title");
	const struct chart chart = { .title = *title ? title : "Copy study",
				     .same_host = report->same_host };
	if (chart_throughput_cpu(folder, &report->summary, &chart, &report->chart_error) == 0)
		take_svg(report, folder);
	if (!report->svg && report->chart_error.kind == ERROR_UNAVAILABLE)
		log_line(LOG_WARNING, "no chart: %s", report->chart_error.message);
}

struct placed_row {
	size_t place, number; /* of its case in the study; of the row in runs.csv */
	struct result row;
};

static int by_place(const void *left, const void *right)
{
	const struct placed_row *a = left;
	const struct placed_row *b = right;
	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static size_t place_of(const json_t *cases, const char *name)
{
	size_t count = json_array_size(cases);
	for (size_t i = 0; i < count; i++)
		if (strcmp(report_string(json_array_get(cases, i), "name"), name) == 0)
			return i;
	return count;
}

/* Cases are shown in the order that the study names them: runs.csv has that of the first round,
 * which was shuffled. */
static void order_rows(struct report *report)
{
	const json_t *cases = json_object_get(report->study, "cases");
	struct results *results = &report->results;
	AUTO_FREE struct placed_row *placed = calloc(results->count + 1, sizeof(*placed));
	if (!placed)
		abort();
	for (size_t i = 0; i < results->count; i++) {
		placed[i] =
			(struct placed_row){ .place = place_of(cases, results->rows[i].case_name),
					     .number = i,
					     .row = results->rows[i] };
	}
	qsort(placed, results->count, sizeof(*placed), by_place);
	for (size_t i = 0; i < results->count; i++)
		results->rows[i] = placed[i].row;
}

static int load(struct report *report, const char *folder, struct error *err)
{
	AUTO_FREE char *runs = path_join(folder, "runs.csv");
	AUTO_FREE char *summary = path_join(folder, "summary.csv");
	if (csv_read_results(runs, &report->results, err) < 0)
		return -1;
	if (load_study(report, folder, err) < 0)
		return -1;
	order_rows(report);
	summary_make(&report->results, &report->summary);
	summary_expect(&report->summary, &report->results, report->study);
	report->pairs = summary_compare_all(&report->summary);
	if (summary_write(&report->summary, summary, err) < 0)
		return -1;
	draw(report, folder);
	return 0;
}

static void add_chart(const struct report *report, struct text *out)
{
	text_add(out, "<h2>Throughput and CPU</h2>\n");
	if (!report->svg) {
		text_add(out, "<p class=\"warn\">There is no chart: ");
		html_add(out, report->chart_error.message);
		text_add(out, ". Its data and script are in the folder <code>charts</code>.</p>\n");
		return;
	}
	text_add(out, "<figure><div role=\"img\" aria-label=\"");
	report_chart_words(report, out);
	text_add(out, "\">\n");
	text_add(out, report->svg);
	text_add(out, "</div>\n<figcaption>Bars: median receive throughput; dots: single runs; the "
		      "marks beside each bar: average share of all CPUs of the host that was busy "
		      "(right axis). The ranking below has the same numbers.</figcaption></figure>"
		      "\n");
}

static void add_notes(const struct report *report, struct text *out)
{
	json_t *notes = json_object_get(report->study, "notes");
	if (json_array_size(notes) == 0)
		return;
	text_add(out, "<h2>Notes</h2>\n<ul>\n");
	size_t i = 0;
	json_t *note = NULL;
	json_array_foreach(notes, i, note)
	{
		if (json_is_string(note))
			html_element(out, "li", json_string_value(note));
	}
	text_add(out, "</ul>\n");
}

static const char how_to_read[] =
	"<h2>How to read this</h2>\n<dl>\n"
	"<dt>Receive throughput (goodput)</dt><dd>Payload bits that arrived at the sink, divided by "
	"total_s. Payload is the apparent size of the files; headers, encryption and "
	"retransmissions "
	"do not count. 1 Mbit/s is 1,000,000 bits a second.</dd>\n"
	"<dt>Total s (total_s)</dt><dd>From the start of the tool, or the connect of a built-in "
	"transport, to the later of the driving end&#39;s exit and the sink&#39;s completion, flush "
	"included where the study asks for it. Connection set-up and authentication are part of "
	"it.</dd>\n"
	"<dt>Host CPU %</dt><dd>Busy share of all CPUs of that host over total_s, the copy and "
	"everything else together. 100 % means that every CPU was busy all the time.</dd>\n"
	"<dt>CPU s/GiB</dt><dd>CPU seconds of the copy&#39;s own processes at that end for each GiB "
	"(2<sup>30</sup> bytes) of payload.</dd>\n"
	"<dt>Verified</dt><dd><em>yes</em>: after the run, outside the timed part, the copy was "
	"compared with the original, contents included. <em>count</em>: memory to memory, the bytes "
	"were counted at the sink. Only verified copies are ranked.</dd>\n"
	"<dt>Observed range, interval</dt><dd>Below 6 runs: the least and the greatest rate. From 6 "
	"runs: an interval that covers the median with at least 95 %, from the order of the runs "
	"alone. Below 6 rounds the words say <em>observed</em>, and no difference is "
	"claimed.</dd>\n"
	"<dt>Differs</dt><dd>From 6 rounds: the signed-rank test, paired by round and corrected for "
	"the number of comparisons, gives p below 0.05. Anything else is <em>not told "
	"apart</em>.</dd>\n</dl>\n";

static const char files_beside[] =
	"<h2>Files beside this page</h2>\n<ul>\n"
	"<li><a href=\"runs.csv\">runs.csv</a>: every run, a row each</li>\n"
	"<li><a href=\"summary.csv\">summary.csv</a>: every case</li>\n"
	"<li><a href=\"study.json\">study.json</a>: hosts, versions, seeds, configuration</li>\n"
	"<li><a href=\"charts/throughput-cpu.csv\">charts/throughput-cpu.csv</a> and "
	"<a href=\"charts/throughput-cpu.gp\">.gp</a>: data and script of the chart; "
	"<a href=\"charts/throughput-cpu.svg\">.svg</a>, "
	"<a href=\"charts/throughput-cpu.png\">.png</a></li>\n</ul>\n";

static void build(const struct report *report, struct text *out)
{
	const char *title = report_string(report->study, "title");
	html_page_begin(out, *title ? title : "Copy study");
	report_heading(report, out);
	report_answer(report, out);
	add_chart(report, out);
	report_ranking(report, out);
	report_ceilings(report, out);
	report_comparisons(report, out);
	report_encryption(report, out);
	report_failures(report, out);
	add_notes(report, out);
	text_add(out, how_to_read);
	report_hosts(report, out);
	report_dataset(report, out);
	report_commands(report, out);
	report_configuration(report, out);
	text_add(out, files_beside);
	html_page_end(out);
}

int report_write(const char *folder, struct error *err)
{
	struct report report = { 0 };
	AUTO_TEXT page = { 0 };
	AUTO_FREE char *path = path_join(folder, "report.html");
	int status = load(&report, folder, err);
	if (status == 0) {
		build(&report, &page);
		status = file_replace(path, page.data, page.length, 0666, err);
	}
	/* The page says that it has no picture; only a gnuplot that is not there is no error. */
	if (status == 0 && report.chart_error.kind != ERROR_NONE &&
	    report.chart_error.kind != ERROR_UNAVAILABLE)
		status = error_set(err, report.chart_error.kind, report.chart_error.code,
				   "no chart: %s", report.chart_error.message);
	report_free(&report);
	return status == 0 ? 0 : error_wrap(err, "report");
}
