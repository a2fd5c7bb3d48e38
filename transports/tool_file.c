#include "transports/tool_file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "harness/api/transport.h"
#include "harness/base/cleanup.h"
#include "harness/base/text.h"
#include "transports/tool_check.h"
#include "transports/tool_raw.h"
#include "transports/tool_template.h"

/* What the conversion of one file needs to know everywhere. */
struct builder {
	const char *path;
	const struct tool_raw *raw;
	struct tool_file *file;
	struct error *err;
};

static int fail(const struct builder *builder, unsigned line, const char *message)
{
	return error_set(builder->err, ERROR_CONFIG, 0, "%s:%u: %s", builder->path, line, message);
}

static int wrap(const struct builder *builder, const struct tool_value *value, const char *key)
{
	return error_wrap(builder->err, "%s:%u: %s", builder->path, value->line, key);
}

static char *copy_text(const char *text)
{
	char *copy = strdup(text);
	if (!copy)
		abort();
	return copy;
}

/* A list may be separated by blanks, commas or both. */
static char **split_list(const char *text)
{
	AUTO_FREE char *copy = copy_text(text);
	for (char *s = copy; *s; s++)
		if (*s == ',' || *s == '"' || *s == '\'')
			*s = ' ';
	return text_split_words(copy, NULL);
}

static size_t word_count(char **words)
{
	size_t count = 0;
	while (words && words[count])
		count++;
	return count;
}

/* Words of a command; an absent key leaves NULL. */
static int take_words(const struct builder *builder, const struct tool_value *value,
		      const char *key, char ***words)
{
	if (!value->text)
		return 0;
	*words = text_split_words(value->text, builder->err);
	return *words ? 0 : wrap(builder, value, key);
}

static int take_command(const struct builder *builder, enum tool_key key, char ***words)
{
	const struct tool_value *value = &builder->raw->tool[key];
	if (take_words(builder, value, tool_key_names[key], words) < 0)
		return -1;
	if (*words && (!**words || !***words))
		return fail(builder, value->line, "the command is empty");
	return 0;
}

/* The index of the value among words; fallback when the key is absent. -1 is an error. */
static int take_choice(const struct builder *builder, const struct tool_value *value,
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
	return fail(builder, value->line, text_string(&message));
}

static int unknown_cap(const struct builder *builder, const struct tool_value *value,
		       const char *word)
{
	const char *names[33] = { NULL };
	size_t count = 0;
	for (unsigned bit = 0; bit < 31; bit++)
		if (transport_cap_name((enum transport_cap)(1 << bit)))
			names[count++] = transport_cap_name((enum transport_cap)(1 << bit));
	const char *near = text_nearest_in(word, names);
	AUTO_TEXT message = { 0 };
	text_addf(&message, "unknown cap '%.40s'", word);
	if (near)
		text_addf(&message, ": did you mean '%s'?", near);
	return fail(builder, value->line, text_string(&message));
}

static int take_caps(const struct builder *builder)
{
	const struct tool_value *value = &builder->raw->tool[TOOL_CAPS];
	builder->file->caps = CAP_TOOL;
	if (!value->text)
		return 0;
	AUTO_FREE char **words = split_list(value->text);
	for (size_t i = 0; words[i]; i++) {
		enum transport_cap cap = transport_cap_from_name(words[i]);
		if (cap == 0)
			return unknown_cap(builder, value, words[i]);
		if (cap == CAP_TWO_ENDED)
			return fail(builder, value->line, "a tool cannot be two-ended");
		builder->file->caps |= cap;
	}
	return 0;
}

static bool is_tool_name(const char *name)
{
	size_t length = 0;
	while (isalnum((unsigned char)name[length]) ||
	       (length && name[length] && strchr("._-+", name[length])))
		length++;
	return length > 0 && length < TOOL_NAME_MAX && name[length] == '\0';
}

/* The file's name without folder and .ini, unless the file says another. */
static int take_name(const struct builder *builder)
{
	const struct tool_value *value = &builder->raw->tool[TOOL_NAME];
	const char *slash = strrchr(builder->path, '/');
	char *name = copy_text(value->text ? value->text : slash ? slash + 1 : builder->path);
	builder->file->name = name;
	size_t length = strlen(name);
	if (!value->text && length > 4 && strcmp(name + length - 4, ".ini") == 0)
		name[length - 4] = '\0';
	if (!is_tool_name(name))
		return fail(builder, value->text ? value->line : 1,
			    "a tool's name is letters, digits, '.', '_', '-' and '+', at most 47");
	return 0;
}

