#include <math.h>
#include <stdio.h>

#include "harness/base/cleanup.h"
#include "results/html.h"
#include "results/report_parts.h"

#define NUMBER "td class=\"n\""

static void number_cell(struct text *out, double number, int decimals)
{
	char text[SUMMARY_NUMBER_SIZE];
	html_element(out, NUMBER,
		     isfinite(number) ? summary_number_text(number, decimals, text)
				      : "\xe2\x80\x93");
}

static void rate_cells(const struct summary_case *one, struct text *out)
{
	char low[SUMMARY_NUMBER_SIZE];
	char high[SUMMARY_NUMBER_SIZE];
	html_element(out, NUMBER, summary_mbit_text(one->median.goodput_bps, low));
	if (one->counted_size < 2)
		html_element(out, NUMBER, "one run");
	else
		html_elementf(out, NUMBER, "%s to %s", summary_mbit_text(one->goodput_low_bps, low),
			      summary_mbit_text(one->goodput_high_bps, high));
}

static void cost_cells(const struct report *report, const struct summary_case *one,
		       struct text *out)
{
	const struct case_medians *median = &one->median;
	number_cell(out, median->total_s, 3);
	if (!report->same_host)
		number_cell(out, median->cpu_source_host_pct, 0);
	number_cell(out, median->cpu_sink_host_pct, 0);
	number_cell(out, median->cpu_source_s_per_gib, 2);
	number_cell(out, median->cpu_sink_s_per_gib, 2);
}

static void spread_head(const struct report *report, struct text *out)
{
	bool range = false;
	for (size_t i = 0; i < report->summary->count; i++)
		range = range || report->summary->cases[i].spread == SPREAD_RANGE;
	AUTO_TEXT coverage = { 0 };
	summary_coverage_text(report->summary, &coverage);
	text_add(out, range ? ">Observed range" : ">");
	if (coverage.length)
		text_addf(out, "%s%s interval of the median", range ? ", or " : "",
			  text_string(&coverage));
}

static void table_head(const struct report *report, const char *first, struct text *out)
{
	const char *heads[12];
	size_t used = 0;
	AUTO_TEXT spread = { 0 };
	spread_head(report, &spread);
	if (first)
		heads[used++] = first;
	heads[used++] = "Case";
	heads[used++] = ">Receive Mbit/s, median";
	heads[used++] = text_string(&spread);
	heads[used++] = ">Total s";
	if (!report->same_host)
		heads[used++] = ">Source host CPU %";
	heads[used++] = report->same_host ? ">Host CPU %" : ">Sink host CPU %";
	heads[used++] = ">Source CPU s/GiB";
	heads[used++] = ">Sink CPU s/GiB";
	heads[used++] = "Verified";
	heads[used++] = ">Runs ok";
	heads[used] = NULL;
	html_table_begin(out, heads);
}

static void case_row(const struct report *report, const struct summary_case *one, struct text *out)
{
	text_add(out, "<tr>");
	if (one->rank)
		html_elementf(out, NUMBER, "%zu", one->rank);
	html_element(out, "th scope=\"row\"", summary_label(one));
	rate_cells(one, out);
	cost_cells(report, one, out);
	html_elementf(out, "td", "%s%s", summary_compared(one) ? "yes" : "count",
		      one->moved_less ? ", less moved" : "");
	html_elementf(out, one->counted_size < one->runs ? "td class=\"n bad\"" : NUMBER,
		      "%zu of %zu", one->counted_size, one->runs);
	text_add(out, "</tr>\n");
}

void report_ranking(const struct report *report, struct text *out)
{
	if (report->summary->ranked_size == 0)
		return;
	text_add(out, "<h2>Ranking</h2>\n");
	table_head(report, ">#", out);
	for (size_t i = 0; i < report->summary->ranked_size; i++)
		case_row(report, summary_ranked(report->summary, i + 1), out);
	html_table_end(out);
	if (report->same_host)
		text_add(out, "<p class=\"note\">Both ends ran on one machine and shared its CPUs: "
			      "a host figure counts both, and the split of CPU seconds between "
			      "source and sink is approximate.</p>\n");
}

/* A table of those of one kind, under its heading. */
static void unranked(const struct report *report, enum case_kind kind, const char *heading,
		     struct text *out)
{
	bool any = false;
	for (size_t i = 0; i < report->summary->count; i++) {
		if (report->summary->cases[i].kind != kind)
			continue;
		if (!any) {
			text_add(out, heading);
			table_head(report, NULL, out);
		}
		any = true;
		case_row(report, &report->summary->cases[i], out);
	}
	if (any)
		html_table_end(out);
}

void report_ceilings(const struct report *report, struct text *out)
{
	unranked(
		report, CASE_PART,
		"<h2>Less moved</h2>\n<p>These copies are right, but holes or hard links of their "
		"source did not travel as bytes, while the ranked cases sent all. Their rates count "
		"bytes that never were on the line, and are not ranked.</p>\n",
		out);
	unranked(
		report, CASE_CEILING,
		"<h2>Ceilings</h2>\n<p>These runs moved bytes from memory to "
		"memory and counted them at the sink, without a copy that "
		"could be compared, or sent nothing over a line (local, a copy on one machine; null, "
		"linefill's test of itself). They bound what the others can reach and are not "
		"ranked.</p>\n",
		out);
}

static void failure_rows(const struct summary_case *one, struct text *out)
{
	for (size_t status = 0; status < STATUS_COUNT; status++) {
		const struct result *row = one->first_of[status];
		if (!row)
			continue;
		text_add(out, "<tr>");
		html_element(out, "th scope=\"row\"", summary_label(one));
		html_element(out, "td class=\"bad\"",
			     status == STATUS_OK ? "ok, without a rate"
						 : result_status_names[status]);
		html_elementf(out, NUMBER, "%zu of %zu",
			      summary_failed_runs(one, (enum result_status)status), one->runs);
		html_element(out, "td class=\"error\"", row->error);
		text_add(out, "</tr>\n");
	}
}

void report_failures(const struct report *report, struct text *out)
{
	static const char *const heads[] = { "Case", "Status", ">Runs", "Error (of the first)",
					     NULL };
	AUTO_TEXT rows = { 0 };
	for (size_t i = 0; i < report->summary->count; i++)
		failure_rows(&report->summary->cases[i], &rows);
	if (rows.length == 0)
		return;
	text_add(out, "<h2 id=\"failures\">What went wrong</h2>\n");
	html_table_begin(out, heads);
	text_add(out, text_string(&rows));
	html_table_end(out);
}
