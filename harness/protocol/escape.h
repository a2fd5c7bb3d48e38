/* Texts of any bytes in JSON, which holds UTF-8 only. On the wire a backslash is two, and a byte
 * that is not part of well-formed UTF-8, or that drives terminals, is \xNN; in memory a text is
 * what it was. Names of members are escaped as values are. */
#ifndef LINEFILL_PROTOCOL_ESCAPE_H
#define LINEFILL_PROTOCOL_ESCAPE_H

#include <jansson.h>

#include "harness/base/error.h"

/* A copy that json_dumps can write; the caller's. */
json_t *escape_json(const json_t *value);
/* The other way; NULL and a PEER error for what escape_json does not write. */
json_t *unescape_json(const json_t *value, struct error *err) MUST_CHECK;

#endif
