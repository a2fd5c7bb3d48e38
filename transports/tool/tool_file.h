/* A tool file (tools/NAME.ini) as data: what is written in it, checked. Runs nothing. All sections,
 * keys, caps and placeholders are explained in docs/tools.md, which a test holds against the
 * parser's tables. */
#ifndef LINEFILL_TRANSPORTS_TOOL_TOOL_FILE_H
#define LINEFILL_TRANSPORTS_TOOL_TOOL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/api/manifest.h"
#include "harness/api/xfer.h"
#include "harness/base/error.h"
#include "harness/base/option.h"

#define TOOL_FILE_BYTES_MAX (64u << 10)
#define TOOL_OPTIONS_MAX    32
#define TOOL_NEEDS_MAX      4
#define TOOL_PRESERVES      (PRESERVE_ALL + 1)
#define TOOL_TEXTS_MAX      4
#define TOOL_PORTS_MAX      64

/* Words of the option besides its row in defs. Arrays end with NULL; NULL where not given. */
struct tool_option {
	char **on, **off;
	char **choices;
	bool split; /* the value stands for several words */
};

enum tool_verifies { TOOL_VERIFIES_NO, TOOL_VERIFIES_YES, TOOL_VERIFIES_OPTION };
extern const char *const tool_verifies_names[]; /* ends with NULL */

/* A file that is written for each run; text and each may be NULL. */
struct tool_text {
	char *name, *text, *each;
	bool needs_port;
};

/* All strings and arrays belong to it. Commands are words with placeholders; NULL where not given.
 */
struct tool_file {
	char *name, *summary;
	enum xfer_side driver;
	char **needs;
	uint32_t caps;
	bool plain;
	bool serve_until_exit;
	enum tool_verifies verifies;
	char *version, *counted, *tested;
	double counted_unit;
	uint64_t ports;
	char **probe, **prepare, **run, **into, **input, **serve, **serve_into, **environment;
	char **ciphers, **macs, **programs, **far_programs, **packages, **plain_twins;
	char **preserve[TOOL_PRESERVES];
	struct option_def defs[TOOL_OPTIONS_MAX + 1];
	struct tool_option options[TOOL_OPTIONS_MAX]; /* in the order of defs */
	size_t option_count;
	size_t options_size;
	struct tool_text texts[TOOL_TEXTS_MAX];
	size_t text_count;
};

/* Reads text as if it were the file at path. The error is CONFIG and starts with path:line. */
int tool_file_parse(const char *path, const char *text, size_t count, struct tool_file **file,
		    struct error *err) MUST_CHECK;
void tool_file_free(struct tool_file *file);

/* The names that every command may use; ends with NULL. Those from the service need `needs`. */
extern const char *const tool_placeholders[];
extern const char *const tool_service_placeholders[];

#endif
