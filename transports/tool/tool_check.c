#include "transports/tool/tool_check.h"

#include <string.h>

#include "harness/api/transport.h"
#include "harness/base/cleanup.h"
#include "harness/base/text.h"
#include "transports/tool/tool_template.h"

const char *const tool_placeholders[] = { "src",        "dst",     "host",  "host_url", "port",
					  "scratch",    "entries", "file",  "file_url", "file_mode",
					  "file_mtime", "bytes",   "mib",   "family",   "next_port",
					  "peer",       "program", "token", "uid",      NULL };
const char *const tool_service_placeholders[] = { "user",        "ssh_config", "key",
						  "known_hosts", "cipher",     "mac",
						  "none_switch", NULL };

#define PRESERVE_NAME "preserve"
#define VALUE_NAME    "value"

/* Where a placeholder may stand. */
enum scope {
	SCOPE_ENDS = 1,  /* {src}, {dst} and what is in them */
	SCOPE_FLAGS = 2, /* {preserve} and the tool's own options */
	SCOPE_VALUE = 4, /* {value} */
	SCOPE_ONE = 8,   /* {file} and so on: there is one, or one after the other */
	SCOPE_TEXT = 16, /* {token}, which a command line would show to everybody */
};

struct checker {
	const struct tool_file *file;
	unsigned scope;
	bool preserve_used;
	bool used[TOOL_OPTIONS_MAX];
};

