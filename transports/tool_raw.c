#include "transports/tool_raw.h"

#include <ctype.h>
#include <ini.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/text.h"
#include "transports/tool_template.h"

const char *const tool_key_names[] = { "name",  "summary", "driver",      "needs",       "caps",
				       "plain", "probe",   "version",     "prepare",     "run",
				       "into",  "serve",   "serve_until", "environment", NULL };
const char *const tool_option_key_names[] = { "type", "default", "min",   "max",  "unit", "choices",
					      "on",   "off",     "plain", "help", NULL };

static const char *const section_names[] = { "tool", "preserve", "option", NULL };

/* One pass over the file. The INI library tells neither line numbers nor continuation lines nor
 * cuts: they are seen where it fetches its lines. */
struct reader {
	const char *path;
	const char *next, *end;
	unsigned line;
	bool continues; /* the line just fetched is indented */
	struct tool_raw *raw;
	struct error *err;
	bool failed;
};

/* Keeps the first error only; returns what tells the library "bad line". */
static int fail(struct reader *reader, const char *message)
{
	if (!reader->failed)
		error_set(reader->err, ERROR_CONFIG, 0, "%s:%u: %s", reader->path, reader->line,
			  message);
	reader->failed = true;
	return 0;
}

static char *fetch_line(char *to, int size, void *stream)
{
	struct reader *reader = stream;
	if (reader->failed || reader->next == reader->end)
		return NULL;
	reader->line++;
	const char *start = reader->next;
	size_t left = (size_t)(reader->end - start);
	const char *newline = memchr(start, '\n', left);
	size_t length = newline ? (size_t)(newline - start) + 1 : left;
	reader->next = start + length;
	if (length + 1 > (size_t)size) {
		AUTO_TEXT message = { 0 };
		text_addf(&message,
			  "the line is longer than %d bytes: continue it in an indented one",
			  size - 2);
		fail(reader, text_string(&message));
		return NULL;
	}
	if (memchr(start, '\0', length)) {
		fail(reader, "the line has a zero byte");
		return NULL;
	}
	memcpy(to, start, length);
	to[length] = '\0';
	reader->continues = isspace((unsigned char)to[0]) && to[strspn(to, " \t\r\n\v\f")];
	return to;
}

static int unknown(struct reader *reader, const char *what, const char *name,
		   const char *const *known)
{
	AUTO_TEXT message = { 0 };
	const char *near = text_nearest_in(name, known);
	text_addf(&message, "unknown %s '%s'", what, name);
	if (near)
		text_addf(&message, ": did you mean '%s'?", near);
	for (size_t i = 0; !near && known[i]; i++)
		text_addf(&message, "%s%s", i ? ", " : ": known are ", known[i]);
	return fail(reader, text_string(&message));
}

static int store(struct reader *reader, struct tool_value *to, const char *key, const char *value)
{
	if (to->text && !reader->continues) {
		AUTO_TEXT message = { 0 };
		text_addf(&message, "'%s' is already set in line %u", key, to->line);
		return fail(reader, text_string(&message));
	}
	AUTO_TEXT joined = { 0 };
	if (to->text)
		text_addf(&joined, "%s ", to->text);
	else
		to->line = reader->line;
	text_add(&joined, value);
	free(to->text);
	to->text = text_take(&joined);
	return 1;
}

static int store_key(struct reader *reader, struct tool_value *values, const char *const *names,
		     const char *key, const char *value)
{
	for (size_t i = 0; names[i]; i++)
		if (strcmp(names[i], key) == 0)
			return store(reader, &values[i], key, value);
	return unknown(reader, "key", key, names);
}

static bool is_option_name(const char *name)
{
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_");
	/* The INI library cuts section names at 49 bytes: the limit keeps clear of that. */
	return length > 0 && length <= 32 && name[length] == '\0' && name[0] != '-';
}

static struct tool_raw_option *option_of(struct reader *reader, const char *name)
{
	struct tool_raw *raw = reader->raw;
	for (size_t i = 0; i < raw->option_count; i++)
		if (strcmp(raw->options[i].name, name) == 0)
			return &raw->options[i];
	if (!is_option_name(name)) {
		fail(reader, "an option's name is 1 to 32 small letters, digits, '-' and '_'");
		return NULL;
	}
	if (raw->option_count == TOOL_OPTIONS_MAX) {
		fail(reader, "too many options");
		return NULL;
	}
	struct tool_raw_option *option = &raw->options[raw->option_count++];
	option->name = strdup(name);
	if (!option->name)
		abort();
	option->line = reader->line;
	return option;
}

static int on_value(void *user, const char *section, const char *key, const char *value)
{
	struct reader *reader = user;
	if (reader->failed)
		return 0;
	if (strcmp(section, "tool") == 0)
		return store_key(reader, reader->raw->tool, tool_key_names, key, value);
	if (strcmp(section, "preserve") == 0)
		return store_key(reader, reader->raw->preserve, preserve_names, key, value);
	if (strncmp(section, "option ", 7) != 0) {
		char word[TOOL_NAME_MAX];
		text_copy(word, sizeof(word), section);
		word[strcspn(word, " ")] = '\0';
		return unknown(reader, "section", word, section_names);
	}
	struct tool_raw_option *option = option_of(reader, section + 7 + strspn(section + 7, " "));
	if (!option)
		return 0;
	return store_key(reader, option->values, tool_option_key_names, key, value);
}

int tool_raw_parse(const char *path, const char *text, size_t count, struct tool_raw *raw,
		   struct error *err)
{
	struct reader reader = {
		.path = path, .next = text, .end = text + count, .raw = raw, .err = err
	};
	int bad_line = ini_parse_stream(fetch_line, &reader, on_value, &reader);
	if (reader.failed)
		return -1;
	if (bad_line > 0)
		return error_set(err, ERROR_CONFIG, 0, "%s:%d: neither a section nor key = value",
				 path, bad_line);
	if (bad_line < 0)
		return error_set(err, ERROR_SYSTEM, 0, "%s: out of memory", path);
	return 0;
}

static void free_values(struct tool_value *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(values[i].text);
}

void tool_raw_free(struct tool_raw *raw)
{
	free_values(raw->tool, TOOL_KEYS);
	free_values(raw->preserve, TOOL_PRESERVES);
	for (size_t i = 0; i < raw->option_count; i++) {
		free_values(raw->options[i].values, TOOL_OPTION_KEYS);
		free(raw->options[i].name);
	}
	*raw = (struct tool_raw){ 0 };
}
