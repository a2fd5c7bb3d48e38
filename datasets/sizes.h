/* Lists of file sizes that follow a distribution. All arithmetic is made of operations that IEEE
 * 754 rounds exactly, so that every machine gets the same list. */
#ifndef LINEFILL_DATASETS_SIZES_H
#define LINEFILL_DATASETS_SIZES_H

#include <stddef.h>
#include <stdint.h>

/* No recipe makes more than this: well within what a double counts exactly. */
#define SIZES_BYTES_MAX UINT64_C(1000000000000000)
#define SIZES_FILES_MAX UINT64_C(10000000)

/* e^x and ln x to about 1 part in 10^15; x within what ldexp can scale, and x > 0. */
double sizes_exp(double x);
double sizes_log(double x);
/* The standard normal quantile of 0 < p < 1, to 4.5e-4 (Abramowitz and Stegun, Handbook of
 * Mathematical Functions, 26.2.23). */
double sizes_normal(double p);

/* What sizes_fit makes. */
struct sizes_goal {
	uint64_t files; /* at least 1 */
	uint64_t bytes; /* at least files */
	uint64_t cap;   /* no file is larger; files * cap must be more than bytes */
};
/* Scales weights (ascending, > 0) to whole sizes of at least 1 byte that add up to exactly
 * goal->bytes, cutting at goal->cap and sharing out what is cut in proportion. */
void sizes_fit(const struct sizes_goal *goal, const double *weights, uint64_t *sizes);

/* A random order that depends only on the seed. */
void sizes_shuffle(uint64_t seed, uint64_t *sizes, size_t count);

#endif
