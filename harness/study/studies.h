/* The study files that come with linefill. */
#ifndef LINEFILL_STUDY_STUDIES_H
#define LINEFILL_STUDY_STUDIES_H

#include <stddef.h>

#include "harness/base/error.h"

/* The path of a study given as a file, or as the name of one that comes with linefill
 * ("first-study"). What is neither comes back as it is: opening it tells what is wrong. The caller
 * frees. */
char *studies_find(const char *name);
/* Where they are; the caller frees. NULL: UNAVAILABLE. */
char *studies_folder(struct error *err) MUST_CHECK;

#endif
