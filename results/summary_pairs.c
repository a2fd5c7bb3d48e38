#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "results/summary.h"

static void *new_array(size_t count, size_t size)
{
	void *array = calloc(count ? count : 1, size);
	if (!array)
		abort();
	return array;
}

/* Keeps the rounds ascending. A block that was repeated has several runs of a round: the last one
 * stands. */
static size_t put(int64_t *rounds, double *rates, size_t count, const struct result *row)
{
	size_t place = count;
	while (place > 0 && rounds[place - 1] >= row->round)
		place--;
	if (place == count || rounds[place] != row->round) {
		memmove(rounds + place + 1, rounds + place, (count - place) * sizeof(*rounds));
		memmove(rates + place + 1, rates + place, (count - place) * sizeof(*rates));
		count++;
	}
	rounds[place] = row->round;
	rates[place] = row->goodput_bps;
	return count;
}

/* The caller frees rounds and rates. */
static struct contestant make_contestant(const struct summary_case *one)
{
	int64_t *rounds = new_array(one->counted_size, sizeof(*rounds));
	double *rates = new_array(one->counted_size, sizeof(*rates));
	size_t count = 0;
	for (size_t i = 0; i < one->counted_size; i++)
		if (one->counted[i]->round > 0)
			count = put(rounds, rates, count, one->counted[i]);
	return (struct contestant){ .rounds = rounds,
				    .rates = rates,
				    .count = count,
				    .median = one->median.goodput_bps,
				    .ranked = one->kind == CASE_RANKED };
}

static void hold_contest(struct summary *summary, const struct summary_case *baseline)
{
	size_t count = 0;
	struct contestant *contestants = new_array(summary->count, sizeof(*contestants));
	for (size_t i = 0; i < summary->count; i++) {
		struct summary_case *one = &summary->cases[i];
		one->seat = 0;
		if (one->kind != CASE_RANKED && one != baseline)
			continue;
		contestants[count] = make_contestant(one);
		summary->seats[count] = i;
		one->seat = ++count;
	}
	contest_make(&summary->contest, contestants, count);
	for (size_t i = 0; i < count; i++) {
		free(contestants[i].rounds);
		free(contestants[i].rates);
	}
	free(contestants);
}

static void take_ranks(struct summary *summary)
{
	summary->ranked_size = summary->contest.ranked;
	for (size_t i = 0; i < summary->ranked_size; i++) {
		summary->ranked[i] = summary->seats[summary->contest.order[i]];
		summary->cases[summary->ranked[i]].rank = i + 1;
	}
}

static const struct summary_case *find_baseline(const struct summary *summary, const char *name)
{
	for (size_t i = 0; name && i < summary->count; i++)
		if (strcmp(summary->cases[i].row->case_name, name) == 0 &&
		    summary->cases[i].kind != CASE_NO_RATE)
			return &summary->cases[i];
	return NULL;
}

void summary_choose_pairs(struct summary *summary, const char *baseline, bool all_pairs)
{
	const char *wanted = all_pairs ? NULL : baseline;
	const struct summary_case *named = find_baseline(summary, wanted);
	contest_free(&summary->contest);
	free(summary->seats);
	free(summary->ranked);
	summary->seats = new_array(summary->count, sizeof(*summary->seats));
	summary->ranked = new_array(summary->count, sizeof(*summary->ranked));
	summary->baseline_lost = wanted && !named ? wanted : NULL;
	hold_contest(summary, named);
	take_ranks(summary);
	if (named)
		contest_settle(&summary->contest, CONTEST_BASELINE, named->seat - 1);
	else
		contest_settle(&summary->contest, all_pairs ? CONTEST_ALL : CONTEST_WINNER, 0);
}

struct comparison summary_pair(const struct summary *summary, const struct summary_case *a,
			       const struct summary_case *b)
{
	if (!a->seat || !b->seat || a == b)
		return compare_pairs(NULL, NULL, 0);
	return contest_pair(&summary->contest, a->seat - 1, b->seat - 1);
}

const struct summary_case *summary_reference(const struct summary *summary)
{
	if (summary->ranked_size == 0)
		return NULL;
	return &summary->cases[summary->seats[summary->contest.reference]];
}

const struct summary_case *summary_ranked(const struct summary *summary, size_t rank)
{
	return &summary->cases[summary->ranked[rank - 1]];
}

/* at counts all pairs of ranks, or all ranks where one case is held against each other. */
bool summary_next_duel(const struct summary *summary, size_t *at, struct summary_duel *duel)
{
	const struct summary_case *reference = summary_reference(summary);
	bool all = summary->contest.choice == CONTEST_ALL;
	size_t ranks = summary->ranked_size;
	for (; reference && *at < (all ? ranks * ranks : ranks); ++*at) {
		const struct summary_case *x =
			all ? summary_ranked(summary, *at / ranks + 1) : reference;
		const struct summary_case *y = summary_ranked(summary, *at % ranks + 1);
		if (x == y || (all && x->rank > y->rank))
			continue;
		bool baseline = summary->contest.choice == CONTEST_BASELINE;
		*duel = (struct summary_duel){ .x = baseline ? y : x, .y = baseline ? x : y };
		duel->pair = summary_pair(summary, duel->x, duel->y);
		++*at;
		return true;
	}
	return false;
}