static int take_needs(const struct builder *builder)
{
	const struct tool_value *value = &builder->raw->tool[TOOL_NEEDS];
	if (!value->text)
		return 0;
	builder->file->needs = split_list(value->text);
	if (word_count(builder->file->needs) > TOOL_NEEDS_MAX)
		return fail(builder, value->line, "too many services");
	return 0;
}

static int take_words_of_tool(const struct builder *builder)
{
	static const char *const drivers[] = { "source", "sink", NULL };
	static const char *const no_yes[] = { "no", "yes", NULL };
	static const char *const untils[] = { "driver", "exit", NULL };
	const struct tool_value *values = builder->raw->tool;
	struct tool_file *file = builder->file;
	int driver = take_choice(builder, &values[TOOL_DRIVER], drivers, 0);
	int plain = driver < 0 ? -1 : take_choice(builder, &values[TOOL_PLAIN], no_yes, 0);
	int until = plain < 0 ? -1 : take_choice(builder, &values[TOOL_SERVE_UNTIL], untils, 0);
	if (until < 0)
		return -1;
	file->driver = driver == 0 ? XFER_SOURCE : XFER_SINK;
	file->plain = plain == 1;
	file->serve_until_exit = until == 1;
	file->summary = copy_text(values[TOOL_SUMMARY].text ? values[TOOL_SUMMARY].text : "");
	if (values[TOOL_VERSION].text)
		file->version = copy_text(values[TOOL_VERSION].text);
	return 0;
}

static int take_tool(const struct builder *builder)
{
	struct tool_file *file = builder->file;
	if (take_name(builder) < 0 || take_needs(builder) < 0 || take_caps(builder) < 0 ||
	    take_words_of_tool(builder) < 0)
		return -1;
	if (take_command(builder, TOOL_PROBE, &file->probe) < 0 ||
	    take_command(builder, TOOL_PREPARE, &file->prepare) < 0 ||
	    take_command(builder, TOOL_RUN, &file->run) < 0 ||
	    take_command(builder, TOOL_INTO, &file->into) < 0 ||
	    take_command(builder, TOOL_SERVE, &file->serve) < 0 ||
	    take_words(builder, &builder->raw->tool[TOOL_ENVIRONMENT], "environment",
		       &file->environment) < 0)
		return -1;
	if (!file->run)
		return fail(builder, 1, "[tool] has no 'run'");
	if (file->version && !file->probe)
		return fail(builder, builder->raw->tool[TOOL_VERSION].line,
			    "'version' needs a 'probe'");
	if (!file->serve && builder->raw->tool[TOOL_SERVE_UNTIL].text)
		return fail(builder, builder->raw->tool[TOOL_SERVE_UNTIL].line,
			    "'serve_until' needs a 'serve'");
	return 0;
}

static int take_preserve(const struct builder *builder)
{
	for (size_t i = 0; i < TOOL_PRESERVES; i++)
		if (take_words(builder, &builder->raw->preserve[i], preserve_names[i],
			       &builder->file->preserve[i]) < 0)
			return -1;
	return 0;
}

static const char *option_text(const struct tool_raw_option *raw, enum tool_option_key key,
			       const char *fallback)
{
	return raw->values[key].text ? raw->values[key].text : fallback;
}

static int take_bound(const struct builder *builder, const struct tool_raw_option *raw,
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
	else if (type == OPTION_SIZE || !text_to_double(value->text, bound))
		return fail(builder, value->line, "a number is expected");
	return 0;
}

/* Keys that make no sense for the type, or are missing. */
static int check_option_keys(const struct builder *builder, const struct tool_raw_option *raw,
			     enum option_type type)
{
	const struct tool_value *values = raw->values;
	bool number = type == OPTION_COUNT || type == OPTION_SIZE || type == OPTION_NUMBER;
	for (int key = TOOL_OPTION_MIN; key <= TOOL_OPTION_MAX; key++)
		if (values[key].text && !number)
			return fail(builder, values[key].line, "only numbers have a min and a max");
	if (!values[TOOL_OPTION_CHOICES].text != (type != OPTION_CHOICE))
		return fail(builder, raw->line,
			    "'choices' belongs to type = choice, and only there");
	if (number && !values[TOOL_OPTION_DEFAULT].text)
		return fail(builder, raw->line, "a number needs a 'default'");
	if (values[TOOL_OPTION_OFF].text && type != OPTION_FLAG)
		return fail(builder, values[TOOL_OPTION_OFF].line, "'off' belongs to a flag");
	if (type == OPTION_FLAG && !values[TOOL_OPTION_ON].text && !values[TOOL_OPTION_OFF].text)
		return fail(builder, raw->line, "a flag needs 'on' or 'off'");
	return 0;
}

