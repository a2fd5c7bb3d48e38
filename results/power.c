#include "results/power.h"

#include <math.h>

#include "results/compare.h"

#define POWER 0.8
#define STEPS 400
/* The standard deviation that few rounds may seem to have, as a multiple of the true one. */
#define SEEMING_MOST 5.0

/* Density at s of the sample standard deviation, the true one being 1. */
static double seeming_density(double s, double freedom)
{
	double half = freedom / 2;
	return 2 * exp(half * log(half) - lgamma(half) + (freedom - 1) * log(s) - half * s * s);
}

/* How often a difference of so many standard errors passes reach: over all that the own variance
 * may seem to be. With other pairs the variance is never taken as smaller than their mean, which is
 * near the true one. */
static double power_of(double difference, double reach, double freedom, size_t family)
{
	double sum = 0;
	double width = SEEMING_MOST / STEPS;
	for (int i = 0; i < STEPS; i++) {
		double s = (i + 0.5) * width;
		double used = family > 1 ? fmax(s, 1) : s;
		double passes = erfc((reach * used - difference) * M_SQRT1_2) / 2;
		sum += passes * seeming_density(s, freedom) * width;
	}
	return sum;
}

double power_tellable_ratio(size_t rounds, double noise, size_t family)
{
	if (rounds < COMPARE_ROUNDS_MIN || family == 0)
		return (double)NAN;
	double freedom = (double)rounds - 1;
	double reach = compare_reach(rounds, family);
	double low = 0;
	double high = 2 * reach * SEEMING_MOST;
	for (int step = 0; step < 60; step++) {
		double middle = (low + high) / 2;
		if (power_of(middle, reach, freedom, family) < POWER)
			low = middle;
		else
			high = middle;
	}
	return exp(high * noise / sqrt((double)rounds));
}
