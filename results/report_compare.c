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
