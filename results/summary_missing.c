#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "results/summary.h"

/* Beyond what a study can have; study.json may say anything. */
#define CASES_MAX  1000
#define ROUNDS_MAX 1000

static bool stands_for_all(const struct result *row)
{
	return row->status == STATUS_UNSUPPORTED || row->status == STATUS_UNAVAILABLE;
}

static size_t rounds_without_row(const struct results *results, const char *name, size_t rounds)
{
	bool seen[ROUNDS_MAX] = { false };
	size_t missing = rounds;
	for (size_t i = 0; i < results->count; i++) {
		const struct result *row = &results->rows[i];
		if (strcmp(row->case_name, name) != 0)
			continue;
		if (stands_for_all(row))
			return 0;
		if (row->round < 1 || (size_t)row->round > rounds || seen[row->round - 1])
			continue;
		seen[row->round - 1] = true;
		missing--;
	}
	return missing;
}

void summary_expect(struct summary *summary, const struct results *results, const json_t *study)
{
	json_int_t rounds = json_integer_value(json_object_get(study, "rounds"));
	size_t cases = json_array_size(json_object_get(study, "cases"));
	if (rounds < 1 || rounds > ROUNDS_MAX || cases < summary->count || cases > CASES_MAX)
		return;
	summary->planned = cases * (size_t)rounds;
	summary->missing = (cases - summary->count) * (size_t)rounds;
	for (size_t i = 0; i < summary->count; i++) {
		struct summary_case *one = &summary->cases[i];
		one->missing = rounds_without_row(results, one->row->case_name, (size_t)rounds);
		summary->missing += one->missing;
	}
}

void summary_missing_text(const struct summary *summary, struct text *out)
{
	if (summary->missing == 0)
		return;
	text_addf(out,
		  "%zu of %zu planned runs have no row: the study was killed before its end, or "
		  "still runs",
		  summary->missing, summary->planned);
}
