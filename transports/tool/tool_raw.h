/* The INI layer of a tool file: which keys there are, their text and their lines; no meaning yet.
 */
#ifndef LINEFILL_TRANSPORTS_TOOL_TOOL_RAW_H
#define LINEFILL_TRANSPORTS_TOOL_TOOL_RAW_H

#include <stddef.h>

#include "harness/base/error.h"
#include "transports/tool/tool_file.h"

enum tool_key {
	TOOL_NAME,
	TOOL_SUMMARY,
	TOOL_DRIVER,
	TOOL_NEEDS,
	TOOL_CAPS,
	TOOL_PLAIN,
	TOOL_PROBE,
	TOOL_VERSION,
	TOOL_PREPARE,
	TOOL_RUN,
	TOOL_INTO,
	TOOL_INPUT,
	TOOL_SERVE,
	TOOL_SERVE_INTO,
	TOOL_SERVE_UNTIL,
	TOOL_PORTS,
	TOOL_ENVIRONMENT,
	TOOL_COUNTED,
	TOOL_COUNTED_UNIT,
	TOOL_CIPHERS,
	TOOL_MACS,
	TOOL_PROGRAMS,
	TOOL_FAR_PROGRAMS,
	TOOL_TESTED,
	TOOL_VERIFIES,
	TOOL_PACKAGES,
	TOOL_PLAIN_TWINS,
	TOOL_KEYS
};

enum tool_option_key {
	TOOL_OPTION_TYPE,
	TOOL_OPTION_DEFAULT,
	TOOL_OPTION_MIN,
	TOOL_OPTION_MAX,
	TOOL_OPTION_UNIT,
	TOOL_OPTION_CHOICES,
	TOOL_OPTION_ON,
	TOOL_OPTION_OFF,
	TOOL_OPTION_PLAIN,
	TOOL_OPTION_HELP,
	TOOL_OPTION_KEYS
};

enum tool_text_key { TOOL_TEXT_ONCE, TOOL_TEXT_EACH, TOOL_TEXT_KEYS };

/* All arrays end with NULL and are in the order of their enum. */
extern const char *const tool_text_key_names[];
extern const char *const tool_key_names[];
extern const char *const tool_option_key_names[];

/* text is NULL for a key that is not there; line counts from 1. */
struct tool_value {
	char *text;
	unsigned line;
};

struct tool_raw_option {
	char *name;
	unsigned line;
	struct tool_value values[TOOL_OPTION_KEYS];
};

/* A [file NAME]. Its values keep their line breaks. */
struct tool_raw_text {
	char *name;
	unsigned line;
	struct tool_value values[TOOL_TEXT_KEYS];
};

struct tool_raw {
	struct tool_value tool[TOOL_KEYS];
	struct tool_value preserve[TOOL_PRESERVES];
	struct tool_raw_option options[TOOL_OPTIONS_MAX];
	size_t option_count;
	struct tool_raw_text texts[TOOL_TEXTS_MAX];
	size_t text_count;
};

int tool_raw_parse(const char *path, const char *text, size_t count, struct tool_raw *raw,
		   struct error *err) MUST_CHECK;
void tool_raw_free(struct tool_raw *raw);

#endif
