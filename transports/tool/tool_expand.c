#include "transports/tool/tool_expand.h"

#include <ctype.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/child.h"
#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/text.h"

#define MIB 1048576u

/* A view, plus the option whose words are being expanded. */
struct expansion {
	const struct tool_view *view;
	const char *value;
};

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

/* host[:port] forms need brackets around an IPv6 address. */
static int add_host_url(const char *host, struct tool_words *out, struct error *err)
{
	if (!strchr(host, ':'))
		return tool_words_add(out, host, err);
	AUTO_TEXT bracketed = { 0 };
	text_addf(&bracketed, "[%s]", host);
	return tool_words_add(out, text_string(&bracketed), err);
}

static int add_path(const struct expansion *expansion, const char *path, enum xfer_side end,
		    struct tool_words *out, struct error *err)
{
	const struct tool_file *file = expansion->view->file;
	bool remote = file->needs && file->needs[0] && end != file->driver;
	if (remote && !path_is_plain(or_empty(path)))
		return error_set(
			err, ERROR_UNSUPPORTED, 0,
			"the folder at the other end has a name that a shell would misread");
	if (expansion->view->in_text && !path_is_plain(or_empty(path)))
		return error_set(err, ERROR_UNSUPPORTED, 0,
				 "the folder has a name that %s could misread", file->name);
	return tool_words_add(out, or_empty(path), err);
}

static int add_number(unsigned long long number, bool octal, struct tool_words *out,
		      struct error *err)
{
	char text[24];
	snprintf(text, sizeof(text), octal ? "%04llo" : "%llu", number);
	return tool_words_add(out, text, err);
}

static int add_program(const struct expansion *expansion, struct tool_words *out, struct error *err)
{
	const char *name = expansion->view->file->run[0];
	if (strchr(name, '/'))
		return tool_words_add(out, name, err);
	AUTO_FREE char *path = child_find_program(name, err);
	return path ? tool_words_add(out, path, err) : -1;
}

static int add_token(const struct expansion *expansion, struct tool_words *out, struct error *err)
{
	const struct token *token = expansion->view->xfer->token;
	AUTO_TEXT hex = { 0 };
	for (size_t i = 0; token && i < sizeof(token->bytes); i++)
		text_addf(&hex, "%02x", token->bytes[i]);
	return tool_words_add(out, text_string(&hex), err);
}

/* HPN-SSH switches to the cipher none on its command line's word only. */
static int add_none_switch(const struct service *service, struct tool_words *out, struct error *err)
{
	if (!service || !service->cipher || strcmp(service->cipher, "none") != 0)
		return 0;
	if (tool_words_add(out, "-oNoneEnabled=yes", err) < 0 ||
	    tool_words_add(out, "-oNoneSwitch=yes", err) < 0)
		return -1;
	if (!service->mac || strcmp(service->mac, "none") != 0)
		return 0;
	return tool_words_add(out, "-oNoneMacEnabled=yes", err);
}

/* ---- what is in the tree ---- */

/* Command lines cannot grow without limit: a tree that is too wide is none for this tool. */
static int add_entries(const struct expansion *expansion, struct tool_words *out, struct error *err)
{
	const struct xfer *xfer = expansion->view->xfer;
	const struct manifest *files = xfer->files;
	for (size_t i = 0; files && i < files->count; i++) {
		if (strchr(files->entries[i].path, '/'))
			continue;
		AUTO_FREE char *path =
			path_join(or_empty(xfer->source_root), files->entries[i].path);
		if (tool_words_add(out, path, err) < 0)
			return error_set(err, ERROR_UNSUPPORTED, 0,
					 "the dataset has more files and folders at its top than a "
					 "command line holds");
	}
	return 0;
}

static const struct manifest_entry *entry_of(const struct tool_view *view)
{
	const struct manifest *files = view->xfer->files;
	if (view->entry)
		return view->entry;
	for (size_t i = 0; files && i < files->count; i++)
		if (files->entries[i].type == MANIFEST_FILE)
			return &files->entries[i];
	return NULL;
}

static void add_url(const char *path, struct text *url)
{
	for (const unsigned char *s = (const unsigned char *)path; *s; s++) {
		if (isalnum(*s) || strchr("-._~/", *s))
			text_add_bytes(url, (const char *)s, 1);
		else
			text_addf(url, "%%%02X", *s);
	}
}

