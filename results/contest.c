#include "results/contest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"

static void *new_array(size_t count, size_t size)
{
	void *array = calloc(count ? count : 1, size);
	if (!array)
		abort();
	return array;
}

/* Of i < j among count. */
static size_t place_of(size_t count, size_t i, size_t j)
{
	return i * (2 * count - i - 1) / 2 + j - i - 1;
}

struct comparison contest_pair(const struct contest *contest, size_t i, size_t j)
{
	if (i < j)
		return contest->pairs[place_of(contest->count, i, j)];
	return compare_inverse(&contest->pairs[place_of(contest->count, j, i)]);
}

static size_t pairs_of(size_t count)
{
	return count ? count * (count - 1) / 2 : 0;
}

/* By the rounds that both have. */
static struct comparison compare(const struct contestant *a, const struct contestant *b, double *x,
				 double *y)
{
	size_t common = 0;
	for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
		if (a->rounds[i] == b->rounds[j]) {
			x[common] = a->rates[i++];
			y[common++] = b->rates[j++];
		} else if (a->rounds[i] < b->rounds[j]) {
			i++;
		} else {
			j++;
		}
	}
	return compare_pairs(x, y, common);
}

/* Above 0: i is faster than j. Without a common round there are only the medians. */
static double lead(const struct contest *contest, const struct contestant *contestants, size_t i,
		   size_t j)
{
	struct comparison pair = contest_pair(contest, i, j);
	return pair.rounds ? log(pair.ratio) : contestants[i].median - contestants[j].median;
}

/* A win counts twice, a tie once. */
static size_t count_wins(const struct contest *contest, const struct contestant *contestants,
			 size_t i)
{
	size_t wins = 0;
	for (size_t j = 0; j < contest->count; j++) {
		if (j == i || !contestants[j].ranked)
			continue;
		double ahead = lead(contest, contestants, i, j);
		wins += ahead > 0 ? 2 : ahead >= 0 ? 1 : 0;
	}
	return wins;
}

/* Insertion keeps equals in the order of the study. */
static void put_in_order(struct contest *contest, const struct contestant *contestants)
{
	AUTO_FREE size_t *wins = new_array(contest->count, sizeof(*wins));
	for (size_t i = 0; i < contest->count; i++) {
		if (!contestants[i].ranked)
			continue;
		wins[i] = count_wins(contest, contestants, i);
		size_t place = contest->ranked++;
		for (; place > 0; place--) {
			size_t before = contest->order[place - 1];
			if (wins[before] > wins[i] ||
			    (wins[before] == wins[i] &&
			     contestants[before].median >= contestants[i].median))
				break;
			contest->order[place] = before;
		}
		contest->order[place] = i;
	}
	contest->led = true;
	for (size_t i = 1; i < contest->ranked; i++)
		if (lead(contest, contestants, contest->order[0], contest->order[i]) < 0)
			contest->led = false;
}

void contest_make(struct contest *contest, const struct contestant *contestants, size_t count)
{
	size_t longest = 0;
	for (size_t i = 0; i < count; i++)
		longest = contestants[i].count > longest ? contestants[i].count : longest;
	AUTO_FREE double *x = new_array(longest, sizeof(*x));
	AUTO_FREE double *y = new_array(longest, sizeof(*y));
	*contest = (struct contest){ .count = count };
	contest->pairs = new_array(pairs_of(count), sizeof(*contest->pairs));
	contest->order = new_array(count, sizeof(*contest->order));
	for (size_t i = 0; i < count; i++)
		for (size_t j = i + 1; j < count; j++)
			contest->pairs[place_of(count, i, j)] =
				compare(&contestants[i], &contestants[j], x, y);
	put_in_order(contest, contestants);
}

void contest_free(struct contest *contest)
{
	free(contest->pairs);
	free(contest->order);
	*contest = (struct contest){ 0 };
}

static bool is_compared(const struct contest *contest, size_t i, size_t j)
{
	/* The data picked the winner: it could have been any pair. */
	return contest->choice != CONTEST_BASELINE || i == contest->reference ||
	       j == contest->reference;
}

/* Only pairs that can be told apart at all are counted. */
static size_t count_family(const struct contest *contest)
{
	size_t family = 0;
	for (size_t i = 0; i < contest->count; i++)
		for (size_t j = i + 1; j < contest->count; j++)
			family += is_compared(contest, i, j) &&
				  compare_tested(&contest->pairs[place_of(contest->count, i, j)]);
	return family;
}

static void settle_pairs(struct contest *contest, double pooled_variance)
{
	size_t rounds = 0;
	double reach = 0;
	for (size_t i = 0; i < contest->count; i++)
		for (size_t j = i + 1; j < contest->count; j++) {
			struct comparison *pair = &contest->pairs[place_of(contest->count, i, j)];
			if (!is_compared(contest, i, j) || !compare_tested(pair))
				continue;
			if (pair->rounds != rounds)
				reach = compare_reach(rounds = pair->rounds, contest->family);
			compare_settle(pair, pooled_variance, reach);
		}
}

void contest_settle(struct contest *contest, enum contest_choice choice, size_t baseline)
{
	contest->choice = choice;
	if (choice == CONTEST_BASELINE)
		contest->reference = baseline;
	else if (contest->ranked)
		contest->reference = contest->order[0];
	contest->family = count_family(contest);
	settle_pairs(contest, compare_pooled_variance(contest->pairs, pairs_of(contest->count)));
}

double contest_noise(const struct contest *contest)
{
	double squares = 0;
	double freedom = 0;
	for (size_t i = 0; i < pairs_of(contest->count); i++) {
		const struct comparison *pair = &contest->pairs[i];
		if (pair->rounds < 2)
			continue;
		squares += pair->variance * (double)(pair->rounds - 1);
		freedom += (double)(pair->rounds - 1);
	}
	return freedom > 0 ? sqrt(squares / freedom) : (double)NAN;
}
