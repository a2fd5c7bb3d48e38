/* Tables of what a JSON object must hold, and the check against them. */
#ifndef LINEFILL_PROTOCOL_CHECK_H
#define LINEFILL_PROTOCOL_CHECK_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "harness/base/error.h"

enum member_type {
	MEMBER_TEXT,
	MEMBER_WHOLE,
	MEMBER_REAL,
	MEMBER_FLAG,
	MEMBER_LIST,
	MEMBER_OBJECT
};

/* A table of these ends with a NULL name. */
struct member {
	const char *name; /* NULL in each, below */
	enum member_type type;
	bool optional;
	const char *const *words;     /* TEXT: one of these, ends with NULL; NULL: any */
	int64_t min, max;             /* WHOLE; max 0: no bound but the type's */
	const struct member *each;    /* LIST and OBJECT: what every item is like, its name apart */
	const struct member *members; /* OBJECT without each: its table */
};

/* Everything in the tables (ends with NULL) is there, as they say, and nothing else; PEER, with the
 * member's name, where it is not so. */
int check_members(const json_t *object, const struct member *const *tables,
		  struct error *err) MUST_CHECK;

#endif
