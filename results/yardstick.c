#include "results/yardstick.h"

#include <math.h>
#include <string.h>

enum yardstick { YARDSTICK_FILES, YARDSTICK_MEMORY, YARDSTICKS };

static bool is_yardstick(const struct summary_case *one, enum yardstick which)
{
	if (one->kind != CASE_CEILING)
		return false;
	if (which == YARDSTICK_FILES)
		return one->row->ceiling && summary_compared(one);
	return strcmp(one->row->transport, "iperf3") == 0;
}

static bool is_held_against(const struct summary_case *one, enum yardstick which)
{
	if (which == YARDSTICK_FILES)
		return one->kind == CASE_RANKED;
	return one->kind == CASE_CEILING && !one->row->ceiling && !summary_compared(one);
}

static const struct result *in_round(const struct summary_case *one, int64_t round)
{
	for (size_t i = one->counted_size; i-- > 0;)
		if (one->counted[i]->round == round)
			return one->counted[i];
	return NULL;
}

/* NAN where they share no round. */
static double share(const struct summary_case *one, const struct summary_case *of)
{
	double sum = 0;
	size_t rounds = 0;
	for (size_t i = 0; i < one->counted_size; i++) {
		const struct result *mine = one->counted[i];
		const struct result *other = in_round(of, mine->round);
		if (!other || in_round(one, mine->round) != mine)
			continue;
		sum += log(mine->goodput_bps / other->goodput_bps);
		rounds++;
	}
	return rounds ? exp(sum / (double)rounds) : (double)NAN;
}

static void add_label(const struct summary_case *one, struct text *out)
{
	char shown[4 * sizeof(one->row->label)];
	text_escape_terminal(shown, sizeof(shown), summary_label(one));
	text_add(out, shown);
}

static void add_line(const struct summary *summary, const struct summary_case *of,
		     enum yardstick which, struct text *out)
{
	char rate[SUMMARY_RATE_SIZE], shown[SUMMARY_NUMBER_SIZE];
	AUTO_TEXT shares = { 0 };
	for (size_t i = 0; i < summary->count; i++) {
		const struct summary_case *one = &summary->cases[i];
		if (one == of || !is_held_against(one, which))
			continue;
		double ratio = share(one, of);
		if (!isfinite(ratio))
			continue;
		text_add(&shares, shares.length ? ", " : "");
		add_label(one, &shares);
		text_addf(&shares, " %s", summary_number_text(ratio, 2, shown));
	}
	if (!shares.length)
		return;
	text_add(out, "of ");
	add_label(of, out);
	text_addf(out, ", %s: %s\n", summary_rate_text(of->median.goodput_bps, rate),
		  text_string(&shares));
}

void yardstick_lines(const struct summary *summary, struct text *out)
{
	for (int which = 0; which < YARDSTICKS; which++)
		for (size_t i = 0; i < summary->count; i++) {
			if (!is_yardstick(&summary->cases[i], (enum yardstick)which))
				continue;
			add_line(summary, &summary->cases[i], (enum yardstick)which, out);
			break; /* the first of a kind */
		}
}
