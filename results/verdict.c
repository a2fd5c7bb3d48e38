#include "results/verdict.h"

#include <math.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "results/noise.h"
#include "results/yardstick.h"

/* More would not be read. */
#define BOUND_DECIMALS_MOST 6

static void add_label(const struct summary_case *one, struct text *out)
{
	char shown[4 * sizeof(one->row->label)];
	text_escape_terminal(shown, sizeof(shown), summary_label(one));
	text_add(out, shown);
}

enum verdict_claim verdict_claim(const struct summary *summary)
{
	bool baseline = summary->contest.choice == CONTEST_BASELINE;
	if (summary->ranked_size < (baseline ? 1 : 2))
		return VERDICT_NOTHING;
	if (summary->rounds < COMPARE_ROUNDS_MIN)
		return VERDICT_FEW;
	if (baseline)
		return VERDICT_BASELINE;
	bool differs = true;
	for (size_t rank = 2; rank <= summary->ranked_size; rank++) {
		struct comparison pair = summary_pair(summary, summary_ranked(summary, 1),
						      summary_ranked(summary, rank));
		if (!compare_tested(&pair))
			return VERDICT_UNSHARED;
		differs = differs && compare_verdict(&pair) == COMPARE_DIFFERS;
	}
	if (!summary->contest.led)
		return VERDICT_CIRCLE;
	return differs ? VERDICT_FASTEST : VERDICT_AHEAD;
}

const char *verdict_ratio_text(double ratio, char text[VERDICT_RATIO_SIZE])
{
	int decimals = ratio >= 9.95 ? 0 : 2;
	for (double limit = 0.0995; ratio > 0 && ratio < limit && decimals < 12; limit /= 10)
		decimals++;
	return summary_number_text(ratio, decimals, text);
}

/* "1.00", "1.0000" ... */
static bool shows_one(const char *shown)
{
	return strncmp(shown, "1.", 2) == 0 && strspn(shown + 2, "0") == strlen(shown + 2);
}

static void add_bound(double bound, struct text *out)
{
	char shown[VERDICT_RATIO_SIZE];
	bool is_one = bound >= 1 && bound <= 1;
	verdict_ratio_text(bound, shown);
	for (int decimals = 3; !is_one && shows_one(shown) && decimals <= BOUND_DECIMALS_MOST;
	     decimals++)
		summary_number_text(bound, decimals, shown);
	text_add(out, shown);
}

void verdict_interval_text(const struct interval *interval, struct text *out)
{
	add_bound(interval->low, out);
	text_add(out, " to ");
	add_bound(interval->high, out);
}

/* "not told apart: 0.79 to 1.26", "10 to 16; 8 of 16 rounds": what stands behind a ratio; may be
 * empty. */
static void add_detail(const struct summary *summary, const struct comparison *pair,
		       struct text *out)
{
	enum compare_verdict verdict = compare_verdict(pair);
	size_t start = out->length;
	if (pair->rounds == 0) {
		text_add(out, "of the medians: no round in common");
		return;
	}
	if (verdict == COMPARE_OBSERVED && summary->rounds >= COMPARE_ROUNDS_MIN)
		text_add(out, "observed");
	if (verdict == COMPARE_NOT_TOLD_APART)
		text_add(out, "not told apart: ");
	if (verdict != COMPARE_OBSERVED)
		verdict_interval_text(&pair->interval, out);
	if (pair->rounds < summary->rounds)
		text_addf(out, "%s%zu of %zu rounds", out->length > start ? "; " : "", pair->rounds,
			  summary->rounds);
}

static double shown_ratio(const struct summary_duel *duel)
{
	if (duel->pair.rounds > 0)
		return duel->pair.ratio;
	return duel->x->median.goodput_bps / duel->y->median.goodput_bps;
}

/* "1.05x tcp (...)", or "tcp 1.05x (...)" where x is not known from before. */
static void add_duel(const struct summary *summary, const struct summary_duel *duel,
		     struct text *out)
{
	char ratio[VERDICT_RATIO_SIZE];
	AUTO_TEXT detail = { 0 };
	bool baseline = summary->contest.choice == CONTEST_BASELINE;
	verdict_ratio_text(shown_ratio(duel), ratio);
	add_detail(summary, &duel->pair, &detail);
	if (baseline)
		add_label(duel->x, out);
	text_addf(out, baseline ? " %sx" : "%sx ", ratio);
	if (!baseline)
		add_label(duel->y, out);
	if (detail.length)
		text_addf(out, " (%s)", text_string(&detail));
}

static void add_list(const struct summary *summary, struct text *out)
{
	struct summary_duel duel;
	bool all = summary->contest.choice == CONTEST_ALL;
	for (size_t at = 0; summary_next_duel(summary, &at, &duel);) {
		if (all && duel.x->rank > 1)
			break;
		text_add(out, out->length ? ", " : "");
		add_duel(summary, &duel, out);
	}
}

