/* study.json: what the engine recorded about a study, beside its rows. */
#ifndef LINEFILL_RESULTS_STUDY_JSON_H
#define LINEFILL_RESULTS_STUDY_JSON_H

#include <jansson.h>

#include "harness/base/error.h"

/* An object, for the caller to decref, empty where the folder has no study.json; NULL after an
 * error. Nothing in it is checked. */
int study_json_read(const char *folder, json_t **study, struct error *err) MUST_CHECK;
/* The case of that name, or NULL. */
const json_t *study_json_case(const json_t *study, const char *name);
/* A member that is text, or "". */
const char *study_json_string(const json_t *object, const char *key);

#endif
