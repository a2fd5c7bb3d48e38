#include "transports/tool/tool_raw.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/inifile.h"
#include "harness/base/text.h"
#include "transports/tool/tool_template.h"

const char *const tool_key_names[] = { "name",        "summary",    "driver",       "needs",
				       "caps",        "plain",      "probe",        "version",
				       "prepare",     "run",        "into",         "input",
				       "serve",       "serve_into", "serve_until",  "ports",
				       "environment", "counted",    "counted_unit", "ciphers",
				       "macs",        "programs",   "far_programs", "tested",
				       "verifies",    "packages",   "plain_twins",  NULL };
const char *const tool_text_key_names[] = { "text", "each", NULL };
const char *const tool_option_key_names[] = { "type", "default", "min",   "max",  "unit", "choices",
					      "on",   "off",     "plain", "help", NULL };

#define OPTION_PREFIX   "option "
#define OPTION_NAME_MAX 32
#define FILE_PREFIX     "file "

static const char *const section_names[] = { "tool", "preserve", "option", "file", NULL };

static int fail(const struct inifile *file, unsigned line, const char *message, struct error *err)
{
	error_set(err, ERROR_CONFIG, 0, "%s", message);
	return inifile_error_at(file, line, err);
}

static bool is_option_name(const char *name)
{
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_");
	return length > 0 && length <= OPTION_NAME_MAX && name[length] == '\0' && name[0] != '-';
}

static int add_option(struct tool_raw *raw, const struct inifile *file,
		      const struct inifile_section *section, struct error *err)
{
	const char *name = section->name + strlen(OPTION_PREFIX);
	if (!is_option_name(name))
		return fail(file, section->line,
			    "an option's name is 1 to 32 small letters, digits, '-' and '_'", err);
	if (raw->option_count == TOOL_OPTIONS_MAX)
		return fail(file, section->line, "too many options", err);
	struct tool_raw_option *option = &raw->options[raw->option_count++];
	option->line = section->line;
	option->name = strdup(name);
	if (!option->name)
		abort();
	return 0;
}

/* It is written into a folder of the run's own, and nowhere else. */
static bool is_text_name(const char *name)
{
	size_t length = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				     "0123456789-_.");
	return length > 0 && length <= OPTION_NAME_MAX && name[length] == '\0' && name[0] != '.';
}

static int add_text(struct tool_raw *raw, const struct inifile *file,
		    const struct inifile_section *section, struct error *err)
{
	const char *name = section->name + strlen(FILE_PREFIX);
	if (!is_text_name(name))
		return fail(file, section->line,
			    "a file's name is 1 to 32 letters, digits, '.', '-' and '_'", err);
	if (raw->text_count == TOOL_TEXTS_MAX)
		return fail(file, section->line, "too many files", err);
	struct tool_raw_text *text = &raw->texts[raw->text_count++];
	text->line = section->line;
	text->name = strdup(name);
	if (!text->name)
		abort();
	return 0;
}

/* A section's keys and where their values go. */
struct room {
	const char *const *names;
	struct tool_value *values;
	bool lines; /* line breaks are part of the values */
};

static int room_of(struct tool_raw *raw, const struct inifile *file,
		   const struct inifile_section *section, struct room *room, struct error *err)
{
	if (strcmp(section->name, "tool") == 0) {
		*room = (struct room){ .names = tool_key_names, .values = raw->tool };
		return 0;
	}
	if (strcmp(section->name, "preserve") == 0) {
		*room = (struct room){ .names = preserve_names, .values = raw->preserve };
		return 0;
	}
	if (strncmp(section->name, OPTION_PREFIX, strlen(OPTION_PREFIX)) == 0) {
		if (add_option(raw, file, section, err) < 0)
			return -1;
		*room = (struct room){ .names = tool_option_key_names,
				       .values = raw->options[raw->option_count - 1].values };
		return 0;
	}
	if (strncmp(section->name, FILE_PREFIX, strlen(FILE_PREFIX)) == 0) {
		if (add_text(raw, file, section, err) < 0)
			return -1;
		*room = (struct room){ .names = tool_text_key_names,
				       .values = raw->texts[raw->text_count - 1].values,
				       .lines = true };
		return 0;
	}
	if (!section->name[0])
		return fail(file, section->line,
			    "a key stands before any section: put a line [tool] above it", err);
	char word[TOOL_NAME_MAX];
	text_copy(word, sizeof(word), section->name);
	word[strcspn(word, " ")] = '\0';
	return inifile_unknown(file, section->line, "section", word, section_names, err);
}

static int take_entry(const struct room *room, const struct inifile *file,
		      const struct inifile_entry *entry, struct error *err)
{
	for (size_t i = 0; room->names[i]; i++) {
		if (strcmp(room->names[i], entry->key) != 0)
			continue;
		room->values[i].line = entry->line;
		room->values[i].text = strdup(room->lines ? entry->lines : entry->value);
		if (!room->values[i].text)
			abort();
		return 0;
	}
	return inifile_unknown(file, entry->line, "key", entry->key, room->names, err);
}

static int take_file(struct tool_raw *raw, const struct inifile *file, struct error *err)
{
	for (size_t i = 0; i < file->sections_count; i++) {
		struct room room = { 0 };
		if (room_of(raw, file, &file->sections[i], &room, err) < 0)
			return -1;
		for (size_t j = 0; j < file->entries_count; j++)
			if (file->entries[j].section == i &&
			    take_entry(&room, file, &file->entries[j], err) < 0)
				return -1;
	}
	return 0;
}

int tool_raw_parse(const char *path, const char *text, size_t count, struct tool_raw *raw,
		   struct error *err)
{
	struct inifile file = { 0 };
	if (inifile_parse(&file, path, text, count, err) < 0)
		return -1;
	int result = take_file(raw, &file, err);
	inifile_free(&file);
	return result;
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
	for (size_t i = 0; i < raw->text_count; i++) {
		free_values(raw->texts[i].values, TOOL_TEXT_KEYS);
		free(raw->texts[i].name);
	}
	*raw = (struct tool_raw){ 0 };
}
