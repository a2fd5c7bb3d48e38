#include "transports/tool_expand.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/text.h"

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

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
	return tool_words_add(out, or_empty(path), err);
}

static int add_port(uint16_t port, struct tool_words *out, struct error *err)
{
	char text[8];
	snprintf(text, sizeof(text), "%u", port);
	return tool_words_add(out, text, err);
}

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
		{ "scratch", xfer->scratch },
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
	option_value_text(def, values, &value);
	if (!value.length || (option->on && is_default(def, values)))
		return 0;
	if (!option->on)
		return tool_words_add(out, text_string(&value), err);
	return expand_with(view, text_string(&value), option->on, out, err);
}

static int resolve(const char *name, const void *context, struct tool_words *out, struct error *err)
{
	const struct expansion *expansion = context;
	const struct tool_view *view = expansion->view;
	const char *text = plain_text(expansion, name);
	if (text)
		return *text ? tool_words_add(out, text, err) : 0;
	if (strcmp(name, "src") == 0)
		return add_path(expansion, view->xfer->source_root, XFER_SOURCE, out, err);
	if (strcmp(name, "dst") == 0)
		return add_path(expansion, view->xfer->sink_root, XFER_SINK, out, err);
	if (strcmp(name, "host_url") == 0)
		return add_host_url(or_empty(view->host), out, err);
	if (strcmp(name, "port") == 0)
		return add_port(view->port, out, err);
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
	const char *path = getenv("PATH");
	if (set_pair(out, "LC_ALL", "C", err) < 0)
		return -1;
	return set_pair(out, "PATH", path ? path : DEFAULT_PATH, err);
}

int tool_expand_environment(const struct tool_view *view, struct tool_words *out, struct error *err)
{
	const struct passwd *user = getpwuid(geteuid());
	const char *name = user ? user->pw_name : NULL;
	if (tool_probe_environment(out, err) < 0 ||
	    set_pair(out, "HOME", view->xfer->scratch, err) < 0 ||
	    set_pair(out, "TMPDIR", view->xfer->scratch, err) < 0 ||
	    set_pair(out, "USER", name, err) < 0 || set_pair(out, "LOGNAME", name, err) < 0 ||
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
