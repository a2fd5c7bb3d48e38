#include "transports/tool/tool_build.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/text.h"

int tool_build_fail(const struct tool_builder *builder, unsigned line, const char *message)
{
	return error_set(builder->err, ERROR_CONFIG, 0, "%s:%u: %s", builder->path, line, message);
}

char *tool_build_copy(const char *text)
{
	char *copy = strdup(text);
	if (!copy)
		abort();
	return copy;
}

/* A list may be separated by blanks, commas or both. */
char **tool_build_list(const char *text)
{
	AUTO_FREE char *copy = tool_build_copy(text);
	for (char *s = copy; *s; s++)
		if (*s == ',' || *s == '"' || *s == '\'')
			*s = ' ';
	return text_split_words(copy, NULL);
}

/* Words of a command; an absent key leaves NULL. */
int tool_build_words(const struct tool_builder *builder, const struct tool_value *value,
		     const char *key, char ***words)
{
	if (!value->text)
		return 0;
	*words = text_split_words(value->text, builder->err);
	return *words ? 0 : error_wrap(builder->err, "%s:%u: %s", builder->path, value->line, key);
}

/* The index of the value among words; fallback when the key is absent. -1 is an error. */
int tool_build_choice(const struct tool_builder *builder, const struct tool_value *value,
		      const char *const *words, int fallback)
{
	if (!value->text)
		return fallback;
	AUTO_TEXT known = { 0 };
	for (int i = 0; words[i]; i++) {
		if (strcmp(words[i], value->text) == 0)
			return i;
		text_addf(&known, "%s%s", i ? ", " : "", words[i]);
	}
	AUTO_TEXT message = { 0 };
	text_addf(&message, "'%.80s' is none of: %s", value->text, text_string(&known));
	return tool_build_fail(builder, value->line, text_string(&message));
}
