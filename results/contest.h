/* Every case against every other, and the order that follows. The order is that of the paired
 * comparisons, not of the medians: a case that ran in the fast rounds only has a high median for
 * that alone. A case is before another when it beats more of the others by paired ratio; where
 * every case has every round that is the order of the geometric means. */
#ifndef LINEFILL_RESULTS_CONTEST_H
#define LINEFILL_RESULTS_CONTEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "results/compare.h"

/* A case's runs that count: at most one a round, rounds ascending. */
struct contestant {
	int64_t *rounds;
	double *rates; /* positive and finite */
	size_t count;
	double median;
	bool ranked; /* false: compared with the others, but without a place in the order */
};

enum contest_choice {
	CONTEST_WINNER,   /* the first against each other; the data picked it: all pairs count */
	CONTEST_BASELINE, /* one that was named beforehand against each other */
	CONTEST_ALL,
};

struct contest {
	size_t count;
	struct comparison *pairs; /* of each i < j, X is i; see contest_pair */
	size_t *order;            /* indices of those that are ranked, the first first */
	size_t ranked;
	bool led; /* no other is faster than the first, pair by pair; with missing rounds it may be
		     that each is beaten by one */
	enum contest_choice choice;
	size_t reference; /* who is held against each other: the first, or the baseline */
	size_t family;    /* pairs that the intervals are corrected for */
};

/* Without intervals; contest_settle gives them. */
void contest_make(struct contest *contest, const struct contestant *contestants, size_t count);
/* baseline is for CONTEST_BASELINE alone. */
void contest_settle(struct contest *contest, enum contest_choice choice, size_t baseline);
void contest_free(struct contest *contest);
/* i over j, i != j. */
struct comparison contest_pair(const struct contest *contest, size_t i, size_t j);
/* The standard deviation of the log ratio of two runs of a round, over all pairs with 2 rounds and
 * more: what whole rounds have in common is no noise. NAN where there is none. */
double contest_noise(const struct contest *contest);

#endif
