/* The command that a tool runs, as people would write it. */
#include <string.h>

#include "harness/base/cleanup.h"
#include "transports/tool/tool.h"
#include "transports/tool/tool_session.h"

/* What every shell takes as it stands. */
static bool needs_no_quotes(const char *word)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/@%+=,:-";
	return *word && word[strspn(word, plain)] == '\0';
}

static void add_quoted(const char *word, struct text *out)
{
	if (needs_no_quotes(word)) {
		text_add(out, word);
		return;
	}
	text_add(out, "'");
	for (; *word; word++) {
		if (*word == '\'')
			text_add(out, "'\\''");
		else
			text_add_bytes(out, word, 1);
	}
	text_add(out, "'");
}

static int add_command(const struct tool_view *view, char **command, struct text *out,
		       struct error *err)
{
	AUTO_WORDS words = { 0 };
	if (tool_expand(view, command, &words, err) < 0)
		return -1;
	for (size_t i = 0; i < words.count; i++) {
		if (i)
			text_add(out, " ");
		add_quoted(words.items[i], out);
	}
	return 0;
}

int tool_command(const struct xfer *xfer, struct text *out, struct error *err)
{
	const struct tool_view view = tool_session_view(xfer);
	if (add_command(&view, view.file->run, out, err) < 0)
		return -1;
	if (view.file->input) {
		text_add(out, " < ");
		if (add_command(&view, view.file->input, out, err) < 0)
			return -1;
	}
	if (!view.file->into)
		return 0;
	text_add(out, " | ");
	return add_command(&view, view.file->into, out, err);
}
