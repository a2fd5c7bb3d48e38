#include "datasets/fill.h"

#include <endian.h>
#include <string.h>

#include "harness/base/random.h"

/* Contents come in cells: first random words, then one word over and over, which every compressor
 * folds to next to nothing and which, unlike zeros, no tool turns into a hole. */
#define CELL_WORDS UINT64_C(128)
#define CELL_BYTES (CELL_WORDS * sizeof(uint64_t))

/* splitmix64 at any position of its sequence (Steele, Lea and Flood, 2014): the state is a plain
 * counter, so the words of a cell do not wait for each other. */
static inline uint64_t word_at(uint64_t key, uint64_t index)
{
	uint64_t z = key + (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return htole64(z ^ (z >> 31));
}

struct fill fill_for(uint64_t seed, uint64_t file, unsigned compressible_pct)
{
	return (struct fill){
		.key = random_mix(random_mix(seed, file), 0x66696c6c),
		.random_pct = 100 - compressible_pct,
	};
}

/* Whole words of cell number cell that are random: the exact share on average over cells. */
static size_t random_words(const struct fill *fill, uint64_t cell)
{
	uint64_t a_hundred = 100; /* the pattern of roundings repeats after so many cells */
	uint64_t share = CELL_WORDS * fill->random_pct;
	uint64_t at = cell % a_hundred;
	return (size_t)(((at + 1) * share) / 100 - (at * share) / 100);
}

static void fill_cell(const struct fill *fill, uint64_t cell, unsigned char *to)
{
	uint64_t first = cell * CELL_WORDS;
	size_t random = random_words(fill, cell);
	uint64_t word = 0;
	for (size_t i = 0; i < random; i++) {
		word = word_at(fill->key, first + i);
		memcpy(to + i * sizeof(word), &word, sizeof(word));
	}
	for (size_t i = random; i < CELL_WORDS; i++)
		memcpy(to + i * sizeof(word), &word, sizeof(word));
}

void fill_bytes(const struct fill *fill, uint64_t offset, void *to, size_t count)
{
	unsigned char *next = to;
	while (count > 0) {
		uint64_t cell = offset / CELL_BYTES;
		size_t skip = (size_t)(offset % CELL_BYTES);
		size_t length = (size_t)CELL_BYTES - skip;
		if (length > count)
			length = count;
		if (length == CELL_BYTES) {
			fill_cell(fill, cell, next);
		} else {
			unsigned char whole[CELL_BYTES];
			fill_cell(fill, cell, whole);
			memcpy(next, whole + skip, length);
		}
		next += length;
		offset += length;
		count -= length;
	}
}
