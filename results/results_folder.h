/* A results folder as it is read again: its rows, its record, and what they say together. */
#ifndef LINEFILL_RESULTS_RESULTS_FOLDER_H
#define LINEFILL_RESULTS_RESULTS_FOLDER_H

#include <jansson.h>
#include <stdbool.h>

#include "harness/base/error.h"
#include "results/csv.h"
#include "results/summary.h"

struct results_folder {
	struct results rows; /* cases in the order of the study, each case's in order of time */
	json_t *study;       /* never NULL; an empty object where study.json is missing */
	struct summary summary;
};

/* all_pairs: every case is held against every other; else the fastest is, or the study's baseline.
 * CONFIG where runs.csv is not what it should be. On failure there is nothing to free. */
int results_folder_read(struct results_folder *data, const char *folder, bool all_pairs,
			struct error *err) MUST_CHECK;
void results_folder_free(struct results_folder *data);

#endif