/* A name goes as it is only where nothing could take a part of it for something else. */
static int add_file(const struct expansion *expansion, const char *name, struct tool_words *out,
		    struct error *err)
{
	const struct tool_view *view = expansion->view;
	const struct manifest_entry *entry = entry_of(view);
	bool remote = view->file->needs && view->file->needs[0];
	if (!entry)
		return 0;
	if (strcmp(name, "file_mode") == 0)
		return add_number(entry->mode, true, out, err);
	if (strcmp(name, "file_mtime") == 0)
		return add_number((unsigned long long)(entry->mtime_s > 0 ? entry->mtime_s : 0),
				  false, out, err);
	if (strcmp(name, "file_url") == 0) {
		AUTO_TEXT url = { 0 };
		add_url(entry->path, &url);
		return tool_words_add(out, text_string(&url), err);
	}
	if ((remote || view->in_text) && !path_is_plain(entry->path)) {
		char shown[MANIFEST_SHOWN_SIZE];
		return error_set(err, ERROR_UNSUPPORTED, 0, "%s could misread the name '%s'",
				 view->file->name, manifest_shown(shown, entry->path));
	}
	return tool_words_add(out, entry->path, err);
}

static bool is_file_name(const char *name)
{
	static const char *const names[] = { "file", "file_url", "file_mode", "file_mtime" };
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* ---- one placeholder ---- */

/* "" when it is nothing, NULL when the name is not one of these. */
static const char *plain_text(const struct expansion *expansion, const char *name)
{
	const struct xfer *xfer = expansion->view->xfer;
	const struct service *service = xfer->service;
	static const struct service none;
	if (!service)
		service = &none;
	const struct {
		const char *name, *text;
	} texts[] = {
		{ "host", expansion->view->host },
		{ "peer", xfer->peer_host },
		{ "scratch", expansion->view->scratch ? expansion->view->scratch : xfer->scratch },
		{ "value", expansion->value },
		{ "user", service->user },
		{ "ssh_config", service->ssh_config },
		{ "key", service->key_file },
		{ "known_hosts", service->known_hosts },
		{ "cipher", service->cipher },
		{ "mac", service->mac },
	};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (strcmp(texts[i].name, name) == 0)
			return or_empty(texts[i].text);
	return NULL;
}

static int resolve(const char *name, const void *context, struct tool_words *out,
		   struct error *err);

static int expand_with(const struct tool_view *view, const char *value, char **words,
		       struct tool_words *out, struct error *err)
{
	const struct expansion expansion = { .view = view, .value = value };
	const struct tool_resolver resolver = { .resolve = resolve, .context = &expansion };
	return tool_template_expand((const char *const *)words, &resolver, out, err);
}

static bool is_default(const struct option_def *def, const void *options)
{
	/* option_format writes only what differs; a table of one row asks about one option. */
	const struct option_def alone[2] = { *def, { .name = NULL } };
	AUTO_TEXT text = { 0 };
	option_format(alone, options, false, &text);
	return text.length == 0;
}

/* The user's own words, in which braces mean nothing. */
static int add_split(const char *value, struct tool_words *out, struct error *err)
{
	AUTO_FREE char **words = text_split_words(value, err);
	for (size_t i = 0; words && words[i]; i++)
		if (tool_words_add(out, words[i], err) < 0)
			return -1;
	return words ? 0 : -1;
}

static int add_option(const struct tool_view *view, size_t index, struct tool_words *out,
		      struct error *err)
{
	const struct option_def *def = &view->file->defs[index];
	const struct tool_option *option = &view->file->options[index];
	const void *values = view->xfer->options;
	if (def->type == OPTION_FLAG) {
		bool set = *(const bool *)((const char *)values + def->offset);
		return expand_with(view, NULL, set ? option->on : option->off, out, err);
	}
	AUTO_TEXT value = { 0 };
	/* Programs do not agree on units: a size goes as a number of bytes. */
	if (def->type == OPTION_SIZE)
		text_addf(&value, "%llu",
			  (unsigned long long)*(const uint64_t *)((const char *)values +
								  def->offset));
	else
		option_value_text(def, values, &value);
	if (!value.length || (option->on && is_default(def, values)))
		return 0;
	if (option->split)
		return add_split(text_string(&value), out, err);
	if (!option->on)
		return tool_words_add(out, text_string(&value), err);
	return expand_with(view, text_string(&value), option->on, out, err);
}

/* 1 when it is one of these, and was added. */
static int resolve_run(const char *name, const struct expansion *expansion, struct tool_words *out,
		       struct error *err)
{
	const struct tool_view *view = expansion->view;
	const struct xfer *xfer = view->xfer;
	int result = 0;
	if (strcmp(name, "src") == 0)
		result = add_path(expansion, xfer->source_root, XFER_SOURCE, out, err);
	else if (strcmp(name, "dst") == 0)
		result = add_path(expansion, xfer->sink_root, XFER_SINK, out, err);
	else if (strcmp(name, "entries") == 0)
		result = add_entries(expansion, out, err);
	else if (is_file_name(name))
		result = add_file(expansion, name, out, err);
	else if (strcmp(name, "bytes") == 0)
		result = add_number(xfer->files ? xfer->files->bytes : 0, false, out, err);
	else if (strcmp(name, "mib") == 0)
		result = add_number(xfer->files ? (xfer->files->bytes + MIB - 1) / MIB : 0, false,
				    out, err);
	else if (strcmp(name, "host_url") == 0)
		result = add_host_url(or_empty(view->host), out, err);
	else if (strcmp(name, "family") == 0)
		result = add_number(strchr(or_empty(view->host), ':') ? 6 : 4, false, out, err);
	else if (strcmp(name, "port") == 0)
		result = add_number(view->port, false, out, err);
	else if (strcmp(name, "next_port") == 0)
		result = add_number(view->port ? view->port + 1u : 0, false, out, err);
	else if (strcmp(name, "uid") == 0)
		result = add_number(geteuid(), false, out, err);
	else if (strcmp(name, "program") == 0)
		result = add_program(expansion, out, err);
	else if (strcmp(name, "none_switch") == 0)
		result = add_none_switch(xfer->service, out, err);
	else if (strcmp(name, "token") == 0)
		result = add_token(expansion, out, err);
	else
		return 0;
	return result < 0 ? -1 : 1;
}

static int resolve(const char *name, const void *context, struct tool_words *out, struct error *err)
{
	const struct expansion *expansion = context;
	const struct tool_view *view = expansion->view;
	const char *text = plain_text(expansion, name);
	if (text)
		return *text ? tool_words_add(out, text, err) : 0;
	int known = resolve_run(name, expansion, out, err);
	if (known != 0)
		return known < 0 ? -1 : 0;
	if (strcmp(name, "preserve") == 0)
		return expand_with(view, NULL, view->file->preserve[view->xfer->preserve], out,
				   err);
	for (size_t i = 0; i < view->file->option_count; i++)
		if (strcmp(view->file->defs[i].name, name) == 0)
			return add_option(view, i, out, err);
	return error_set(err, ERROR_CONFIG, 0, "unknown placeholder {%s}", name);
}

int tool_expand(const struct tool_view *view, char **command, struct tool_words *out,
		struct error *err)
{
	return expand_with(view, NULL, command, out, err);
}

static int expand_lines(const struct tool_view *view, char *lines, FILE *out, struct error *err)
{
	char *command[] = { lines, NULL };
	AUTO_WORDS words = { 0 };
	if (!lines)
		return 0;
	if (tool_expand(view, command, &words, err) < 0)
		return -1;
	return fputs(words.items[0], out) == EOF ? error_system(err, "write") : 0;
}

int tool_expand_text(const struct tool_view *view, const struct tool_text *text, FILE *out,
		     struct error *err)
{
	const struct manifest *files = view->xfer->files;
	struct tool_view inside = *view;
	inside.in_text = true;
	if (expand_lines(&inside, text->text, out, err) < 0)
		return -1;
	for (size_t i = 0; text->each && files && i < files->count; i++) {
		inside.entry = &files->entries[i];
		if (inside.entry->type == MANIFEST_FILE &&
		    expand_lines(&inside, text->each, out, err) < 0)
			return -1;
	}
	return 0;
}

/* Adds NAME=value, in place of an earlier one of that name. */
static int set_variable(struct tool_words *environment, const char *assignment, struct error *err)
{
	size_t name = strcspn(assignment, "=") + 1;
	for (size_t i = 0; i < environment->count; i++) {
		if (strncmp(environment->items[i], assignment, name) != 0)
			continue;
		free(environment->items[i]);
		environment->items[i] = strdup(assignment);
		if (!environment->items[i])
			abort();
		return 0;
	}
	return tool_words_add(environment, assignment, err);
}

static int set_pair(struct tool_words *environment, const char *name, const char *value,
		    struct error *err)
{
	if (!value)
		return 0;
	AUTO_TEXT assignment = { 0 };
	text_addf(&assignment, "%s=%s", name, value);
	return set_variable(environment, text_string(&assignment), err);
}

int tool_probe_environment(struct tool_words *out, struct error *err)
{
	/* Where its own programs are searched: what a tool starts is found as they are. */
	AUTO_FREE char *path = child_search_path();
	if (set_pair(out, "LC_ALL", "C", err) < 0)
		return -1;
	return set_pair(out, "PATH", path, err);
}

int tool_expand_environment(const struct tool_view *view, struct tool_words *out, struct error *err)
{
	const struct passwd *user = getpwuid(geteuid());
	const char *name = user ? user->pw_name : NULL;
	const char *scratch = view->scratch ? view->scratch : view->xfer->scratch;
	if (tool_probe_environment(out, err) < 0 || set_pair(out, "HOME", scratch, err) < 0 ||
	    set_pair(out, "TMPDIR", scratch, err) < 0 || set_pair(out, "USER", name, err) < 0 ||
	    set_pair(out, "LOGNAME", name, err) < 0 ||
	    set_pair(out, "LINEFILL_RUN", getenv("LINEFILL_RUN"), err) < 0)
		return -1;
	AUTO_WORDS own = { 0 };
	if (tool_expand(view, view->file->environment, &own, err) < 0)
		return -1;
	for (size_t i = 0; i < own.count; i++)
		if (set_variable(out, own.items[i], err) < 0)
			return -1;
	return 0;
}
