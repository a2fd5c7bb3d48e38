/* Names and labels by which cases are told apart, in the study and in the rows, which hold only the
 * start of a long one. Between study.c and its parts only. */
#ifndef LINEFILL_STUDY_STUDY_NAMES_H
#define LINEFILL_STUDY_STUDY_NAMES_H

#include <stdbool.h>

#include "harness/base/error.h"
#include "harness/study/study.h"

/* The item, a case of the study, gets a number where its name is that of another section's case;
 * without numbered, that is an error, as it always is within one section. */
int study_settle_name(const struct study *study, struct study_case *item, bool numbered,
		      struct error *err) MUST_CHECK;
/* The label of a case with all its options: the given one (NULL: its name), with what was swept,
 * and in brackets what must be seen of how it was measured. The caller frees. */
char *study_make_label(const struct study *study, const struct study_case *item, const char *given);
/* A made label that another case has gets a number; two given ones are an error. */
int study_tell_labels_apart(struct study *study, struct error *err) MUST_CHECK;

/* Rows say what was asked, whole: CONFIG where the dataset's or a case's text is longer than their
 * field. */
int study_check_rows(const struct study *study, struct error *err) MUST_CHECK;

#endif