void verdict_words(const struct summary *summary, struct verdict_words *words)
{
	enum verdict_claim claim = verdict_claim(summary);
	*words = (struct verdict_words){ 0 };
	add_list(summary, &words->list);
	if (claim == VERDICT_FEW)
		text_addf(&words->before, "observed in %zu round%s, too few to name a difference: ",
			  summary->rounds, summary->rounds == 1 ? "" : "s");
	if (summary->contest.choice == CONTEST_BASELINE) {
		text_add(&words->before, "against ");
		text_add(&words->after, " at");
		return;
	}
	if (claim == VERDICT_UNSHARED)
		text_add(&words->before, "too few rounds in common to name the fastest: ");
	if (claim == VERDICT_CIRCLE)
		text_add(&words->before,
			 "none is faster than each other in the rounds that they share: ");
	if (claim >= VERDICT_AHEAD)
		text_add(&words->after, " is fastest:");
}

void verdict_words_free(struct verdict_words *words)
{
	text_free(&words->before);
	text_free(&words->after);
	text_free(&words->list);
}

static void add_sentence(const struct summary *summary, struct text *out)
{
	const struct summary_case *reference = summary_reference(summary);
	struct verdict_words words;
	char rate[SUMMARY_RATE_SIZE];
	verdict_words(summary, &words);
	if (words.list.length) {
		text_add(out, text_string(&words.before));
		add_label(reference, out);
		text_addf(out, "%s %s%s %s\n", text_string(&words.after),
			  summary_rate_text(reference->median.goodput_bps, rate),
			  summary->contest.choice == CONTEST_BASELINE ? ":" : ";",
			  text_string(&words.list));
	}
	verdict_words_free(&words);
}

/* With all pairs: a line for each case that is not the first. */
static void add_others(const struct summary *summary, struct text *out)
{
	struct summary_duel duel;
	const struct summary_case *last = NULL;
	for (size_t at = 0; summary_next_duel(summary, &at, &duel);) {
		if (duel.x->rank == 1)
			continue;
		text_add(out, !last ? "" : duel.x == last ? ", " : "\n");
		if (duel.x != last) {
			add_label(duel.x, out);
			text_add(out, ": ");
		}
		add_duel(summary, &duel, out);
		last = duel.x;
	}
	text_add(out, last ? "\n" : "");
}

static void add_disagreement(const struct summary *summary, const struct summary_duel *duel,
			     struct text *out)
{
	bool x_leads = duel->pair.ratio > 1;
	const struct summary_case *slow = x_leads ? duel->y : duel->x;
	const struct summary_case *fast = x_leads ? duel->x : duel->y;
	char ratio[VERDICT_RATIO_SIZE], of_slow[SUMMARY_RATE_SIZE], of_fast[SUMMARY_RATE_SIZE];
	verdict_ratio_text(x_leads ? duel->pair.ratio : 1 / duel->pair.ratio, ratio);
	summary_rate_text(slow->median.goodput_bps, of_slow);
	summary_rate_text(fast->median.goodput_bps, of_fast);
	text_add(out, "by its median ");
	add_label(slow, out);
	text_addf(out, " would be ahead (%s, ", of_slow);
	add_label(fast, out);
	text_addf(out, " %s), but by round ", of_fast);
	add_label(fast, out);
	text_addf(out, " is %sx of it: ", ratio);
	if (duel->pair.rounds < summary->rounds)
		text_addf(out, "they share %zu of %zu rounds\n", duel->pair.rounds,
			  summary->rounds);
	else
		text_add(out, "rounds differ, or a run is far from the rest\n");
}

void verdict_disagreements(const struct summary *summary, struct text *out)
{
	struct summary_duel duel;
	for (size_t at = 0; summary_next_duel(summary, &at, &duel);) {
		double medians = duel.x->median.goodput_bps - duel.y->median.goodput_bps;
		if ((duel.pair.ratio > 1 && medians < 0) || (duel.pair.ratio < 1 && medians > 0))
			add_disagreement(summary, &duel, out);
	}
}

void verdict_far_runs(const struct summary *summary, struct text *out)
{
	char rate[SUMMARY_RATE_SIZE], median[SUMMARY_RATE_SIZE];
	for (size_t i = 0; i < summary->count; i++) {
		const struct summary_case *one = &summary->cases[i];
		for (size_t run = 0; run < one->counted_size; run++) {
			if (!one->far[run])
				continue;
			add_label(one, out);
			text_addf(out, ", round %lld: %s, far from the median %s; it counts\n",
				  (long long)one->counted[run]->round,
				  summary_rate_text(one->counted[run]->goodput_bps, rate),
				  summary_rate_text(one->median.goodput_bps, median));
		}
	}
}

void verdict_baseline_lost(const struct summary *summary, struct text *out)
{
	char shown[512];
	if (!summary->baseline_lost)
		return;
	text_escape_terminal(shown, sizeof(shown), summary->baseline_lost);
	text_addf(out, "the baseline %s has no rate: the fastest is taken instead\n", shown);
}

void verdict_add(const struct summary *summary, struct text *out)
{
	AUTO_TEXT lines = { 0 };
	verdict_baseline_lost(summary, &lines);
	add_sentence(summary, &lines);
	if (summary->contest.choice == CONTEST_ALL)
		add_others(summary, &lines);
	yardstick_lines(summary, &lines);
	verdict_disagreements(summary, &lines);
	verdict_far_runs(summary, &lines);
	noise_lines(summary, &lines);
	verdict_moved(summary, &lines);
	if (lines.length)
		text_addf(out, "\n%s", text_string(&lines));
}
