/* Options as they travel between controller and agents: a JSON object with every option of the
 * table, each as a user would write its value. */
#ifndef LINEFILL_PROTOCOL_OPTION_OBJECT_H
#define LINEFILL_PROTOCOL_OPTION_OBJECT_H

#include <jansson.h>

#include "harness/base/option.h"

json_t *option_object(const struct option_def *defs, const void *values);
/* The other way. A missing option is a PEER error, whatever its default; an unknown one, and a
 * value that does not fit, are as in option_set. */
int option_object_read(const json_t *object, const struct option_def *defs, void *values,
		       struct error *err) MUST_CHECK;

#endif
