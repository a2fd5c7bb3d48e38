/* What keeps a case of a study from running, as far as the study itself and the look of its dataset
 * tell: told by --plan, before the dataset is made, and again when it is there. What is installed,
 * and what the user allows, is not looked at here. */
#ifndef LINEFILL_STUDY_HINDRANCE_H
#define LINEFILL_STUDY_HINDRANCE_H

#include "harness/api/manifest.h"
#include "harness/study/study.h"

/* The totals that a quick look at the dataset gave; no entries. */
struct manifest hindrance_estimate(const struct study *study);
/* UNSUPPORTED or UNAVAILABLE, with the reason. */
int hindrance_find(const struct study *study, const struct study_case *item,
		   const struct manifest *totals, struct error *err) MUST_CHECK;
/* UNSUPPORTED where a tree that is used in place is to be cut in shares. */
int hindrance_share(const struct study *study, uint64_t instances, struct error *err) MUST_CHECK;

#endif
