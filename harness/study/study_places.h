/* Where a study reads and writes: folders that overlap, or that cannot hold what they are to hold,
 * are told before anything is made. Between study.c and its parts only. */
#ifndef LINEFILL_STUDY_STUDY_PLACES_H
#define LINEFILL_STUDY_STUDY_PLACES_H

#include "harness/base/error.h"
#include "harness/study/study.h"

/* CONFIG, with what to write instead. out: where the results go, or would be made; NULL: not in the
 * user's own tree for sure. */
int study_check_places(const struct study *study, const char *out, struct error *err) MUST_CHECK;

#endif
