/* Which runs there are, in which order, and how long they may take. */
#ifndef LINEFILL_STUDY_PLAN_H
#define LINEFILL_STUDY_PLAN_H

#include <stddef.h>

#include "harness/study/study.h"

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
void plan_free(struct plan *plan);

/* A guess before anything is measured: every byte is copied at PLAN_COPY_BPS and read back at
 * PLAN_VERIFY_BPS, plus PLAN_RUN_S for each run. Only there to tell minutes from hours. */
#define PLAN_COPY_BPS   (2.5e9)
#define PLAN_VERIFY_BPS (16e9)
#define PLAN_RUN_S      0.5
double plan_estimate_s(const struct plan *plan, uint64_t dataset_bytes);

#endif
