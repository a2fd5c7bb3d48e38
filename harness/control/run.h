/* One run's life: everything ready, both halves started, waited for, verified, made into a row. An
 * error anywhere becomes a row. A run owns a list of pairs. */
#ifndef LINEFILL_CONTROL_RUN_H
#define LINEFILL_CONTROL_RUN_H

#include "harness/api/result.h"
#include "harness/control/pair.h"

struct run {
	const struct study *study;
	const struct study_case *item; /* one of the study's */
	struct pair *pairs;
	size_t pairs_count;
	const char *study_id;
	const char *version; /* of the transport, as probed; may be "" */
	int round;
	bool last;            /* no other run follows */
	bool open_listener;   /* the user allows listeners on any address */
	struct text *command; /* gets the driving end's command where it is a tool's; or NULL */
};

/* Fills one row a pair. */
void run_case(const struct run *run, struct result *rows, const struct cancel *cancel);

#endif
