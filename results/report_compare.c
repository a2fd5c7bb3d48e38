#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "results/html.h"
#include "results/report_parts.h"
#include "results/verdict.h"

#define NUMBER "td class=\"n\""

static void pair_row(const struct summary_duel *duel, struct text *out)
{
	const struct comparison *pair = &duel->pair;
	AUTO_TEXT interval = { 0 };
	char ratio[VERDICT_RATIO_SIZE];
	if (compare_tested(pair))
		verdict_interval_text(&pair->interval, &interval);
	text_add(out, "<tr>");
	html_element(out, "td", summary_label(duel->x));
	html_element(out, "td", summary_label(duel->y));
	html_elementf(out, NUMBER, "%zu", pair->rounds);
	html_element(out, NUMBER, verdict_ratio_text(pair->ratio, ratio));
	html_element(out, NUMBER, interval.length ? text_string(&interval) : "\xe2\x80\x93");
	html_element(out, "td", compare_verdict_names[compare_verdict(pair)]);
	text_add(out, "</tr>\n");
}

static void how_compared(const struct contest *contest, struct text *out)
{
	text_addf(out,
		  "<p>The ratio of two rates is the geometric mean of their ratios within the "
		  "same round, and its simultaneous 95 %% interval comes from Student&#39;s t on "
		  "the differences of log rates, with a variance that is never taken as smaller "
		  "than the mean over all pairs, corrected for %zu comparison%s (Bonferroni%s); a "
		  "pair <em>differs</em> exactly when its interval leaves out 1, for which it "
		  "needs %d rounds.</p>\n",
		  contest->family, contest->family == 1 ? "" : "s",
		  contest->choice == CONTEST_WINNER && contest->family > 1
			  ? "; all pairs, because the runs themselves picked the fastest"
			  : "",
		  COMPARE_ROUNDS_MIN);
}

void report_comparisons(const struct report *report, struct text *out)
{
	static const char *const heads[] = {
		"X", "Y", ">Rounds in common", ">X / Y", ">95 % interval", "Verdict", NULL
	};
	const struct contest *contest = &report->summary->contest;
	struct summary_duel duel;
	if (contest->family == 0)
		return;
	text_add(out, "<h2>X against Y by round</h2>\n");
	how_compared(contest, out);
	html_table_begin(out, heads);
	for (size_t at = 0; summary_next_duel(report->summary, &at, &duel);)
		pair_row(&duel, out);
	html_table_end(out);
	if (contest->choice != CONTEST_ALL && report->summary->ranked_size > 2)
		text_add(out, "<p class=\"note\"><code>linefill report --all-pairs</code> shows "
			      "every pair.</p>\n");
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
	for (size_t i = 0; i < report->summary->ranked_size; i++) {
		const struct summary_case *plain = summary_ranked(report->summary, i + 1);
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

static void encryption_row(const struct report *report, const struct summary_case *one,
			   const struct summary_case *plain, bool same_tool, struct text *out)
{
	struct comparison pair = summary_pair(report->summary, one, plain);
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
	for (size_t i = 0; i < report->summary->ranked_size; i++) {
		const struct summary_case *one = summary_ranked(report->summary, i + 1);
		bool same_tool = false;
		const struct summary_case *plain =
			is_encrypted(one) ? plain_twin(report, one, &same_tool) : NULL;
		if (plain)
			encryption_row(report, one, plain, same_tool, &rows);
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
