/* The cases of a study: from settings to parsed options, with sweeps expanded. Between study.c and
 * study_cases.c only. */
#ifndef LINEFILL_STUDY_STUDY_CASES_H
#define LINEFILL_STUDY_STUDY_CASES_H

#include "harness/base/error.h"
#include "harness/study/study.h"
#include "harness/study/study_input.h"

/* Adds the cases that one section makes. */
int study_read_case(struct study *study, const struct study_input *input, size_t section,
		    struct error *err) MUST_CHECK;
void study_free_case(struct study_case *item);

#endif
