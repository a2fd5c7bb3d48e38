/* A tool file (tools/NAME.ini) as data: what is written in it, checked. Runs nothing.
 *
 * [tool]
 *   name         the file's name without .ini when missing
 *   summary      one line
 *   driver       source (pushes, the default) or sink (pulls): the end where `run` is run
 *   needs        services at the other end: sshd
 *   caps         symlinks, empty-folders, any-name, empty-tree, holes, streams, split-file, resume,
 *                open-listener, memory
 *   plain        yes: data always travels unencrypted
 *   probe        command that prints the version
 *   version      POSIX extended regular expression with one group, searched in probe's output
 *   prepare      command for the driving end, run before the clock starts; it cannot see the data
 *   run          command that copies what is in {src} into {dst}, an empty folder
 *   into         command that gets run's output as its input, when run alone is half of it
 *   serve        command of a server at the other end, for tools that bring their own
 *   serve_until  driver (it is stopped when the driving end is done, the default) or exit (it ends
 *                by itself when it has everything; its exit status counts)
 *   environment  NAME=value words, for all of them
 * [preserve]
 *   content, mode, all   words that {preserve} stands for; a missing mode or all is unsupported
 * [option NAME]
 *   type         flag, count, size, number, choice, text, list
 *   default, min, max, unit, choices, help
 *   on           words that {NAME} stands for when the option is not at its default (a flag: is
 *                yes), with {value} for the value; without it {NAME} is the value
 *   off          a flag's words when it is no
 *   plain        values with which data travels unencrypted
 *
 * An indented line continues the one before. A line has at most 198 bytes. */
#ifndef LINEFILL_TRANSPORTS_TOOL_FILE_H
#define LINEFILL_TRANSPORTS_TOOL_FILE_H

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

/* Words of the option besides its row in defs. Arrays end with NULL; NULL where not given. */
struct tool_option {
	char **on, **off;
	char **choices;
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
	char *version;
	char **probe, **prepare, **run, **into, **serve, **environment;
	char **preserve[TOOL_PRESERVES];
	struct option_def defs[TOOL_OPTIONS_MAX + 1];
	struct tool_option options[TOOL_OPTIONS_MAX]; /* in the order of defs */
	size_t option_count;
	size_t options_size;
};

/* Reads text as if it were the file at path. The error is CONFIG and starts with path:line. */
int tool_file_parse(const char *path, const char *text, size_t count, struct tool_file **file,
		    struct error *err) MUST_CHECK;
void tool_file_free(struct tool_file *file);

/* The names that every command may use; ends with NULL. Those from the service need `needs`. */
extern const char *const tool_placeholders[];
extern const char *const tool_service_placeholders[];

#endif