static bool is_among(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

/* What a placeholder needs besides being known. */
static unsigned scope_of(const char *name)
{
	static const struct {
		const char *name;
		unsigned scope;
	} scopes[] = {
		{ "src", SCOPE_ENDS },     { "dst", SCOPE_ENDS },      { "entries", SCOPE_ENDS },
		{ "bytes", SCOPE_ENDS },   { "mib", SCOPE_ENDS },      { "file", SCOPE_ONE },
		{ "file_url", SCOPE_ONE }, { "file_mode", SCOPE_ONE }, { "file_mtime", SCOPE_ONE },
		{ "token", SCOPE_TEXT },
	};
	for (size_t i = 0; i < ARRAY_SIZE(scopes); i++)
		if (strcmp(scopes[i].name, name) == 0)
			return scopes[i].scope;
	return 0;
}

/* The engine heeds these by itself where there is a private server. */
static bool is_server_option(const struct tool_file *file, const char *name)
{
	static const char *const names[] = { "server", "cipher", "mac", NULL };
	return file->needs && file->needs[0] && is_among(name, names);
}

/* The i-th name that may stand here, for text_nearest. */
static const char *candidate(const void *context, size_t i)
{
	const struct checker *checker = context;
	size_t common = ARRAY_SIZE(tool_placeholders) - 1;
	if (i < common)
		return tool_placeholders[i];
	i -= common;
	size_t service = ARRAY_SIZE(tool_service_placeholders) - 1;
	if (i < service)
		return tool_service_placeholders[i];
	i -= service;
	if (checker->scope & SCOPE_VALUE)
		return i == 0 ? VALUE_NAME : NULL;
	if (!(checker->scope & SCOPE_FLAGS) || i > checker->file->option_count)
		return NULL;
	return i == 0 ? PRESERVE_NAME : checker->file->defs[i - 1].name;
}

static int unknown(const struct checker *checker, const char *name, struct error *err)
{
	const char *near = text_nearest(name, candidate, checker);
	if (near)
		return error_set(err, ERROR_CONFIG, 0,
				 "unknown placeholder {%s}: did you mean {%s}?", name, near);
	return error_set(err, ERROR_CONFIG, 0, "unknown placeholder {%s}", name);
}

static bool is_flag_name(struct checker *checker, const char *name)
{
	if (!(checker->scope & SCOPE_FLAGS))
		return false;
	if (strcmp(name, PRESERVE_NAME) == 0)
		return checker->preserve_used = true;
	for (size_t i = 0; i < checker->file->option_count; i++)
		if (strcmp(checker->file->defs[i].name, name) == 0)
			return checker->used[i] = true;
	return false;
}

static int check_name(const char *name, void *context, struct error *err)
{
	struct checker *checker = context;
	unsigned needed = scope_of(name);
	if (needed && !(checker->scope & needed))
		return error_set(err, ERROR_CONFIG, 0, "{%s} cannot be used here", name);
	if (is_among(name, tool_placeholders) || is_flag_name(checker, name))
		return 0;
	if ((checker->scope & SCOPE_VALUE) && strcmp(name, VALUE_NAME) == 0)
		return 0;
	if (!is_among(name, tool_service_placeholders))
		return unknown(checker, name, err);
	if (!checker->file->needs || !checker->file->needs[0])
		return error_set(err, ERROR_CONFIG, 0,
				 "{%s} belongs to a service: 'needs' names none", name);
	return 0;
}

static int check_words(struct checker *checker, unsigned scope, char **words, struct error *err)
{
	checker->scope = scope;
	return tool_template_visit((const char *const *)words, check_name, checker, err);
}

/* probe sees nothing of a run; prepare is not timed, so it must not see the data. */
static int check_commands(struct checker *checker, const struct tool_raw *raw, const char *path,
			  struct error *err)
{
	const struct tool_file *file = checker->file;
	unsigned data = SCOPE_ENDS | (file->caps & CAP_SINGLE_FILE ? SCOPE_ONE : 0);
	const struct {
		enum tool_key key;
		char **words;
		unsigned scope;
	} commands[] = {
		{ TOOL_PREPARE, file->prepare, SCOPE_FLAGS },
		{ TOOL_RUN, file->run, SCOPE_FLAGS | data },
		{ TOOL_INTO, file->into, SCOPE_FLAGS | data },
		{ TOOL_INPUT, file->input, data },
		{ TOOL_SERVE, file->serve, SCOPE_FLAGS | data },
		{ TOOL_SERVE_INTO, file->serve_into, SCOPE_FLAGS | data },
		{ TOOL_ENVIRONMENT, file->environment, SCOPE_FLAGS },
	};
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (check_words(checker, commands[i].scope, commands[i].words, err) < 0)
			return error_wrap(err, "%s:%u: %s", path, raw->tool[commands[i].key].line,
					  tool_key_names[commands[i].key]);
	for (char **word = file->environment; word && *word; word++)
		if (**word == '=' || !strchr(*word, '='))
			return error_set(err, ERROR_CONFIG, 0, "%s:%u: '%.80s' is not NAME=value",
					 path, raw->tool[TOOL_ENVIRONMENT].line, *word);
	return 0;
}

static int check_flags(struct checker *checker, const struct tool_raw *raw, const char *path,
		       struct error *err)
{
	const struct tool_file *file = checker->file;
	unsigned data = SCOPE_ENDS | (file->caps & CAP_SINGLE_FILE ? SCOPE_ONE : 0);
	for (size_t i = 0; i < TOOL_PRESERVES; i++)
		if (check_words(checker, data, file->preserve[i], err) < 0)
			return error_wrap(err, "%s:%u: %s", path, raw->preserve[i].line,
					  preserve_names[i]);
	for (size_t i = 0; i < file->option_count; i++) {
		unsigned scope = data | (file->defs[i].type == OPTION_FLAG ? 0 : SCOPE_VALUE);
		if (check_words(checker, scope, file->options[i].on, err) < 0 ||
		    check_words(checker, scope, file->options[i].off, err) < 0)
			return error_wrap(err, "%s:%u: option %s", path, raw->options[i].line,
					  file->defs[i].name);
	}
	return 0;
}

/* What is written into a file is one long word. */
static int check_texts(struct checker *checker, const struct tool_raw *raw, const char *path,
		       struct error *err)
{
	const struct tool_file *file = checker->file;
	const unsigned scope = SCOPE_ENDS | SCOPE_FLAGS | SCOPE_TEXT;
	unsigned one = file->caps & CAP_SINGLE_FILE ? SCOPE_ONE : 0;
	for (size_t i = 0; i < file->text_count; i++) {
		char *once[] = { file->texts[i].text, NULL };
		char *each[] = { file->texts[i].each, NULL };
		if (check_words(checker, scope | one, once, err) < 0 ||
		    check_words(checker, scope | SCOPE_ONE, each, err) < 0)
			return error_wrap(err, "%s:%u: file %s", path, raw->texts[i].line,
					  file->texts[i].name);
	}
	return 0;
}

static int check_names(const struct tool_raw *raw, const struct tool_file *file, const char *path,
		       struct error *err)
{
	for (size_t i = 0; i < file->option_count; i++) {
		const char *name = file->defs[i].name;
		if (is_server_option(file, name))
			continue;
		if (is_among(name, tool_placeholders) ||
		    is_among(name, tool_service_placeholders) || strcmp(name, PRESERVE_NAME) == 0 ||
		    strcmp(name, VALUE_NAME) == 0)
			return error_set(
				err, ERROR_CONFIG, 0,
				"%s:%u: {%s} has a meaning already: the option needs another name",
				path, raw->options[i].line, name);
	}
	return 0;
}

/* A flag that reaches no command would be a setting without effect. */
static int check_used(const struct checker *checker, const struct tool_raw *raw, const char *path,
		      struct error *err)
{
	for (size_t i = 0; i < checker->file->option_count; i++)
		if (!checker->used[i] &&
		    !is_server_option(checker->file, checker->file->defs[i].name))
			return error_set(err, ERROR_CONFIG, 0,
					 "%s:%u: option %s has no effect: no command uses {%s}",
					 path, raw->options[i].line, checker->file->defs[i].name,
					 checker->file->defs[i].name);
	for (size_t i = 0; i < TOOL_PRESERVES; i++)
		if (checker->file->preserve[i] && checker->file->preserve[i][0] &&
		    !checker->preserve_used)
			return error_set(err, ERROR_CONFIG, 0,
					 "%s:%u: no command uses {" PRESERVE_NAME "}", path,
					 raw->preserve[i].line);
	return 0;
}

int tool_check(const char *path, const struct tool_raw *raw, const struct tool_file *file,
	       struct error *err)
{
	struct checker checker = { .file = file };
	if (check_names(raw, file, path, err) < 0 || check_commands(&checker, raw, path, err) < 0 ||
	    check_flags(&checker, raw, path, err) < 0 || check_texts(&checker, raw, path, err) < 0)
		return -1;
	return check_used(&checker, raw, path, err);
}
