#include "harness/base/random.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

static uint64_t rotate_left(uint64_t x, int k)
{
	return (x << k) | (x >> (64 - k));
}

static uint64_t splitmix(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

void random_seed(struct random *random, uint64_t seed)
{
	for (int i = 0; i < 4; i++)
		random->state[i] = splitmix(&seed);
}

uint64_t random_next(struct random *random)
{
	uint64_t *s = random->state;
	uint64_t result = rotate_left(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;
	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate_left(s[3], 45);
	return result;
}

uint64_t random_below(struct random *random, uint64_t limit)
{
	uint64_t reject = (UINT64_MAX - limit + 1) % limit; /* 2^64 mod limit */
	for (;;) {
		uint64_t value = random_next(random);
		if (value >= reject)
			return value % limit;
	}
}

double random_unit(struct random *random)
{
	return ((double)(random_next(random) >> 11) + 0.5) * 0x1p-53;
}

uint64_t random_mix(uint64_t a, uint64_t b)
{
	uint64_t state = a;
	uint64_t mixed = splitmix(&state);
	state = mixed ^ b;
	return splitmix(&state);
}

void random_shuffle(struct random *random, size_t *items, size_t count)
{
	for (size_t i = count; i > 1; i--) {
		size_t j = random_below(random, i);
		size_t swap = items[i - 1];
		items[i - 1] = items[j];
		items[j] = swap;
	}
}

void random_secret(void *bytes, size_t count)
{
	for (size_t got = 0; got < count;) {
		ssize_t n = getrandom((char *)bytes + got, count - got, 0);
		if (n < 0 && errno != EINTR)
			abort();
		got += n > 0 ? (size_t)n : 0;
	}
}

void random_secret_hex(char *text, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		unsigned char byte;
		random_secret(&byte, 1);
		snprintf(text + 2 * i, 3, "%02x", byte);
	}
}
