#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "results/html.h"
#include "results/report_parts.h"

#define NUMBER "td class=\"n\""

/* With more pairs than this only those with the fastest case and between neighbours are shown. */
#define PAIRS_SHOWN 36

static void pair_row(const struct report *report, size_t i, size_t j, struct text *out)
{
	const struct comparison *pair = report_pair(report, i, j);
	text_add(out, "<tr>");
	html_element(out, "td", summary_label(report_ranked(report, i)));
	html_element(out, "td", summary_label(report_ranked(report, j)));
	html_elementf(out, NUMBER, "%zu", pair->rounds);
	html_elementf(out, NUMBER, "%.3f", pair->ratio);
	html_elementf(out, NUMBER, "%.3f to %.3f", pair->interval.low, pair->interval.high);
	html_elementf(out, NUMBER, pair->adjusted_p < 0.001 ? "< 0.001" : "%.3f", pair->adjusted_p);
	if (compare_differs(pair))
		html_element(out, "td", "differs");
	else
		html_elementf(out, "td", "not told apart: within [%.2f, %.2f]", pair->interval.low,
			      pair->interval.high);
	text_add(out, "</tr>\n");
}

void report_comparisons(const struct report *report, struct text *out)
{
	static const char *const heads[] = {
		"X", "Y", ">Rounds", ">X / Y", ">95 % interval", ">p (Holm)", "Verdict", NULL
	};
	size_t tested = report_tested_pairs(report);
	if (tested == 0)
		return;
	text_addf(out,
		  "<h2>X against Y by round</h2>\n<p>Ratio of receive rates within the same round: "
		  "Hodges-Lehmann estimate with the exact signed-rank interval. p is the exact "
		  "Wilcoxon signed-rank probability, after Holm over %zu comparisons.",
		  tested);
	size_t rounds = compare_rounds_needed(tested);
	text_addf(out, " To tell %zu comparisons apart takes at least %zu rounds.%s</p>\n", tested,
		  rounds,
		  tested > PAIRS_SHOWN
			  ? " Shown are those with the fastest case and between neighbours."
			  : "");
	html_table_begin(out, heads);
	for (size_t i = 0; i < report->summary.ranked_size; i++)
		for (size_t j = i + 1; j < report->summary.ranked_size; j++)
			if (report_tested(report_pair(report, i, j)) &&
			    (tested <= PAIRS_SHOWN || i == 0 || j == i + 1))
				pair_row(report, i, j, out);
	html_table_end(out);
}

static bool is_plain(const struct summary_case *one)
{
	return strcmp(one->row->cipher, "none") == 0;
}

static bool is_encrypted(const struct summary_case *one)
{
	return *one->row->cipher && !is_plain(one);
}

static int64_t streams_of(const struct summary_case *one)
{
	return one->row->streams > 0 ? one->row->streams : one->row->instances;
}

/* What an encrypted case is held against: the same tool without a cipher, else the fastest plain
 * case with as many streams. NULL when there is neither. */
static const struct summary_case *plain_twin(const struct report *report,
					     const struct summary_case *one, bool *same_tool)
{
	const struct summary_case *other = NULL;
	for (size_t i = 0; i < report->summary.ranked_size; i++) {
		const struct summary_case *plain = report_ranked(report, i);
		if (!is_plain(plain) || streams_of(plain) != streams_of(one))
			continue;
		*same_tool = strcmp(plain->row->transport, one->row->transport) == 0;
		if (*same_tool)
			return plain;
		if (!other)
			other = plain;
	}
	*same_tool = false;
	return other;
}

static double cpu_per_gib(const struct summary_case *one)
{
	return one->median.cpu_source_s_per_gib + one->median.cpu_sink_s_per_gib;
}

static void encryption_row(const struct summary_case *one, const struct summary_case *plain,
			   bool same_tool, struct text *out)
{
	struct comparison pair = summary_compare(one, plain);
	double more = cpu_per_gib(one) - cpu_per_gib(plain);
	text_add(out, "<tr>");
	html_element(out, "th scope=\"row\"", summary_label(one));
	html_element(out, "td", one->row->cipher);
	html_element(out, "td", summary_label(plain));
	html_element(out, "td", same_tool ? "the same tool without a cipher" : "another tool");
	html_elementf(out, NUMBER, "%.2f",
		      pair.rounds ? pair.ratio
				  : one->median.goodput_bps / plain->median.goodput_bps);
	if (isfinite(more))
		html_elementf(out, NUMBER, "%+.2f", more);
	else
		html_element(out, NUMBER, "\xe2\x80\x93");
	text_add(out, "</tr>\n");
}

void report_encryption(const struct report *report, struct text *out)
{
	static const char *const heads[] = { "Encrypted",
					     "Cipher",
					     "Held against",
					     "Which is",
					     ">Share of its rate",
					     ">More CPU s/GiB, both ends",
					     NULL };
	AUTO_TEXT rows = { 0 };
	for (size_t i = 0; i < report->summary.ranked_size; i++) {
		const struct summary_case *one = report_ranked(report, i);
		bool same_tool = false;
		const struct summary_case *plain =
			is_encrypted(one) ? plain_twin(report, one, &same_tool) : NULL;
		if (plain)
			encryption_row(one, plain, same_tool, &rows);
	}
	if (rows.length == 0)
		return;
	text_add(out,
		 "<h2>What encryption costs</h2>\n<p>Observed, each against a case with as many "
		 "streams and no encryption. Only the same tool without its cipher shows what "
		 "the cipher alone costs; against another tool the difference also holds all "
		 "else that the two do differently.</p>\n");
	html_table_begin(out, heads);
	text_add(out, text_string(&rows));
	html_table_end(out);
}
