#include "transports/tool/tool_file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "harness/api/transport.h"
#include "harness/base/cleanup.h"
#include "harness/base/text.h"
#include "transports/tool/tool_build.h"
#include "transports/tool/tool_check.h"
#include "transports/tool/tool_raw.h"
#include "transports/tool/tool_template.h"

const char *const tool_verifies_names[] = { "no", "yes", "option", NULL };

static size_t word_count(char **words)
{
	size_t count = 0;
	while (words && words[count])
		count++;
	return count;
}

static int take_command(const struct tool_builder *builder, enum tool_key key, char ***words)
{
	const struct tool_value *value = &builder->raw->tool[key];
	if (tool_build_words(builder, value, tool_key_names[key], words) < 0)
		return -1;
	if (*words && (!**words || !***words))
		return tool_build_fail(builder, value->line, "the command is empty");
	return 0;
}

static int unknown_cap(const struct tool_builder *builder, const struct tool_value *value,
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
	return tool_build_fail(builder, value->line, text_string(&message));
}

static int take_caps(const struct tool_builder *builder)
{
	const struct tool_value *value = &builder->raw->tool[TOOL_CAPS];
	builder->file->caps = CAP_TOOL;
	if (!value->text)
		return 0;
	AUTO_FREE char **words = tool_build_list(value->text);
	for (size_t i = 0; words[i]; i++) {
		enum transport_cap cap = transport_cap_from_name(words[i]);
		if (cap == 0)
			return unknown_cap(builder, value, words[i]);
		if (cap == CAP_TWO_ENDED)
			return tool_build_fail(builder, value->line, "a tool cannot be two-ended");
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
static int take_name(const struct tool_builder *builder)
{
	const struct tool_value *value = &builder->raw->tool[TOOL_NAME];
	const char *slash = strrchr(builder->path, '/');
	char *name = tool_build_copy(value->text ? value->text : slash ? slash + 1 : builder->path);
	builder->file->name = name;
	size_t length = strlen(name);
	if (!value->text && length > 4 && strcmp(name + length - 4, ".ini") == 0)
		name[length - 4] = '\0';
	if (!is_tool_name(name))
		return tool_build_fail(
			builder, value->text ? value->line : 1,
			"a tool's name is letters, digits, '.', '_', '-' and '+', at most 47");
	return 0;
}

static int take_needs(const struct tool_builder *builder)
{
	const struct tool_value *value = &builder->raw->tool[TOOL_NEEDS];
	if (!value->text)
		return 0;
	builder->file->needs = tool_build_list(value->text);
	if (word_count(builder->file->needs) > TOOL_NEEDS_MAX)
		return tool_build_fail(builder, value->line, "too many services");
	return 0;
}

static int take_words_of_tool(const struct tool_builder *builder)
{
	static const char *const drivers[] = { "source", "sink", NULL };
	static const char *const no_yes[] = { "no", "yes", NULL };
	static const char *const untils[] = { "driver", "exit", NULL };
	const struct tool_value *values = builder->raw->tool;
	struct tool_file *file = builder->file;
	int driver = tool_build_choice(builder, &values[TOOL_DRIVER], drivers, 0);
	int plain = driver < 0 ? -1 : tool_build_choice(builder, &values[TOOL_PLAIN], no_yes, 0);
	int until =
		plain < 0 ? -1 : tool_build_choice(builder, &values[TOOL_SERVE_UNTIL], untils, 0);
	if (until < 0)
		return -1;
	file->driver = driver == 0 ? XFER_SOURCE : XFER_SINK;
	file->plain = plain == 1;
	file->serve_until_exit = until == 1;
	file->summary = tool_build_copy(values[TOOL_SUMMARY].text ? values[TOOL_SUMMARY].text : "");
	if (values[TOOL_VERSION].text)
		file->version = tool_build_copy(values[TOOL_VERSION].text);
	return 0;
}

static int take_amount(const struct tool_builder *builder, enum tool_key key, double fallback,
		       double *amount)
{
	const struct tool_value *value = &builder->raw->tool[key];
	uint64_t bytes = 0;
	*amount = fallback;
	if (!value->text)
		return 0;
	if (!text_to_bytes(value->text, &bytes) || bytes == 0)
		return tool_build_fail(builder, value->line, "a number above 0 is expected");
	*amount = (double)bytes;
	return 0;
}

static int take_ports(const struct tool_builder *builder)
{
	double ports = 1;
	if (take_amount(builder, TOOL_PORTS, 1, &ports) < 0)
		return -1;
	if (ports > TOOL_PORTS_MAX)
		return tool_build_fail(builder, builder->raw->tool[TOOL_PORTS].line,
				       "a server can have 64 ports at most");
	builder->file->ports = (uint64_t)ports;
	return 0;
}

static void take_list(const struct tool_builder *builder, enum tool_key key, char ***words)
{
	if (builder->raw->tool[key].text)
		*words = tool_build_list(builder->raw->tool[key].text);
}

/* What is said of a tool, and no command. */
static int take_facts(const struct tool_builder *builder)
{
	const struct tool_value *values = builder->raw->tool;
	struct tool_file *file = builder->file;
	int verifies = tool_build_choice(builder, &values[TOOL_VERIFIES], tool_verifies_names, 0);
	if (verifies < 0 || take_ports(builder) < 0 ||
	    take_amount(builder, TOOL_COUNTED_UNIT, 1, &file->counted_unit) < 0)
		return -1;
	file->verifies = (enum tool_verifies)verifies;
	take_list(builder, TOOL_CIPHERS, &file->ciphers);
	take_list(builder, TOOL_MACS, &file->macs);
	take_list(builder, TOOL_PROGRAMS, &file->programs);
	take_list(builder, TOOL_FAR_PROGRAMS, &file->far_programs);
	take_list(builder, TOOL_PACKAGES, &file->packages);
	take_list(builder, TOOL_PLAIN_TWINS, &file->plain_twins);
	if (values[TOOL_COUNTED].text)
		file->counted = tool_build_copy(values[TOOL_COUNTED].text);
	if (values[TOOL_TESTED].text)
		file->tested = tool_build_copy(values[TOOL_TESTED].text);
	return 0;
}

/* Keys that make sense only beside another one: here the line of the first, 0 when all is well. */
static int check_pairs(const struct tool_builder *builder)
{
	static const struct {
		enum tool_key key, needs;
	} pairs[] = {
		{ TOOL_VERSION, TOOL_PROBE },        { TOOL_SERVE_UNTIL, TOOL_SERVE },
		{ TOOL_SERVE_INTO, TOOL_SERVE },     { TOOL_PORTS, TOOL_SERVE },
		{ TOOL_COUNTED_UNIT, TOOL_COUNTED }, { TOOL_CIPHERS, TOOL_NEEDS },
		{ TOOL_MACS, TOOL_NEEDS },
	};
	const struct tool_value *values = builder->raw->tool;
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		AUTO_TEXT message = { 0 };
		if (!values[pairs[i].key].text || values[pairs[i].needs].text)
			continue;
		text_addf(&message, "'%s' needs a '%s'", tool_key_names[pairs[i].key],
			  tool_key_names[pairs[i].needs]);
		return tool_build_fail(builder, values[pairs[i].key].line, text_string(&message));
	}
	return 0;
}

/* What arrives in memory must be counted by somebody. */
static int check_counted(const struct tool_builder *builder)
{
	const struct tool_value *values = builder->raw->tool;
	const struct tool_file *file = builder->file;
	bool memory = file->caps & CAP_MEMORY;
	if (memory && !file->counted)
		return tool_build_fail(builder, values[TOOL_CAPS].line,
				       "the cap memory needs 'counted'");
	if (!file->counted)
		return 0;
	if (!memory)
		return tool_build_fail(builder, values[TOOL_COUNTED].line,
				       "'counted' needs the cap memory");
	if (file->driver == XFER_SOURCE && !(file->serve && file->serve_until_exit))
		return tool_build_fail(builder, values[TOOL_COUNTED].line,
				       "'counted' needs a sink that tells: a 'serve' with "
				       "'serve_until = exit', or 'driver = sink'");
	return 0;
}

/* The line breaks count, and the last line has one. */
static char *take_lines(const struct tool_value *value)
{
	AUTO_TEXT lines = { 0 };
	if (!value->text)
		return NULL;
	text_addf(&lines, "%s\n", value->text);
	return text_take(&lines);
}

static int take_texts(const struct tool_builder *builder)
{
	struct tool_file *file = builder->file;
	for (size_t i = 0; i < builder->raw->text_count; i++) {
		const struct tool_raw_text *raw = &builder->raw->texts[i];
		file->texts[file->text_count++] = (struct tool_text){
			.name = tool_build_copy(raw->name),
			.text = take_lines(&raw->values[TOOL_TEXT_ONCE]),
			.each = take_lines(&raw->values[TOOL_TEXT_EACH]),
		};
		struct tool_text *text = &file->texts[i];
		text->needs_port = (text->text && strstr(text->text, "{port}")) ||
				   (text->each && strstr(text->each, "{port}"));
		if (!raw->values[TOOL_TEXT_ONCE].text && !raw->values[TOOL_TEXT_EACH].text)
			return tool_build_fail(builder, raw->line,
					       "the file has neither 'text' nor 'each'");
	}
	return 0;
}

static int take_tool(const struct tool_builder *builder)
{
	struct tool_file *file = builder->file;
	if (take_name(builder) < 0 || take_needs(builder) < 0 || take_caps(builder) < 0 ||
	    take_words_of_tool(builder) < 0 || take_facts(builder) < 0)
		return -1;
	if (take_command(builder, TOOL_PROBE, &file->probe) < 0 ||
	    take_command(builder, TOOL_PREPARE, &file->prepare) < 0 ||
	    take_command(builder, TOOL_RUN, &file->run) < 0 ||
	    take_command(builder, TOOL_INTO, &file->into) < 0 ||
	    take_command(builder, TOOL_INPUT, &file->input) < 0 ||
	    take_command(builder, TOOL_SERVE, &file->serve) < 0 ||
	    take_command(builder, TOOL_SERVE_INTO, &file->serve_into) < 0 ||
	    tool_build_words(builder, &builder->raw->tool[TOOL_ENVIRONMENT], "environment",
			     &file->environment) < 0)
		return -1;
	if (!file->run)
		return tool_build_fail(builder, 1, "[tool] has no 'run'");
	if (word_count(file->input) > 1)
		return tool_build_fail(builder, builder->raw->tool[TOOL_INPUT].line,
				       "'input' is one path");
	return check_pairs(builder) < 0 ? -1 : check_counted(builder);
}

static int take_preserve(const struct tool_builder *builder)
{
	for (size_t i = 0; i < TOOL_PRESERVES; i++)
		if (tool_build_words(builder, &builder->raw->preserve[i], preserve_names[i],
				     &builder->file->preserve[i]) < 0)
			return -1;
	return 0;
}

static int build(const struct tool_builder *builder)
{
	if (take_tool(builder) < 0 || take_preserve(builder) < 0 ||
	    tool_build_options(builder) < 0 || take_texts(builder) < 0)
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
	const struct tool_builder builder = {
		.path = path, .raw = &raw, .file = parsed, .err = err
	};
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
	void *const blocks[] = { file->name,     file->summary,    file->needs,
				 file->version,  file->probe,      file->prepare,
				 file->run,      file->into,       file->input,
				 file->serve,    file->serve_into, file->environment,
				 file->counted,  file->tested,     file->ciphers,
				 file->macs,     file->programs,   file->far_programs,
				 file->packages, file->plain_twins };
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++)
		free(blocks[i]);
	for (size_t i = 0; i < file->text_count; i++) {
		free(file->texts[i].name);
		free(file->texts[i].text);
		free(file->texts[i].each);
	}
	for (size_t i = 0; i < TOOL_PRESERVES; i++)
		free(file->preserve[i]);
	for (size_t i = 0; i < TOOL_OPTIONS_MAX; i++)
		free_option(&file->defs[i], &file->options[i]);
	free(file);
}
