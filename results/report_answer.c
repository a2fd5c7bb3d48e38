#include <ctype.h>
#include <math.h>
#include <string.h>

#include "results/html.h"
#include "results/noise.h"
#include "results/report_parts.h"
#include "results/verdict.h"
#include "results/yardstick.h"

static void add_spread(const struct summary_case *one, struct text *out)
{
	char low[SUMMARY_RATE_SIZE];
	char high[SUMMARY_RATE_SIZE];
	summary_rate_text(one->goodput_low_bps, low);
	summary_rate_text(one->goodput_high_bps, high);
	/* "9.1 to 10.2 Gbit/s": the unit once where both have the same. */
	char *unit = strrchr(low, ' ');
	if (unit && strcmp(unit, strrchr(high, ' ')) == 0)
		*unit = '\0';
	if (one->counted_size == 1)
		text_add(out, "in one run");
	else if (one->spread == SPREAD_RANGE)
		text_addf(out, "observed %s to %s in %zu runs", low, high, one->counted_size);
	else
		text_addf(out, "%.1f %% interval of the median %s to %s, %zu runs",
			  100 * one->coverage, low, high, one->counted_size);
}

/* Who is fastest, by how much, and how sure that is. */
static void add_verdict(const struct report *report, struct text *out)
{
	const struct summary *summary = report->summary;
	const struct summary_case *reference = summary_reference(summary);
	struct verdict_words words;
	char rate[SUMMARY_RATE_SIZE];
	verdict_words(summary, &words);
	if (words.before.length)
		words.before.data[0] = (char)toupper((unsigned char)words.before.data[0]);
	html_add(out, text_string(&words.before));
	html_element(out, "strong", summary_label(reference));
	if (verdict_claim(summary) == VERDICT_AHEAD)
		text_add(out, " is ahead, but some other is not told apart from it:");
	else
		html_add(out, text_string(&words.after));
	text_addf(out, " <strong>%s</strong> (",
		  summary_rate_text(reference->median.goodput_bps, rate));
	add_spread(reference, out);
	text_add(out, words.list.length ? "); " : ")");
	html_add(out, text_string(&words.list));
	text_add(out, ". ");
	verdict_words_free(&words);
}

static void add_busy(const struct report *report, struct text *out)
{
	const struct case_medians *best = &summary_reference(report->summary)->median;
	if (!isfinite(best->cpu_sink_host_pct))
		return;
	if (report->same_host) {
		text_addf(out,
			  "Meanwhile the machine, which both ends shared, was %.0f&nbsp;%% busy. ",
			  best->cpu_sink_host_pct);
		return;
	}
	text_addf(out, "Meanwhile the sink's host was %.0f&nbsp;%% busy", best->cpu_sink_host_pct);
	if (isfinite(best->cpu_source_host_pct))
		text_addf(out, ", the source's %.0f&nbsp;%%", best->cpu_source_host_pct);
	text_add(out, ". ");
}

static void add_ceiling(const struct report *report, struct text *out)
{
	const struct summary_case *highest = NULL;
	for (size_t i = 0; i < report->summary->count; i++) {
		const struct summary_case *one = &report->summary->cases[i];
		if (one->kind == CASE_CEILING && !summary_compared(one) &&
		    (!highest || one->median.goodput_bps > highest->median.goodput_bps))
			highest = one;
	}
	if (!highest)
		return;
	char rate[SUMMARY_RATE_SIZE];
	text_add(out, "As a ceiling, without making a copy, ");
	html_add(out, summary_label(highest));
	text_addf(out, " carried %s. ", summary_rate_text(highest->median.goodput_bps, rate));
}

static void add_missing(const struct report *report, struct text *out)
{
	size_t without = 0;
	size_t failed = 0;
	for (size_t i = 0; i < report->summary->count; i++) {
		const struct summary_case *one = &report->summary->cases[i];
		without += one->kind == CASE_NO_RATE;
		failed += one->kind != CASE_NO_RATE && one->counted_size < one->runs;
	}
	if (without)
		text_addf(out, "%zu of %zu cases gave no rate", without, report->summary->count);
	if (failed)
		text_addf(out, "%s%zu %s some runs that failed", without ? ", " : "", failed,
			  failed == 1 ? "case had" : "cases had");
	if (without || failed)
		text_add(out, ": <a href=\"#failures\">what went wrong</a>.");
}

/* An element for each line. */
static void add_lines(const struct text *lines, const char *tag, struct text *out)
{
	for (const char *line = text_string(lines); *line;) {
		size_t length = strcspn(line, "\n");
		html_elementf(out, tag, "%c%.*s.", toupper((unsigned char)*line), (int)length - 1,
			      line + 1);
		text_add(out, "\n");
		line += length + (line[length] == '\n');
	}
}

static void add_yardsticks(const struct report *report, struct text *out)
{
	AUTO_TEXT lines = { 0 };
	yardstick_lines(report->summary, &lines);
	add_lines(&lines, "p class=\"note\"", out);
}

static void add_warnings(const struct report *report, struct text *out)
{
	AUTO_TEXT lines = { 0 };
	verdict_baseline_lost(report->summary, &lines);
	verdict_disagreements(report->summary, &lines);
	verdict_far_runs(report->summary, &lines);
	noise_lines(report->summary, &lines);
	verdict_moved(report->summary, &lines);
	if (lines.length == 0)
		return;
	text_add(out, "<ul class=\"warn\">\n");
	add_lines(&lines, "li", out);
	text_add(out, "</ul>\n");
}

void report_answer(const struct report *report, struct text *out)
{
	text_add(out, "<div class=\"answer\"><p>");
	if (report->summary->ranked_size == 0) {
		text_add(out, "No run made a verified copy, so there is nothing to rank. ");
	} else {
		add_verdict(report, out);
		add_busy(report, out);
	}
	add_ceiling(report, out);
	add_missing(report, out);
	text_add(out, "</p></div>\n");
	add_yardsticks(report, out);
	AUTO_TEXT missing = { 0 };
	summary_missing_text(report->summary, &missing);
	if (missing.length)
		text_addf(out, "<p class=\"warn\">%s.</p>\n", text_string(&missing));
	add_warnings(report, out);
}

void report_chart_words(const struct report *report, struct text *out)
{
	text_add(out, "Bar chart of receive throughput, with the average CPU of the hosts:");
	for (size_t i = 0; i < report->summary->count; i++) {
		const struct summary_case *one = &report->summary->cases[i];
		char rate[SUMMARY_RATE_SIZE];
		html_addf(out, "%s %s", i ? ";" : "", summary_label(one));
		if (one->kind == CASE_NO_RATE) {
			text_add(out, " ");
			summary_failed_text(one, out);
			continue;
		}
		text_addf(out, " %s%s", summary_rate_text(one->median.goodput_bps, rate),
			  one->kind == CASE_CEILING ? " (ceiling)"
			  : one->moved_less         ? " (less moved)"
						    : "");
		if (isfinite(one->median.cpu_sink_host_pct))
			text_addf(out, ", sink host CPU %.0f %%", one->median.cpu_sink_host_pct);
	}
	text_add(out, ".");
}
