#include "transports/catalog.h"

#include <stdlib.h>
#include <string.h>

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
	for (size_t i = 0; transport_refused(i, &name, &reason); i++)
		add_problem(reason);
	catalog_add_folder(tool_shipped_folder());
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
	const char *near = text_nearest(name, transport_name_at, transport_all());
	if (near)
		error_set(err, ERROR_CONFIG, 0, "unknown transport '%s': did you mean '%s'?", name,
			  near);
	else
		error_set(err, ERROR_CONFIG, 0,
			  "unknown transport '%s': `linefill list transports` shows them", name);
	return NULL;
}
