#include "harness/study/plan.h"

#include <stdlib.h>

#include "harness/base/cleanup.h"
#include "harness/base/random.h"

/* The round's cases, in an order of its own. */
static void add_round(struct plan *plan, const struct study *study, size_t *order, size_t round)
{
	struct random random;
	for (size_t i = 0; i < study->cases_count; i++)
		order[i] = i;
	random_seed(&random, random_mix(study->settings.seed, round));
	random_shuffle(&random, order, study->cases_count);
	for (size_t i = 0; i < study->cases_count; i++)
		plan->runs[plan->count++] =
			(struct plan_run){ .item = order[i], .round = (int)round };
}

void plan_extend(struct plan *plan, const struct study *study, uint64_t rounds)
{
	size_t cases = study->cases_count;
	AUTO_FREE size_t *order = calloc(cases + 1, sizeof(*order));
	struct plan_run *runs =
		reallocarray(plan->runs, cases * (size_t)rounds + 1, sizeof(*plan->runs));
	if (!runs || !order)
		abort();
	plan->runs = runs;
	for (size_t round = cases ? plan->count / cases + 1 : 1; round <= rounds; round++)
		add_round(plan, study, order, round);
}

void plan_build(struct plan *plan, const struct study *study)
{
	*plan = (struct plan){ 0 };
	plan_extend(plan, study, study->settings.rounds);
}

uint64_t plan_rounds_after(const struct study *study, double first_round_s)
{
	bool extend = !study->rounds_set && study->settings.rounds < PLAN_ROUNDS_SHORT &&
		      first_round_s < PLAN_SHORT_ROUND_S;
	return extend ? PLAN_ROUNDS_SHORT : study->settings.rounds;
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
