/* The keys of a study file, from the tables that read it. */
#ifndef LINEFILL_CLI_LIST_KEYS_H
#define LINEFILL_CLI_LIST_KEYS_H

#include <jansson.h>

#include "harness/base/error.h"
#include "harness/base/text.h"

/* A section each, or only the one of that name, with values, units and defaults. CONFIG for a
 * section that there is not. */
int list_keys(const char *section, struct text *out, struct error *err) MUST_CHECK;
/* The same as an array of objects, for the caller to decref; "name" is what --set takes. */
json_t *list_keys_json(void);

#endif
