/* A command line of a tool file: words, split once when the file is read, with placeholders
 * written {name} that expand inside their word, so that no value can ever become two words or a
 * shell's syntax. "{{" is a brace. */
#ifndef LINEFILL_TRANSPORTS_TOOL_TOOL_TEMPLATE_H
#define LINEFILL_TRANSPORTS_TOOL_TOOL_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/error.h"

#define TOOL_NAME_MAX 48 /* of a tool, an option or a placeholder */

/* An argv in the making. items ends with NULL once something was added. */
struct tool_words {
	char **items;
	size_t count;
	size_t bytes;
};

void tool_words_free(struct tool_words *words);
#define AUTO_WORDS __attribute__((cleanup(tool_words_free))) struct tool_words
/* Copies the word. CONFIG when the command grows beyond reason. */
int tool_words_add(struct tool_words *words, const char *word, struct error *err) MUST_CHECK;

/* Puts the program's absolute path in place of a bare name: the sbin folders count, too.
 * UNAVAILABLE when it is not there. */
int tool_words_find_program(struct tool_words *words, struct error *err) MUST_CHECK;

/* Says what placeholders stand for. */
struct tool_resolver {
	/* Adds the words that name stands for: none, one, or several. */
	int (*resolve)(const char *name, const void *context, struct tool_words *out,
		       struct error *err);
	const void *context;
};

/* Calls visit for each placeholder in a NULL-terminated array of words. Stops at the first -1.
 * CONFIG for a brace that is not closed or a name that cannot be one. */
int tool_template_visit(const char *const *line,
			int (*visit)(const char *name, void *context, struct error *err),
			void *context, struct error *err) MUST_CHECK;
/* Expands every word of the line and adds the result to out. A word that is nothing but one
 * placeholder becomes the words that it stands for, or vanishes when there are none; inside a
 * longer word they are joined by blanks. */
int tool_template_expand(const char *const *line, const struct tool_resolver *resolver,
			 struct tool_words *out, struct error *err) MUST_CHECK;

#endif
