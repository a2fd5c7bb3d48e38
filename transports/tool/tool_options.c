#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/text.h"
#include "transports/tool/tool_build.h"

/* A type that options have only in a tool file: a text that stands for several words. */
#define WORDS_TYPE (OPTION_LIST + 1)

static const char *option_text(const struct tool_raw_option *raw, enum tool_option_key key,
			       const char *fallback)
{
	return raw->values[key].text ? raw->values[key].text : fallback;
}

static int take_bound(const struct tool_builder *builder, const struct tool_raw_option *raw,
		      enum tool_option_key key, enum option_type type)
{
	struct option_def *def = &builder->file->defs[builder->file->option_count];
	double *bound = key == TOOL_OPTION_MIN ? &def->min : &def->max;
	const struct tool_value *value = &raw->values[key];
	if (!value->text)
		return 0;
	uint64_t bytes = 0;
	if (type == OPTION_SIZE && text_to_bytes(value->text, &bytes))
		*bound = (double)bytes;
	else if (type == OPTION_SIZE || !text_to_number(value->text, bound))
		return tool_build_fail(builder, value->line, "a number is expected");
	return 0;
}

/* Keys that make no sense for the type, or are missing. */
static int check_option_keys(const struct tool_builder *builder, const struct tool_raw_option *raw,
			     enum option_type type)
{
	const struct tool_value *values = raw->values;
	bool number = type == OPTION_COUNT || type == OPTION_SIZE || type == OPTION_NUMBER;
	for (int key = TOOL_OPTION_MIN; key <= TOOL_OPTION_MAX; key++)
		if (values[key].text && !number)
			return tool_build_fail(builder, values[key].line,
					       "only numbers have a min and a max");
	if (!values[TOOL_OPTION_CHOICES].text != (type != OPTION_CHOICE))
		return tool_build_fail(builder, raw->line,
				       "'choices' belongs to type = choice, and only there");
	if (number && !values[TOOL_OPTION_DEFAULT].text)
		return tool_build_fail(builder, raw->line, "a number needs a 'default'");
	if (values[TOOL_OPTION_OFF].text && type != OPTION_FLAG)
		return tool_build_fail(builder, values[TOOL_OPTION_OFF].line,
				       "'off' belongs to a flag");
	if (type == OPTION_FLAG && !values[TOOL_OPTION_ON].text && !values[TOOL_OPTION_OFF].text)
		return tool_build_fail(builder, raw->line, "a flag needs 'on' or 'off'");
	return 0;
}

static size_t value_size(enum option_type type)
{
	return type == OPTION_TEXT || type == OPTION_LIST ? OPTION_TEXT_SIZE : sizeof(uint64_t);
}

static const char *own(const struct tool_raw_option *raw, enum tool_option_key key)
{
	return raw->values[key].text ? tool_build_copy(raw->values[key].text) : NULL;
}

static int take_option(const struct tool_builder *builder, const struct tool_raw_option *raw)
{
	static const char *const types[] = {
		[OPTION_FLAG] = "flag",     [OPTION_COUNT] = "count",   [OPTION_SIZE] = "size",
		[OPTION_NUMBER] = "number", [OPTION_CHOICE] = "choice", [OPTION_TEXT] = "text",
		[OPTION_LIST] = "list",     [WORDS_TYPE] = "words",     NULL
	};
	struct tool_file *file = builder->file;
	struct option_def *def = &file->defs[file->option_count];
	struct tool_option *option = &file->options[file->option_count];
	if (!raw->values[TOOL_OPTION_TYPE].text)
		return tool_build_fail(builder, raw->line, "the option has no 'type'");
	int type = tool_build_choice(builder, &raw->values[TOOL_OPTION_TYPE], types, 0);
	option->split = type == WORDS_TYPE;
	if (option->split)
		type = OPTION_TEXT;
	if (type < 0 || check_option_keys(builder, raw, (enum option_type)type) < 0)
		return -1;
	def->type = (enum option_type)type;
	def->offset = file->options_size;
	if (take_bound(builder, raw, TOOL_OPTION_MIN, def->type) < 0 ||
	    take_bound(builder, raw, TOOL_OPTION_MAX, def->type) < 0)
		return -1;
	if (def->type == OPTION_CHOICE)
		option->choices = tool_build_list(raw->values[TOOL_OPTION_CHOICES].text);
	if (option->choices && !option->choices[0])
		return tool_build_fail(builder, raw->line, "'choices' is empty");
	def->choices = (const char *const *)option->choices;
	file->options_size += value_size(def->type);
	def->name = tool_build_copy(raw->name);
	file->option_count++; /* from here on it is freed with the file */
	def->fallback = tool_build_copy(option_text(raw, TOOL_OPTION_DEFAULT,
						    option->choices            ? option->choices[0]
						    : def->type == OPTION_FLAG ? "no"
									       : ""));
	def->unit = own(raw, TOOL_OPTION_UNIT);
	def->plain = own(raw, TOOL_OPTION_PLAIN);
	def->help = tool_build_copy(option_text(raw, TOOL_OPTION_HELP, ""));
	if (tool_build_words(builder, &raw->values[TOOL_OPTION_ON], "on", &option->on) < 0)
		return -1;
	return tool_build_words(builder, &raw->values[TOOL_OPTION_OFF], "off", &option->off);
}

int tool_build_options(const struct tool_builder *builder)
{
	for (size_t i = 0; i < builder->raw->option_count; i++) {
		const struct tool_raw_option *raw = &builder->raw->options[i];
		if (take_option(builder, raw) < 0)
			return -1;
	}
	AUTO_FREE void *values = calloc(1, builder->file->options_size + 1);
	if (!values)
		abort();
	if (option_defaults(builder->file->defs, values, builder->err) < 0)
		return error_wrap(builder->err, "%s", builder->path);
	return 0;
}
