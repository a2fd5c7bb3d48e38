#include "datasets/sizes.h"

#include <math.h>

#include "harness/base/random.h"

/* ln 2 in two parts: the first has few enough bits that a small whole multiple of it is exact. */
#define LN2_HIGH 0x1.62e42feep-1
#define LN2_LOW  0x1.a39ef35793c76p-33

double sizes_exp(double x)
{
	double power = floor(x / (LN2_HIGH + LN2_LOW) + 0.5);
	double rest = (x - power * LN2_HIGH) - power * LN2_LOW;
	double sum = 1;
	for (int term = 16; term >= 1; term--) /* Taylor; |rest| <= ln(2)/2 */
		sum = 1 + rest * sum / term;
	return ldexp(sum, (int)power);
}

double sizes_log(double x)
{
	int power;
	double part = frexp(x, &power);
	if (part < 0x1.6a09e667f3bcdp-1) { /* the square root of 1/2 */
		part *= 2;
		power--;
	}
	double s = (part - 1) / (part + 1);
	double sum = 0;
	for (int term = 27; term >= 1; term -= 2) /* 2 artanh(s); |s| < 0.172 */
		sum = sum * (s * s) + 1.0 / term;
	return power * LN2_HIGH + (power * LN2_LOW + 2 * s * sum);
}

double sizes_normal(double p)
{
	double tail = p < 0.5 ? p : 1 - p;
	double t = sqrt(-2 * sizes_log(tail));
	double over = 2.515517 + t * (0.802853 + t * 0.010328);
	double under = 1 + t * (1.432788 + t * (0.189269 + t * 0.001308));
	double z = t - over / under;
	return p < 0.5 ? -z : z;
}

/* The factor k with which sum(min(k * weight, cap)) is total. */
static double scale_for(const double *weights, uint64_t count, double total, double cap)
{
	double sum = 0;
	for (uint64_t i = 0; i < count; i++)
		sum += weights[i];
	uint64_t free_count = count; /* those below the cap */
	double factor = total / sum;
	while (free_count > 1 && factor * weights[free_count - 1] > cap) {
		free_count--;
		sum -= weights[free_count];
		factor = (total - (double)(count - free_count) * cap) / sum;
	}
	return factor;
}

void sizes_fit(const struct sizes_goal *goal, const double *weights, uint64_t *sizes)
{
	/* One byte each is given beforehand. */
	double cap = (double)(goal->cap - 1);
	double factor = scale_for(weights, goal->files, (double)(goal->bytes - goal->files), cap);
	uint64_t sum = 0;
	for (uint64_t i = 0; i < goal->files; i++) {
		double size = factor * weights[i];
		sizes[i] = 1 + (uint64_t)(size < cap ? size : cap);
		sum += sizes[i];
	}
	/* What rounding left over, a byte each from the largest down. */
	for (uint64_t i = goal->files; sum != goal->bytes; i = i > 1 ? i - 1 : goal->files) {
		if (sum < goal->bytes && sizes[i - 1] < goal->cap) {
			sizes[i - 1]++;
			sum++;
		} else if (sum > goal->bytes && sizes[i - 1] > 1) {
			sizes[i - 1]--;
			sum--;
		}
	}
}

void sizes_shuffle(uint64_t seed, uint64_t *sizes, size_t count)
{
	struct random random;
	random_seed(&random, random_mix(seed, 0x73697a6573));
	for (size_t i = count; i > 1; i--) {
		size_t j = (size_t)random_below(&random, i);
		uint64_t swap = sizes[i - 1];
		sizes[i - 1] = sizes[j];
		sizes[j] = swap;
	}
}
