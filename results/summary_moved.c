/* How much of the payload travelled: a file that is one hole may be right at the sink without a
 * byte of it on the line. What compression saves is no matter here. */
#include "results/summary.h"

/* So much is all: what lies at the end of blocks is no matter. */
#define ALL 0.99

bool summary_is_less(int64_t bytes, const struct result *row)
{
	return bytes != RESULT_UNKNOWN_COUNT && row->payload_bytes > 0 &&
	       (double)bytes < ALL * (double)row->payload_bytes;
}

/* What was sent, where that is known; else what lies at the sink. */
int64_t summary_moved_bytes(const struct result *row)
{
	return row->line_bytes != RESULT_UNKNOWN_COUNT ? row->line_bytes : row->data_sink_bytes;
}

const struct result *summary_least_moved(const struct summary_case *one)
{
	const struct result *least = NULL;
	for (size_t i = 0; i < one->counted_size; i++) {
		const struct result *row = one->counted[i];
		if (summary_is_less(summary_moved_bytes(row), row) &&
		    (!least || summary_moved_bytes(row) < summary_moved_bytes(least)))
			least = row;
	}
	return least;
}

void summary_set_apart(struct summary *summary)
{
	bool whole = false;
	for (size_t i = 0; i < summary->count; i++) {
		struct summary_case *one = &summary->cases[i];
		one->moved_less = one->kind == CASE_RANKED && summary_least_moved(one) != NULL;
		whole = whole || (one->kind == CASE_RANKED && !one->moved_less);
	}
	for (size_t i = 0; whole && i < summary->count; i++)
		if (summary->cases[i].moved_less)
			summary->cases[i].kind = CASE_PART;
}