static size_t value_size(enum option_type type)
{
	return type == OPTION_TEXT || type == OPTION_LIST ? OPTION_TEXT_SIZE : sizeof(uint64_t);
}

static const char *own(const struct tool_raw_option *raw, enum tool_option_key key)
{
	return raw->values[key].text ? copy_text(raw->values[key].text) : NULL;
}

static int take_option(const struct builder *builder, const struct tool_raw_option *raw)
{
	static const char *const types[] = { [OPTION_FLAG] = "flag",     [OPTION_COUNT] = "count",
					     [OPTION_SIZE] = "size",     [OPTION_NUMBER] = "number",
					     [OPTION_CHOICE] = "choice", [OPTION_TEXT] = "text",
					     [OPTION_LIST] = "list",     NULL };
	struct tool_file *file = builder->file;
	struct option_def *def = &file->defs[file->option_count];
	struct tool_option *option = &file->options[file->option_count];
	if (!raw->values[TOOL_OPTION_TYPE].text)
		return fail(builder, raw->line, "the option has no 'type'");
	int type = take_choice(builder, &raw->values[TOOL_OPTION_TYPE], types, 0);
	if (type < 0 || check_option_keys(builder, raw, (enum option_type)type) < 0)
		return -1;
	def->type = (enum option_type)type;
	def->offset = file->options_size;
	if (take_bound(builder, raw, TOOL_OPTION_MIN, def->type) < 0 ||
	    take_bound(builder, raw, TOOL_OPTION_MAX, def->type) < 0)
		return -1;
	if (def->type == OPTION_CHOICE)
		option->choices = split_list(raw->values[TOOL_OPTION_CHOICES].text);
	if (option->choices && !option->choices[0])
		return fail(builder, raw->line, "'choices' is empty");
	def->choices = (const char *const *)option->choices;
	file->options_size += value_size(def->type);
	def->name = copy_text(raw->name);
	file->option_count++; /* from here on it is freed with the file */
	def->fallback = copy_text(option_text(raw, TOOL_OPTION_DEFAULT,
					      option->choices            ? option->choices[0]
					      : def->type == OPTION_FLAG ? "no"
									 : ""));
	def->unit = own(raw, TOOL_OPTION_UNIT);
	def->plain = own(raw, TOOL_OPTION_PLAIN);
	def->help = copy_text(option_text(raw, TOOL_OPTION_HELP, ""));
	if (take_words(builder, &raw->values[TOOL_OPTION_ON], "on", &option->on) < 0)
		return -1;
	return take_words(builder, &raw->values[TOOL_OPTION_OFF], "off", &option->off);
}

static int take_options(const struct builder *builder)
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

static int build(const struct builder *builder)
{
	if (take_tool(builder) < 0 || take_preserve(builder) < 0 || take_options(builder) < 0)
		return -1;
	return tool_check(builder->path, builder->raw, builder->file, builder->err);
}

int tool_file_parse(const char *path, const char *text, size_t count, struct tool_file **file,
		    struct error *err)
{
	struct tool_raw raw = { 0 };
	struct tool_file *parsed = calloc(1, sizeof(*parsed));
	if (!parsed)
		abort();
	const struct builder builder = { .path = path, .raw = &raw, .file = parsed, .err = err };
	int result = tool_raw_parse(path, text, count, &raw, err);
	if (result == 0)
		result = build(&builder);
	tool_raw_free(&raw);
	if (result < 0)
		tool_file_free(parsed);
	else
		*file = parsed;
	return result;
}

static void free_option(struct option_def *def, struct tool_option *option)
{
	const char *const texts[] = { def->name, def->fallback, def->unit, def->plain, def->help };
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		free((void *)(uintptr_t)texts[i]);
	free(option->on);
	free(option->off);
	free(option->choices);
}

void tool_file_free(struct tool_file *file)
{
	if (!file)
		return;
	void *const blocks[] = { file->name,  file->summary,    file->needs, file->version,
				 file->probe, file->prepare,    file->run,   file->into,
				 file->serve, file->environment };
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++)
		free(blocks[i]);
	for (size_t i = 0; i < TOOL_PRESERVES; i++)
		free(file->preserve[i]);
	for (size_t i = 0; i < TOOL_OPTIONS_MAX; i++)
		free_option(&file->defs[i], &file->options[i]);
	free(file);
}
