#include "results/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"

#define BETA_STEPS 10000
#define T_MOST     1e12

/* The median absolute deviation times this is the standard deviation of normal values. */
#define MAD_SCALE      1.4826
#define FAR_DEVIATIONS 5

static int compare_doubles(const void *a, const void *b)
{
	double left = *(const double *)a;
	double right = *(const double *)b;
	return (left > right) - (left < right);
}

/* A sorted copy; the caller frees. NULL for no values. */
static double *sorted_copy(const double *values, size_t count)
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
	AUTO_FREE double *sorted = sorted_copy(values, count);
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
	AUTO_FREE double *sorted = sorted_copy(values, count);
	*interval = (struct interval){ sorted[rank - 1], sorted[count - rank], covered };
	return true;
}

void statistics_mean_variance(const double *values, size_t count, double *mean, double *variance)
{
	double sum = 0;
	double squares = 0;
	for (size_t i = 0; i < count; i++)
		sum += values[i];
	*mean = count ? sum / (double)count : (double)NAN;
	for (size_t i = 0; i < count; i++)
		squares += (values[i] - *mean) * (values[i] - *mean);
	*variance = count > 1 ? squares / (double)(count - 1) : (double)NAN;
}

/* The continued fraction of the incomplete beta function, by Lentz's method: converges fast for x
 * below (a + 1) / (a + b + 2). */
static double beta_fraction(double x, double a, double b)
{
	const double tiny = 1e-300;
	double c = 1;
	double d = 1 / fmax(1 - (a + b) * x / (a + 1), tiny);
	double fraction = d;
	for (int step = 1; step < BETA_STEPS; step++) {
		double m = step;
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		d = 1 / (1 + even * d);
		c = 1 + even / c;
		fraction *= c * d;
		d = 1 / (1 + odd * d);
		c = 1 + odd / c;
		fraction *= c * d;
		if (fabs(c * d - 1) < 1e-15)
			break;
	}
	return fraction;
}

/* The regularised incomplete beta function I_x(a, b). */
static double incomplete_beta(double x, double a, double b)
{
	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(x, a, b) / a;
	return 1 - front * beta_fraction(1 - x, b, a) / b;
}

static double t_tail(double t, double freedom)
{
	return incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5) / 2;
}

double statistics_t_quantile(double tail, double freedom)
{
	if (!(tail > 0 && tail <= 0.5 && freedom > 0))
		return (double)NAN;
	double low = 0;
	double high = 1;
	while (t_tail(high, freedom) > tail && high < T_MOST)
		high *= 2;
	/* A double has 53 bits: more halvings change nothing. */
	for (int step = 0; step < 60; step++) {
		double middle = (low + high) / 2;
		if (t_tail(middle, freedom) > tail)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

size_t statistics_mark_far(const double *values, size_t count, double least, bool *far)
{
	AUTO_FREE double *distances = calloc(count ? count : 1, sizeof(*distances));
	if (!distances)
		abort();
	double median = statistics_median(values, count);
	for (size_t i = 0; i < count; i++)
		distances[i] = fabs(values[i] - median);
	double limit =
		fmax(FAR_DEVIATIONS * MAD_SCALE * statistics_median(distances, count), least);
	size_t found = 0;
	for (size_t i = 0; i < count; i++) {
		far[i] = count >= STATISTICS_FAR_MIN && distances[i] > limit;
		found += far[i];
	}
	return found;
}
