/* Which runs there are, in which order, and how long they may take. */
#ifndef LINEFILL_STUDY_PLAN_H
#define LINEFILL_STUDY_PLAN_H

#include <stddef.h>

#include "harness/study/study.h"

/* Where the user sets no rounds: PLAN_ROUNDS_SHORT of them when the first takes less than
 * PLAN_SHORT_ROUND_S, its runs and their verification together. (PLAN_ROUNDS is in study.h.) */
#define PLAN_ROUNDS_SHORT  10
#define PLAN_SHORT_ROUND_S 10.0
/* How many rounds there shall be once the first took so long. */
uint64_t plan_rounds_after(const struct study *study, double first_round_s);

struct plan_run {
	size_t item; /* index into study->cases */
	int round;   /* from 1 */
};

/* Blocks: every case once a round, the order shuffled anew in each round from the study's seed. */
struct plan {
	struct plan_run *runs;
	size_t count;
};

void plan_build(struct plan *plan, const struct study *study);
/* Adds rounds up to so many, as plan_build would have made them. */
void plan_extend(struct plan *plan, const struct study *study, uint64_t rounds);
void plan_free(struct plan *plan);

/* A guess before anything is measured: every byte is copied at PLAN_COPY_BPS and read back at
 * PLAN_VERIFY_BPS, plus PLAN_RUN_S for each run. Only there to tell minutes from hours. */
#define PLAN_COPY_BPS   (2.5e9)
#define PLAN_VERIFY_BPS (16e9)
#define PLAN_RUN_S      0.5
double plan_estimate_s(const struct plan *plan, uint64_t dataset_bytes);

#endif
