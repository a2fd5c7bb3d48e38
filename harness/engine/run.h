/* One run's life: everything ready, both halves started, waited for, verified, made into a row. An
 * error anywhere becomes a row. A run owns a list of pairs. */
#ifndef LINEFILL_ENGINE_RUN_H
#define LINEFILL_ENGINE_RUN_H

#include "harness/api/result.h"
#include "harness/engine/pair.h"

struct run {
	const struct study *study;
	const struct study_case *item;
	struct pair *pairs;
	size_t pairs_count;
	const char *study_id;
	const char *version; /* of the transport, as probed; may be "" */
	int round;
	struct text *command; /* gets the driving end's command where it is a tool's; or NULL */
};

/* The row without a run: what is planned, everything measured unknown. */
void run_describe(const struct run *run, size_t pair, struct result *row);
/* Puts an error's status and text into a row. */
void run_set_error(struct result *row, const struct error *err);
/* Fills one row a pair. */
void run_case(const struct run *run, struct result *rows, const struct cancel *cancel);

#endif
