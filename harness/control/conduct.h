/* A whole study: the agents, every planned run, every row, the record of it all. */
#ifndef LINEFILL_CONTROL_CONDUCT_H
#define LINEFILL_CONTROL_CONDUCT_H

#include <stdbool.h>

#include "harness/api/result.h"
#include "harness/study/safety.h"
#include "harness/study/study.h"

/* Called as things happen; any may be NULL. position counts planned runs from 0. */
struct conduct_watch {
	void (*phase)(const char *what, void *context);
	void (*run_started)(const struct study_case *item, int round, size_t position, size_t count,
			    void *context);
	void (*run_ended)(const struct result *row, void *context);
	void (*note)(const char *text, void *context); /* what no row tells */
	/* More rounds than were planned, since the first took so little. */
	void (*more_rounds)(uint64_t rounds, double first_round_s, void *context);
	void *context;
};

struct conduct_order {
	const struct study *study;
	const char *folder;           /* results go here: existing, empty */
	const char *const *arguments; /* the command line, for the record; ends with NULL */
	const char *const *tool_folders;
	struct safety_leave leave;
	const struct cancel *cancel;
	const struct conduct_watch *watch;
};

struct conduct_outcome {
	bool all_fine; /* every row is ok, unsupported or unavailable */
	bool cancelled;
};

/* Errors of runs are rows; what is returned as an error kept the study from being recorded at all.
 */
int conduct_study(const struct conduct_order *order, struct conduct_outcome *outcome,
		  struct error *err) MUST_CHECK;

#endif
