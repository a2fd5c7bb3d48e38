#include <math.h>
#include <stdio.h>
#include <string.h>

#include "results/html.h"
#include "results/report_parts.h"

const char *report_rate_text(double bps, char text[REPORT_RATE_SIZE])
{
	bool giga = bps >= 999.5e6;
	double number = bps / (giga ? 1e9 : 1e6);
	int decimals = number < 9.995 ? 2 : number < 99.95 ? 1 : 0;
	snprintf(text, REPORT_RATE_SIZE, "%.*f %s", decimals, number, giga ? "Gbit/s" : "Mbit/s");
	return text;
}

const struct comparison *report_pair(const struct report *report, size_t i, size_t j)
{
	return &report->pairs[i * report->summary.ranked_size + j];
}

const struct summary_case *report_ranked(const struct report *report, size_t i)
{
	return &report->summary.cases[report->summary.ranked[i]];
}

bool report_tested(const struct comparison *pair)
{
	return !isnan(pair->p);
}

size_t report_tested_pairs(const struct report *report)
{
	size_t tested = 0;
	for (size_t i = 0; i < report->summary.ranked_size; i++)
		for (size_t j = i + 1; j < report->summary.ranked_size; j++)
			tested += report_tested(report_pair(report, i, j));
	return tested;
}

/* The share of the fastest that the i-th reached: by round where they share rounds, else of the
 * medians. */
static double share_of_best(const struct report *report, size_t i)
{
	const struct comparison *pair = report_pair(report, 0, i);
	if (pair->rounds > 0)
		return 1 / pair->ratio;
	return report_ranked(report, i)->median.goodput_bps /
	       report_ranked(report, 0)->median.goodput_bps;
}

static void add_spread(const struct summary_case *one, struct text *out)
{
	char low[REPORT_RATE_SIZE];
	char high[REPORT_RATE_SIZE];
	report_rate_text(one->goodput_low_bps, low);
	report_rate_text(one->goodput_high_bps, high);
	/* "9.1 to 10.2 Gbit/s": the unit once where both have the same. */
	char *unit = strrchr(low, ' ');
	if (unit && strcmp(unit, strrchr(high, ' ')) == 0)
		*unit = '\0';
	if (one->counted_size == 1)
		text_add(out, "in one run");
	else if (one->spread == SPREAD_RANGE)
		text_addf(out, "observed %s to %s in %zu runs", low, high, one->counted_size);
	else
		text_addf(out, "95 %% interval of the median %s to %s, %zu runs", low, high,
			  one->counted_size);
}

static void add_best(const struct report *report, struct text *out)
{
	const struct summary_case *best = report_ranked(report, 0);
	char rate[REPORT_RATE_SIZE];
	bool clear = true;
	if (report->summary.ranked_size > 1) {
		const struct comparison *second = report_pair(report, 0, 1);
		clear = !report_tested(second) || compare_differs(second);
	}
	html_element(out, "strong", summary_label(best));
	text_addf(out, " %s: <strong>%s</strong> (",
		  report->summary.ranked_size == 1 ? "received"
		  : clear                          ? "filled the line best"
						   : "had the highest median",
		  report_rate_text(best->median.goodput_bps, rate));
	add_spread(best, out);
	text_add(out, "). ");
}

/* Every other case's share of the best, in three groups by what may be said of it. */
enum claim { CLAIM_OBSERVED, CLAIM_DIFFERS, CLAIM_NOT_TOLD_APART, CLAIMS };

static enum claim claim_of(const struct report *report, const struct comparison *pair)
{
	/* With too few rounds for so many comparisons even a tenfold rate is "not told apart": then
	 * it is only said what was seen. */
	if (!report_tested(pair) ||
	    pair->rounds < compare_rounds_needed(report_tested_pairs(report)))
		return CLAIM_OBSERVED;
	return compare_differs(pair) ? CLAIM_DIFFERS : CLAIM_NOT_TOLD_APART;
}

