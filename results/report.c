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
	const char *title = study_json_string(report->study, "title");
	const struct chart chart = { .title = *title ? title : "Copy study",
				     .same_host = report->same_host };
	if (chart_throughput_cpu(folder, report->summary, &chart, &report->chart_error) == 0)
		take_svg(report, folder);
	if (!report->svg && report->chart_error.kind == ERROR_UNAVAILABLE)
		log_line(LOG_WARNING, "no chart: %s", report->chart_error.message);
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
	"<h2>How to read this</h2>\n<dl class=\"terms\">\n"
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
	"runs: an interval of the median from the order of the runs alone, narrowed as far as it "
	"covers the median with at least 95 %; the real figure stands with it (6 runs: 96.9 %, 8 "
	"runs: 99.2 %).</dd>\n"
	"<dt>Observed, differs, not told apart</dt><dd>Two cases are compared round by round. Below 4 "
	"rounds in common it is only said what was <em>observed</em>; from 4 on they "
	"<em>differ</em> when the interval of their ratio leaves out 1, else they are <em>not told "
	"apart</em>.</dd>\n"
	"<dt>Far from the median</dt><dd>From 5 runs: a run that is further from its case&#39;s "
	"median than 5 scaled median absolute deviations (of log rates), and than 10 %. It is never "
	"left out.</dd>\n</dl>\n";

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
	const char *title = study_json_string(report->study, "title");
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

int report_write(const char *folder, const struct results_folder *data, struct error *err)
{
	AUTO_TEXT page = { 0 };
	AUTO_FREE char *path = path_join(folder, "report.html");
	AUTO_FREE char *summary = path_join(folder, "summary.csv");
	struct report report = { .data = data, .summary = &data->summary, .study = data->study };
	report.same_host = json_is_true(json_object_get(report.study, "same_host"));
	if (summary_write(report.summary, summary, err) < 0)
		return error_wrap(err, "report");
	draw(&report, folder);
	build(&report, &page);
	free(report.svg);
	int status = file_replace(path, page.data, page.length, 0666, err);
	/* The page says that it has no picture; only a gnuplot that is not there is no error. */
	if (status == 0 && report.chart_error.kind != ERROR_NONE &&
	    report.chart_error.kind != ERROR_UNAVAILABLE)
		status = error_set(err, report.chart_error.kind, report.chart_error.code,
				   "no chart: %s", report.chart_error.message);
	return status == 0 ? 0 : error_wrap(err, "report");
}
