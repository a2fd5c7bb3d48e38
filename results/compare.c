#include "results/compare.h"

#include <math.h>
#include <stdlib.h>

#include "harness/base/cleanup.h"

#define LEVEL 0.05

const char *const compare_verdict_names[] = {
	[COMPARE_OBSERVED] = "observed",
	[COMPARE_NOT_TOLD_APART] = "not told apart",
	[COMPARE_DIFFERS] = "differs",
	NULL,
};

struct comparison compare_pairs(const double *x, const double *y, size_t rounds)
{
	struct comparison found = { .rounds = rounds, .interval = { (double)NAN, (double)NAN, 0 } };
	double mean = 0;
	AUTO_FREE double *logs = calloc(rounds ? rounds : 1, sizeof(*logs));
	if (!logs)
		abort();
	for (size_t i = 0; i < rounds; i++)
		logs[i] = log(x[i] / y[i]);
	statistics_mean_variance(logs, rounds, &mean, &found.variance);
	found.ratio = exp(mean);
	return found;
}

bool compare_tested(const struct comparison *pair)
{
	return pair->rounds >= COMPARE_ROUNDS_MIN;
}

double compare_pooled_variance(const struct comparison *pairs, size_t count)
{
	double sum = 0;
	size_t tested = 0;
	for (size_t i = 0; i < count; i++) {
		if (!compare_tested(&pairs[i]))
			continue;
		sum += pairs[i].variance;
		tested++;
	}
	return tested ? sum / (double)tested : 0;
}

double compare_reach(size_t rounds, size_t family)
{
	return statistics_t_quantile(LEVEL / 2 / (double)family, (double)rounds - 1);
}

void compare_settle(struct comparison *pair, double pooled_variance, double reach)
{
	double variance = fmax(pair->variance, pooled_variance);
	double around = exp(reach * sqrt(variance / (double)pair->rounds));
	pair->interval = (struct interval){ pair->ratio / around, pair->ratio * around, 1 - LEVEL };
}

struct comparison compare_inverse(const struct comparison *pair)
{
	struct comparison other = *pair;
	other.ratio = 1 / pair->ratio;
	other.interval.low = 1 / pair->interval.high;
	other.interval.high = 1 / pair->interval.low;
	return other;
}

enum compare_verdict compare_verdict(const struct comparison *pair)
{
	if (isnan(pair->interval.low))
		return COMPARE_OBSERVED;
	return pair->interval.low > 1 || pair->interval.high < 1 ? COMPARE_DIFFERS
								 : COMPARE_NOT_TOLD_APART;
}