static void add_claim(const struct report *report, enum claim claim, struct text *out)
{
	static const char *const words[] = {
		[CLAIM_OBSERVED] = "Observed shares of that rate: ",
		[CLAIM_DIFFERS] = "Slower, beyond what the runs' scatter explains (share of that "
				  "rate): ",
		[CLAIM_NOT_TOLD_APART] =
			"Not told apart from it by these runs (share of that rate, "
			"within): ",
	};
	bool first = true;
	for (size_t i = 1; i < report->summary.ranked_size; i++) {
		const struct comparison *pair = report_pair(report, 0, i);
		if (claim_of(report, pair) != claim)
			continue;
		text_add(out, first ? words[claim] : ", ");
		html_add(out, summary_label(report_ranked(report, i)));
		text_addf(out, " %.2f", share_of_best(report, i));
		if (claim == CLAIM_NOT_TOLD_APART)
			text_addf(out, " [%.2f, %.2f]", 1 / pair->interval.high,
				  1 / pair->interval.low);
		first = false;
	}
	text_add(out, first ? "" : ". ");
	size_t tested = report_tested_pairs(report);
	if (!first && claim == CLAIM_OBSERVED && tested)
		text_addf(out,
			  "(To say which of these %zu comparisons are more than scatter takes at "
			  "least %zu rounds.) ",
			  tested, compare_rounds_needed(tested));
}

static void add_busy(const struct report *report, struct text *out)
{
	const struct case_medians *best = &report_ranked(report, 0)->median;
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
	for (size_t i = 0; i < report->summary.count; i++) {
		const struct summary_case *one = &report->summary.cases[i];
		if (one->kind == CASE_CEILING &&
		    (!highest || one->median.goodput_bps > highest->median.goodput_bps))
			highest = one;
	}
	if (!highest)
		return;
	char rate[REPORT_RATE_SIZE];
	text_add(out, "As a ceiling, without making a copy, ");
	html_add(out, summary_label(highest));
	text_addf(out, " carried %s. ", report_rate_text(highest->median.goodput_bps, rate));
}

static void add_missing(const struct report *report, struct text *out)
{
	size_t without = 0;
	size_t failed = 0;
	for (size_t i = 0; i < report->summary.count; i++) {
		const struct summary_case *one = &report->summary.cases[i];
		without += one->kind == CASE_NO_RATE;
		failed += one->kind != CASE_NO_RATE && one->counted_size < one->runs;
	}
	if (without)
		text_addf(out, "%zu of %zu cases gave no rate", without, report->summary.count);
	if (failed)
		text_addf(out, "%s%zu %s some runs that failed", without ? ", " : "", failed,
			  failed == 1 ? "case had" : "cases had");
	if (without || failed)
		text_add(out, ": <a href=\"#failures\">what went wrong</a>.");
}

void report_answer(const struct report *report, struct text *out)
{
	text_add(out, "<div class=\"answer\"><p>");
	if (report->summary.ranked_size == 0) {
		text_add(out, "No run made a verified copy, so there is nothing to rank. ");
	} else {
		add_best(report, out);
		for (int claim = 0; claim < CLAIMS; claim++)
			add_claim(report, (enum claim)claim, out);
		add_busy(report, out);
	}
	add_ceiling(report, out);
	add_missing(report, out);
	text_add(out, "</p></div>\n");
	AUTO_TEXT missing = { 0 };
	summary_missing_text(&report->summary, &missing);
	if (missing.length)
		text_addf(out, "<p class=\"warn\">%s.</p>\n", text_string(&missing));
}

void report_chart_words(const struct report *report, struct text *out)
{
	text_add(out, "Bar chart of receive throughput, with the average CPU of the hosts:");
	for (size_t i = 0; i < report->summary.count; i++) {
		const struct summary_case *one = &report->summary.cases[i];
		char rate[REPORT_RATE_SIZE];
		html_addf(out, "%s %s", i ? ";" : "", summary_label(one));
		if (one->kind == CASE_NO_RATE) {
			text_add(out, " ");
			summary_failed_text(one, out);
			continue;
		}
		text_addf(out, " %s%s", report_rate_text(one->median.goodput_bps, rate),
			  one->kind == CASE_CEILING ? " (ceiling)" : "");
		if (isfinite(one->median.cpu_sink_host_pct))
			text_addf(out, ", sink host CPU %.0f %%", one->median.cpu_sink_host_pct);
	}
	text_add(out, ".");
}
