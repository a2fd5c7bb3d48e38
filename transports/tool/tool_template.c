#include "transports/tool/tool_template.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/child.h"
#include "harness/base/cleanup.h"
#include "harness/base/text.h"

#define WORDS_MAX 1024
#define BYTES_MAX (64u << 10)

void tool_words_free(struct tool_words *words)
{
	for (size_t i = 0; i < words->count; i++)
		free(words->items[i]);
	free(words->items);
	*words = (struct tool_words){ 0 };
}

int tool_words_add(struct tool_words *words, const char *word, struct error *err)
{
	size_t length = strlen(word);
	if (words->count >= WORDS_MAX || words->bytes + length > BYTES_MAX)
		return error_set(err, ERROR_CONFIG, 0, "the command is longer than %u bytes",
				 BYTES_MAX);
	char **grown = realloc(words->items, (words->count + 2) * sizeof(*grown));
	if (!grown)
		abort();
	words->items = grown;
	char *copy = strdup(word);
	if (!copy)
		abort();
	grown[words->count++] = copy;
	grown[words->count] = NULL;
	words->bytes += length;
	return 0;
}

int tool_words_find_program(struct tool_words *words, struct error *err)
{
	if (words->count == 0 || !words->items[0][0])
		return error_set(err, ERROR_CONFIG, 0, "the command is empty");
	if (strchr(words->items[0], '/'))
		return 0;
	char *path = child_find_program(words->items[0], err);
	if (!path)
		return -1;
	free(words->items[0]);
	words->items[0] = path;
	return 0;
}

/* What comes next in a word: text as it stands, or the name of a placeholder. */
struct piece {
	bool is_name;
	char name[TOOL_NAME_MAX];
	const char *start; /* of the text */
	size_t length;
};

static int next_name(const char **cursor, struct piece *piece, struct error *err)
{
	const char *start = *cursor + 1;
	size_t length = strcspn(start, "{}");
	if (start[length] != '}')
		return error_set(err, ERROR_CONFIG, 0,
				 "'{%.40s': the brace is not closed (write {{ for a brace)", start);
	if (length == 0 || length >= TOOL_NAME_MAX)
		return error_set(err, ERROR_CONFIG, 0, "'{%.*s}' is no placeholder",
				 (int)(length > 60 ? 60 : length), start);
	memcpy(piece->name, start, length);
	piece->name[length] = '\0';
	piece->is_name = true;
	*cursor = start + length + 1;
	return 0;
}

/* 1 and a piece, 0 at the end of the word, -1 on error. */
static int next_piece(const char **cursor, struct piece *piece, struct error *err)
{
	const char *s = *cursor;
	*piece = (struct piece){ .start = s };
	if (!*s)
		return 0;
	if (s[0] == '{' && s[1] == '{') {
		piece->length = 1;
		*cursor = s + 2;
		return 1;
	}
	if (s[0] == '{')
		return next_name(cursor, piece, err) < 0 ? -1 : 1;
	piece->length = strcspn(s, "{");
	*cursor = s + piece->length;
	return 1;
}

int tool_template_visit(const char *const *line,
			int (*visit)(const char *name, void *context, struct error *err),
			void *context, struct error *err)
{
	for (; line && *line; line++) {
		const char *cursor = *line;
		struct piece piece;
		int more;
		while ((more = next_piece(&cursor, &piece, err)) > 0)
			if (piece.is_name && visit(piece.name, context, err) < 0)
				return -1;
		if (more < 0)
			return -1;
	}
	return 0;
}

/* Adds what a placeholder inside a longer word stands for. */
static int add_joined(const char *name, const struct tool_resolver *resolver, struct text *word,
		      struct error *err)
{
	AUTO_WORDS values = { 0 };
	if (resolver->resolve(name, resolver->context, &values, err) < 0)
		return -1;
	for (size_t i = 0; i < values.count; i++)
		text_addf(word, "%s%s", i ? " " : "", values.items[i]);
	return 0;
}

static int expand_word(const char *line, const struct tool_resolver *resolver,
		       struct tool_words *out, struct error *err)
{
	const char *cursor = line;
	struct piece piece;
	int more = next_piece(&cursor, &piece, err);
	if (more > 0 && piece.is_name && !*cursor)
		return resolver->resolve(piece.name, resolver->context, out, err);
	AUTO_TEXT word = { 0 };
	for (; more > 0; more = next_piece(&cursor, &piece, err)) {
		if (!piece.is_name)
			text_add_bytes(&word, piece.start, piece.length);
		else if (add_joined(piece.name, resolver, &word, err) < 0)
			return -1;
	}
	return more < 0 ? -1 : tool_words_add(out, text_string(&word), err);
}

int tool_template_expand(const char *const *line, const struct tool_resolver *resolver,
			 struct tool_words *out, struct error *err)
{
	for (; line && *line; line++)
		if (expand_word(*line, resolver, out, err) < 0)
			return -1;
	return 0;
}
