#include "results/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"

static double *new_doubles(size_t count)
{
	double *doubles = calloc(count ? count : 1, sizeof(*doubles));
	if (!doubles)
		abort();
	return doubles;
}

/* The distribution of the sum of a random half of the ranks: entry s is its probability. The ranks
 * are doubled, so that mean ranks are whole. Caller frees. */
static double *rank_sum_distribution(const size_t *doubled_ranks, size_t count, size_t *total)
{
	*total = 0;
	for (size_t i = 0; i < count; i++)
		*total += doubled_ranks[i];
	double *chance = new_doubles(*total + 1);
	chance[0] = 1;
	size_t reached = 0;
	for (size_t i = 0; i < count; i++) {
		size_t rank = doubled_ranks[i];
		reached += rank;
		for (size_t sum = reached + 1; sum-- > 0;)
			chance[sum] = 0.5 * (chance[sum] + (sum >= rank ? chance[sum - rank] : 0));
	}
	return chance;
}

static double sum_up_to(const double *chance, size_t last)
{
	double sum = 0;
	for (size_t i = 0; i <= last; i++)
		sum += chance[i];
	return fmin(sum, 1);
}

static double *plain_distribution(size_t n, size_t *total)
{
	AUTO_FREE size_t *ranks = calloc(n ? n : 1, sizeof(*ranks));
	if (!ranks)
		abort();
	for (size_t i = 0; i < n; i++)
		ranks[i] = 2 * (i + 1);
	return rank_sum_distribution(ranks, n, total);
}

double compare_signed_rank_cdf(size_t n, size_t w)
{
	size_t total = 0;
	AUTO_FREE double *chance = plain_distribution(n, &total);
	return sum_up_to(chance, 2 * w < total ? 2 * w : total);
}

static int by_size(const void *a, const void *b)
{
	double left = fabs(*(const double *)a);
	double right = fabs(*(const double *)b);
	return (left > right) - (left < right);
}

/* Sorts the differences by size and gives each twice its rank; ties get the mean of theirs. */
static size_t *rank_differences(double *differences, size_t count)
{
	size_t *ranks = calloc(count ? count : 1, sizeof(*ranks));
	if (!ranks)
		abort();
	qsort(differences, count, sizeof(*differences), by_size);
	for (size_t first = 0; first < count;) {
		size_t last = first;
		while (last + 1 < count &&
		       by_size(&differences[last + 1], &differences[first]) == 0)
			last++;
		for (size_t i = first; i <= last; i++)
			ranks[i] = first + 1 + last + 1;
		first = last + 1;
	}
	return ranks;
}

static double signed_rank_p(const double *all, size_t count)
{
	AUTO_FREE double *differences = new_doubles(count);
	size_t kept = 0;
	for (size_t i = 0; i < count; i++)
		if (all[i] < 0 || all[i] > 0)
			differences[kept++] = all[i];
	AUTO_FREE size_t *ranks = rank_differences(differences, kept);
	size_t total = 0;
	AUTO_FREE double *chance = rank_sum_distribution(ranks, kept, &total);
	size_t positive = 0;
	for (size_t i = 0; i < kept; i++)
		if (differences[i] > 0)
			positive += ranks[i];
	size_t smaller = positive < total - positive ? positive : total - positive;
	return fmin(2 * sum_up_to(chance, smaller), 1);
}

/* All means of two differences, each with itself too, sorted: what estimate and interval are read
 * from. Caller frees. */
static double *walsh_averages(const double *differences, size_t count, size_t *averages)
{
	*averages = count * (count + 1) / 2;
	AUTO_FREE double *means = new_doubles(*averages);
	size_t used = 0;
	for (size_t i = 0; i < count; i++)
		for (size_t j = i; j < count; j++)
			means[used++] = (differences[i] + differences[j]) / 2;
	return statistics_sorted(means, *averages);
}

/* Drops the most means from each side that still covers 95 %: with k dropped, 1 - 2 P(W <= k). The
 * plain distribution is in doubled ranks, hence the steps of two. */
static struct interval signed_rank_interval(const double *means, size_t averages, size_t count)
{
	size_t total = 0;
	AUTO_FREE double *chance = plain_distribution(count, &total);
	size_t drop = 0;
	double tail = chance[0];
	while (drop + 1 < averages / 2 && 2 * (tail + chance[2 * (drop + 1)]) <= 0.05) {
		drop++;
		tail += chance[2 * drop];
	}
	return (struct interval){ means[drop], means[averages - 1 - drop], 1 - 2 * tail };
}

struct comparison compare_pairs(const double *x, const double *y, size_t rounds)
{
	struct comparison found = { .rounds = rounds,
				    .ratio = (double)NAN,
				    .interval = { (double)NAN, (double)NAN, 0 },
				    .p = (double)NAN,
				    .adjusted_p = (double)NAN };
	if (rounds == 0)
		return found;
	AUTO_FREE double *logs = new_doubles(rounds);
	for (size_t i = 0; i < rounds; i++)
		logs[i] = log(x[i] / y[i]);
	if (rounds < STATISTICS_INTERVAL_MIN) {
		found.ratio = exp(statistics_median(logs, rounds));
		statistics_range(logs, rounds, &found.interval.low, &found.interval.high);
	} else {
		size_t averages = 0;
		AUTO_FREE double *means = walsh_averages(logs, rounds, &averages);
		found.ratio = exp(statistics_median(means, averages));
		found.interval = signed_rank_interval(means, averages, rounds);
		found.p = found.adjusted_p = signed_rank_p(logs, rounds);
	}
	found.interval.low = exp(found.interval.low);
	found.interval.high = exp(found.interval.high);
	return found;
}

static int by_p(const void *a, const void *b)
{
	double left = (*(struct comparison *const *)a)->p;
	double right = (*(struct comparison *const *)b)->p;
	return (left > right) - (left < right);
}

void compare_adjust(struct comparison *comparisons, size_t count)
{
	AUTO_FREE struct comparison **order = calloc(count ? count : 1, sizeof(*order));
	if (!order)
		abort();
	size_t tested = 0;
	for (size_t i = 0; i < count; i++)
		if (!isnan(comparisons[i].p))
			order[tested++] = &comparisons[i];
	qsort(order, tested, sizeof(*order), by_p);
	double least = 0;
	for (size_t i = 0; i < tested; i++) {
		least = fmax(least, fmin(order[i]->p * (double)(tested - i), 1));
		order[i]->adjusted_p = least;
	}
}

bool compare_differs(const struct comparison *comparison)
{
	return comparison->adjusted_p < 0.05;
}

size_t compare_rounds_needed(size_t comparisons)
{
	size_t rounds = STATISTICS_INTERVAL_MIN;
	while ((double)comparisons * ldexp(2, -(int)rounds) >= 0.05)
		rounds++;
	return rounds;
}
