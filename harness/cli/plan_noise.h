/* How much rates scatter here, out of the results of an earlier study. */
#ifndef LINEFILL_CLI_PLAN_NOISE_H
#define LINEFILL_CLI_PLAN_NOISE_H

#include "harness/base/error.h"

/* Where `run` puts its results, as NAME-UTCTIME. */
#define RESULTS_FOLDER "linefill-results"
/* What is taken without an earlier study. */
#define PLAN_NOISE_GUESS 0.10

struct plan_noise {
	double ratio; /* standard deviation of the log ratio of two runs of a round */
	char *folder; /* where it was seen; NULL: nowhere */
};
/* From that folder; CONFIG where it has no two cases with 2 rounds in common. NULL: from the newest
 * results of the study of that name in RESULTS_FOLDER, else the guess. */
int plan_noise_find(struct plan_noise *noise, const char *study_name, const char *folder,
		    struct error *err) MUST_CHECK;
void plan_noise_free(struct plan_noise *noise);

#endif
