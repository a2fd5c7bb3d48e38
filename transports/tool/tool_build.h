/* From the text of a tool file's keys to what they mean: for tool_file.c and tool_options.c. */
#ifndef LINEFILL_TRANSPORTS_TOOL_TOOL_BUILD_H
#define LINEFILL_TRANSPORTS_TOOL_TOOL_BUILD_H

#include "harness/base/error.h"
#include "transports/tool/tool_file.h"
#include "transports/tool/tool_raw.h"

/* What the conversion of one file needs to know everywhere. */
struct tool_builder {
	const char *path;
	const struct tool_raw *raw;
	struct tool_file *file;
	struct error *err;
};

/* A CONFIG error at that line. Always -1. */
int tool_build_fail(const struct tool_builder *builder, unsigned line, const char *message);
/* A copy; never NULL. */
char *tool_build_copy(const char *text);
/* Words separated by blanks, commas or both: one block, to be freed. */
char **tool_build_list(const char *text);
/* Words of a command, as one block; an absent key leaves *words alone. */
int tool_build_words(const struct tool_builder *builder, const struct tool_value *value,
		     const char *key, char ***words) MUST_CHECK;
/* The index of the value among words, which end with NULL; fallback when the key is absent. -1 is
 * an error. */
int tool_build_choice(const struct tool_builder *builder, const struct tool_value *value,
		      const char *const *words, int fallback);
/* All [option NAME] sections. */
int tool_build_options(const struct tool_builder *builder) MUST_CHECK;

#endif
