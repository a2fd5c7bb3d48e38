#include "transports/catalog.h"

#include <stdlib.h>
#include <string.h>

#include "harness/api/shipped.h"
#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/text.h"
#include "transports/registry.h"
#include "transports/tool/tool.h"

static char **problems;
static size_t problems_count;

static void add_problem(const char *message)
{
	char **grown = realloc(problems, (problems_count + 1) * sizeof(*problems));
	if (!grown)
		abort();
	problems = grown;
	problems[problems_count++] = strdup(message);
}

static void tool_found(struct transport *transport, void *context)
{
	struct error err = { 0 };
	(void)context;
	/* Replaced ones stay allocated: cases may point to them. */
	if (transport_registry_add(transport, &err) == 0)
		return;
	add_problem(err.message);
	tool_free(transport);
}

static void tool_failed(const char *path, const struct error *err, void *context)
{
	(void)path; /* the message names it */
	(void)context;
	add_problem(err->message);
}

void catalog_add_folder(const char *folder)
{
	static const struct tool_visitor visitor = { .found = tool_found, .failed = tool_failed };
	struct error err = { 0 };
	if (folder && tool_load_folder(folder, &visitor, &err) < 0)
		add_problem(err.message);
}

void catalog_load(void)
{
	const char *config = getenv("XDG_CONFIG_HOME");
	const char *home = getenv("HOME");
	const char *name = NULL;
	const char *reason = NULL;
	struct error err = { 0 };
	for (size_t i = 0; transport_refused(i, &name, &reason); i++)
		add_problem(reason);
	AUTO_FREE char *shipped = shipped_folder("tools", &err);
	if (!shipped)
		add_problem(err.message);
	catalog_add_folder(shipped);
	if (config && config[0] == '/') {
		AUTO_FREE char *folder = path_join(config, "linefill/tools");
		catalog_add_folder(folder);
	} else if (home && home[0] == '/') {
		AUTO_FREE char *folder = path_join(home, ".config/linefill/tools");
		catalog_add_folder(folder);
	}
}

const char *catalog_problem(size_t i)
{
	return i < problems_count ? problems[i] : NULL;
}

static const char *transport_name_at(const void *context, size_t i)
{
	const struct transport *const *all = context;
	return all[i] ? all[i]->name : NULL;
}

/* "rsync" is a part of "rsync-ssh", "sh" is none. */
static bool has_part(const char *whole, const char *part)
{
	size_t length = strlen(part);
	for (const char *at = whole; length && at; at = strchr(at, '-')) {
		at += *at == '-';
		if (strncmp(at, part, length) == 0 && (at[length] == '-' || !at[length]))
			return true;
	}
	return false;
}

/* The transports of which the word is a part; those that begin with it come first. */
static void add_relatives(const char *word, struct text *names)
{
	for (int begin = 1; begin >= 0; begin--)
		for (const struct transport *const *all = transport_all(); *all; all++) {
			const char *name = (*all)->name;
			bool begins = strncmp(name, word, strlen(word)) == 0;
			if (has_part(name, word) && begins == (begin == 1))
				text_addf(names, "%s'%s'", names->length ? ", " : "", name);
		}
}

static void unknown_transport(const char *name, struct error *err)
{
	AUTO_TEXT names = { 0 };
	add_relatives(name, &names);
	/* So short a word is near to anything. */
	const char *near =
		strlen(name) > 2 ? text_nearest(name, transport_name_at, transport_all()) : NULL;
	if (!names.length && strcmp(name, "cp") == 0)
		near = transport_find("local") ? "local" : "scp";
	if (!names.length && near)
		text_addf(&names, "'%s'", near);
	if (names.length)
		error_set(err, ERROR_CONFIG, 0, "unknown transport '%s': did you mean %s?", name,
			  names.data);
	else
		error_set(err, ERROR_CONFIG, 0,
			  "unknown transport '%s': `linefill list transports` shows them", name);
}

const struct transport *catalog_transport(const char *name, struct error *err)
{
	const char *missing = NULL;
	const char *reason = NULL;
	const struct transport *transport = transport_find(name);
	if (transport)
		return transport;
	for (size_t i = 0; transport_missing(i, &missing, &reason); i++) {
		if (strcmp(missing, name) != 0)
			continue;
		error_set(err, ERROR_UNAVAILABLE, 0, "%s: %s", name, reason);
		return NULL;
	}
	for (size_t i = 0; transport_refused(i, &missing, &reason); i++) {
		if (strcmp(missing, name) != 0)
			continue;
		error_set(err, ERROR_CONFIG, 0, "%s", reason);
		return NULL;
	}
	unknown_transport(name, err);
	return NULL;
}
