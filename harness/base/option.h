/* Typed option tables. One table drives the command line (-t multi:streams=8), the study file,
 * help, range checks, the agent message and the CSV's options column. A table is an array that ends
 * with a row whose name is NULL; values live in a struct of the owner's, each at its row's offset.
 */
#ifndef LINEFILL_BASE_OPTION_H
#define LINEFILL_BASE_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"
#include "harness/base/text.h"

#define OPTION_TEXT_SIZE 256

enum option_type {
	OPTION_FLAG,   /* bool: yes, no, on, off, true, false, 1, 0 */
	OPTION_COUNT,  /* uint64_t within [min, max] */
	OPTION_SIZE,   /* uint64_t bytes, "64KiB", within [min, max]; below 1 KiB with its unit */
	OPTION_NUMBER, /* double within [min, max]; where unit is "s" also "250ms", "5m",
			  "2h", where it is "bit/s" also "10Gbit/s" */
	OPTION_CHOICE, /* int: index into choices */
	OPTION_TEXT,   /* char[OPTION_TEXT_SIZE], blanks, commas and all; "" is none */
	OPTION_LIST,   /* the same, of names without blanks; written "a,b", "a, b" or "a+b", kept as
			  "a,b". A + at the start is part of the first name. */
};

struct option_def {
	const char *name;
	enum option_type type;
	size_t offset;              /* of the value in the owner's struct */
	const char *fallback;       /* default, in the form a user would write it; never NULL */
	const char *unit;           /* "s", "bytes", "%" ... or NULL */
	double min, max;            /* COUNT, SIZE and NUMBER; max == 0 means no bound */
	const char *const *choices; /* CHOICE: ends with NULL */
	const char *plain; /* values (separated by blanks) with which data travels unencrypted, or
			      NULL */
	bool shown;        /* changes what is measured: what is not the default stands in the label,
			      whatever the user calls it */
	const char *help;  /* one line */
};

/* Sets every value to its fallback. Fails only for a table whose fallback does not parse (a bug, or
 * a bad tool file). */
int option_defaults(const struct option_def *defs, void *values, struct error *err) MUST_CHECK;
/* One key and value as the user wrote them. An unknown key is a CONFIG error that names the nearest
 * one. */
int option_set(const struct option_def *defs, void *values, const char *key, const char *value,
	       struct error *err) MUST_CHECK;
/* "key=value,key=value". A flag may stand alone. In a TEXT or a LIST the commas up to the next
 * known option belong to the value. */
int option_set_all(const struct option_def *defs, void *values, const char *string,
		   struct error *err) MUST_CHECK;
/* The next "key=value" of such a string, cut up in place: *rest moves on, *value is "yes" for a
 * lone flag and NULL for another lone word. NULL at the end. */
char *option_next(const struct option_def *defs, char **rest, char **value);
/* A list without the blanks beside its commas; anything else as it is. The caller frees. */
char *option_tidy(const struct option_def *def, const char *value);
/* Is the value, as written, several of them, separated by blanks? def may be NULL. */
bool option_is_swept(const struct option_def *def, const char *value);
/* The row of that name, or NULL. */
const struct option_def *option_find(const struct option_def *defs, const char *name);
/* One value as a user would write it. */
void option_value_text(const struct option_def *def, const void *values, struct text *out);
/* "key=value,..." in table order; only what differs from the fallback unless all. option_set_all
 * reads it back. */
void option_format(const struct option_def *defs, const void *values, bool all, struct text *out);
/* Lines for --help: name, values, unit, default, help; each starts with indent blanks. */
void option_help(const struct option_def *defs, int indent, struct text *out);
/* True if any option has a value listed in its plain column. */
bool option_is_plain(const struct option_def *defs, const void *values);

#endif
