#include "results/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"

static int compare_doubles(const void *a, const void *b)
{
	double left = *(const double *)a;
	double right = *(const double *)b;
	return (left > right) - (left < right);
}

double *statistics_sorted(const double *values, size_t count)
{
	if (count == 0)
		return NULL;
	double *sorted = calloc(count, sizeof(*sorted));
	if (!sorted)
		abort();
	memcpy(sorted, values, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), compare_doubles);
	return sorted;
}

double statistics_quantile(const double *values, size_t count, double p)
{
	AUTO_FREE double *sorted = statistics_sorted(values, count);
	if (!sorted)
		return (double)NAN;
	double place = (double)(count - 1) * fmin(fmax(p, 0), 1);
	size_t below = (size_t)place;
	if (below + 1 >= count)
		return sorted[count - 1];
	return sorted[below] + (place - (double)below) * (sorted[below + 1] - sorted[below]);
}

double statistics_median(const double *values, size_t count)
{
	return statistics_quantile(values, count, 0.5);
}

void statistics_range(const double *values, size_t count, double *low, double *high)
{
	*low = *high = count ? values[0] : (double)NAN;
	for (size_t i = 1; i < count; i++) {
		*low = fmin(*low, values[i]);
		*high = fmax(*high, values[i]);
	}
}

bool statistics_median_interval(const double *values, size_t count, struct interval *interval)
{
	if (count < STATISTICS_INTERVAL_MIN)
		return false;
	/* term = P(Binomial(n, 1/2) = k), tail = P(Binomial < k + 1); through logarithms, because
	 * 2^-n is too small for a large n. */
	double n = (double)count;
	double tail = 0;
	double covered = 0;
	size_t rank = 0;
	for (size_t k = 0; k < count / 2; k++) {
		double ways = lgamma(n + 1) - lgamma((double)k + 1) - lgamma(n - (double)k + 1);
		tail += exp(ways - n * log(2));
		if (1 - 2 * tail < 0.95)
			break;
		rank = k + 1;
		covered = 1 - 2 * tail;
	}
	AUTO_FREE double *sorted = statistics_sorted(values, count);
	*interval = (struct interval){ sorted[rank - 1], sorted[count - rank], covered };
	return true;
}

double statistics_geometric_mean(const double *values, size_t count)
{
	double sum = 0;
	for (size_t i = 0; i < count; i++) {
		if (!(values[i] > 0))
			return (double)NAN;
		sum += log(values[i]);
	}
	return count ? exp(sum / (double)count) : (double)NAN;
}
