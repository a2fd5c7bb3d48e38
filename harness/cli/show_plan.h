/* `run --plan`: what a study would do, and what it could tell. */
#ifndef LINEFILL_CLI_SHOW_PLAN_H
#define LINEFILL_CLI_SHOW_PLAN_H

#include <stdbool.h>

#include "harness/base/error.h"
#include "harness/study/study.h"

/* Runs nothing. noise_from: a results folder that tells how much rates scatter, or NULL: the newest
 * of this study, if there is one. all_pairs: every case is to be held against every other. CONFIG
 * where noise_from holds nothing to go by. */
int show_plan(const struct study *study, const char *noise_from, bool all_pairs,
	      struct error *err) MUST_CHECK;

#endif
