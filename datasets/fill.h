/* The contents of generated files: every byte is a function of seed, file and offset, the same on
 * every machine, so that any part can be made on its own and on any thread. */
#ifndef LINEFILL_DATASETS_FILL_H
#define LINEFILL_DATASETS_FILL_H

#include <stddef.h>
#include <stdint.h>

#define FILL_COMPRESSIBLE_MAX 90

struct fill {
	uint64_t key;
	uint64_t random_pct; /* share of words that are random, in percent */
};

/* compressible_pct (0 to FILL_COMPRESSIBLE_MAX): how much smaller the contents become by zlib
 * level 6, in percent, within 2 points where they are longer than some KiB. */
struct fill fill_for(uint64_t seed, uint64_t file, unsigned compressible_pct);
/* Writes the count bytes that start at offset. Fastest where offset is a multiple of 1 KiB. */
void fill_bytes(const struct fill *fill, uint64_t offset, void *to, size_t count);

#endif
