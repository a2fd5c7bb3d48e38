/* Cases that the user names: those to run, and the one to be held against the others. Between
 * study.c and study_choice.c only. */
#ifndef LINEFILL_STUDY_STUDY_CHOICE_H
#define LINEFILL_STUDY_STUDY_CHOICE_H

#include "harness/base/error.h"
#include "harness/study/study.h"
#include "harness/study/study_input.h"

/* Drops all cases but those named. The input tells what the command line has for the others. */
int study_keep_only(struct study *study, const struct study_input *input, const char *const *only,
		    struct error *err) MUST_CHECK;
/* Sets study->baseline to the name of the one case that [study] baseline means; CONFIG where it is
 * none, or several. To be called when only cases are left that run. */
int study_settle_baseline(struct study *study, const struct study_input *input,
			  struct error *err) MUST_CHECK;

#endif
