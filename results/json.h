/* Rows as JSON: keys from the field table, unknown values are null. */
#ifndef LINEFILL_RESULTS_JSON_H
#define LINEFILL_RESULTS_JSON_H

#include <jansson.h>

#include "harness/api/result.h"

/* A new object; the caller decrefs it. Bytes that are not UTF-8 become \xNN, as JSON cannot hold
 * them. */
json_t *json_from_result(const struct result *result);

#endif
