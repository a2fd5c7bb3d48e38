#include "harness/study/plan.h"

#include <stdlib.h>

#include "harness/base/cleanup.h"
#include "harness/base/random.h"

void plan_build(struct plan *plan, const struct study *study)
{
	size_t cases = study->cases_count;
	size_t rounds = (size_t)study->settings.rounds;
	plan->count = cases * rounds;
	plan->runs = calloc(plan->count + 1, sizeof(*plan->runs));
	AUTO_FREE size_t *order = calloc(cases + 1, sizeof(*order));
	if (!plan->runs || !order)
		abort();
	for (size_t round = 0; round < rounds; round++) {
		struct random random;
		for (size_t i = 0; i < cases; i++)
			order[i] = i;
		random_seed(&random, random_mix(study->settings.seed, round + 1));
		random_shuffle(&random, order, cases);
		for (size_t i = 0; i < cases; i++)
			plan->runs[round * cases + i] =
				(struct plan_run){ .item = order[i], .round = (int)round + 1 };
	}
}

void plan_free(struct plan *plan)
{
	free(plan->runs);
	*plan = (struct plan){ 0 };
}

double plan_estimate_s(const struct plan *plan, uint64_t dataset_bytes)
{
	double bits = (double)dataset_bytes * 8;
	return (double)plan->count * (bits / PLAN_COPY_BPS + bits / PLAN_VERIFY_BPS + PLAN_RUN_S);
}
