/* Seeded pseudo-random numbers, the same on every machine: splitmix64 seeds xoshiro256** (Blackman
 * and Vigna, 2018, https://prng.di.unimi.it/). Secrets come from random_secret, which asks the
 * kernel. */
#ifndef LINEFILL_BASE_RANDOM_H
#define LINEFILL_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct random {
	uint64_t state[4];
};

void random_seed(struct random *random, uint64_t seed);
uint64_t random_next(struct random *random);
/* Uniform in [0, limit), without modulo bias; limit > 0. */
uint64_t random_below(struct random *random, uint64_t limit);
/* Uniform in (0, 1). */
double random_unit(struct random *random);
/* Mixes several numbers into one seed: the block of a file, a round of a study. */
uint64_t random_mix(uint64_t a, uint64_t b);
/* Fisher-Yates over an array of indices. */
void random_shuffle(struct random *random, size_t *items, size_t count);

/* Bytes nobody can guess (getrandom(2)); ends the process if the kernel has none. */
void random_secret(void *bytes, size_t count);
/* count secret bytes as 2*count hexadecimal digits and a NUL. */
void random_secret_hex(char *text, size_t count);

#endif
