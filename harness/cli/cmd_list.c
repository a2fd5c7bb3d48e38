#include <ctype.h>
#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/registry.h"
#include "harness/api/result.h"
#include "harness/api/transport.h"
#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/inifile.h"
#include "harness/cli/cli.h"
#include "harness/cli/list_keys.h"
#include "harness/cli/list_markdown.h"
#include "harness/cli/progress.h"
#include "harness/protocol/message.h"
#include "harness/services/ciphers.h"
#include "harness/services/probing.h"
#include "harness/study/studies.h"
#include "harness/study/study.h"
#include "transports/catalog.h"
#include "transports/registry.h"

/* How long each pair of cipher and MAC is measured, in seconds of CPU time. */
#define CIPHER_S 0.3

struct arguments {
	char *words[2]; /* what, and the name of one of them */
	bool json, markdown;
};

enum { KEY_JSON = 256, KEY_MARKDOWN, KEY_TOOLS };

static const struct argp_option options[] = {
	{ "json", KEY_JSON, 0, 0, "As JSON", 0 },
	{ "markdown", KEY_MARKDOWN, 0, 0, "transports: the table of tools in docs/tools.md", 0 },
	{ "tools", KEY_TOOLS, "DIR", 0, "Also take tool files (*.ini) from this folder", 0 },
	{ 0 },
};

static const char *const subjects[] = { "transports", "datasets", "keys", "fields",
					"studies",    "ciphers",  NULL };

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	switch (key) {
	case KEY_JSON:
		arguments->json = true;
		return 0;
	case KEY_MARKDOWN:
		arguments->markdown = true;
		return 0;
	case KEY_TOOLS:
		catalog_add_folder(argument);
		return 0;
	case ARGP_KEY_ARG:
		cli_keep_word(arguments->words, ARRAY_SIZE(arguments->words), argument, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[transports|datasets|keys|fields|studies|ciphers] [NAME]",
	.doc = "Show what there is (default: transports): keys are those of a study file, fields "
	       "the columns of runs.csv. With the NAME of a transport, dataset or section of keys: "
	       "its options with values, units and defaults.",
};

/* Every list is built as JSON first, an array of objects; the text form is made from it. */

static json_t *option_list(const struct option_def *defs)
{
	json_t *list = message_list();
	for (const struct option_def *def = defs; def && def->name; def++) {
		json_t *object = message_object();
		message_put_shown(object, "name", def->name);
		message_put_shown(object, "default", def->fallback);
		message_put(object, "unit", def->unit ? message_shown(def->unit) : json_null());
		message_put_shown(object, "help", def->help);
		message_append(list, object);
	}
	return list;
}

static json_t *cap_list(uint32_t caps)
{
	json_t *list = message_list();
	for (uint32_t bit = 1; bit; bit <<= 1)
		if (caps & bit && transport_cap_name((enum transport_cap)bit))
			message_append_text(list, transport_cap_name((enum transport_cap)bit));
	return list;
}

/* sides: what each end said, by enum xfer_side. */
static json_t *transport_object(const struct probing *sides)
{
	const struct transport *transport = sides[0].transport;
	const struct probing *driver = &sides[transport->driver];
	const struct probing *other = &sides[!transport->driver];
	const struct error *reason =
		driver->error.kind != ERROR_NONE ? &driver->error : &other->error;
	bool usable = reason->kind == ERROR_NONE;
	json_t *object = message_object();
	message_put_shown(object, "name", transport->name);
	message_put_shown(object, "summary", transport->summary);
	message_put_flag(object, "available", usable);
	message_put_text(object, "driver", transport->driver == XFER_SOURCE ? "source" : "sink");
	message_put(object, "caps", cap_list(transport->caps));
	message_put(object, "options", option_list(transport->options));
	message_put_shown(object, usable ? "version" : "reason",
			  usable ? driver->probe.version : reason->message);
	return object;
}

static json_t *list_transports(void)
{
	json_t *list = message_list();
	const char *name = NULL;
	const char *reason = NULL;
	size_t count = 0;
	struct error err = { 0 };
	const struct transport *const *all = transport_all();
	while (all[count])
		count++;
	AUTO_FREE struct probing *asked = calloc(2 * count + 1, sizeof(*asked));
	if (!asked)
		abort();
	for (size_t i = 0; i < 2 * count; i++)
		asked[i] = (struct probing){ .transport = all[i / 2],
					     .probe.side = i % 2 ? XFER_SINK : XFER_SOURCE };
	if (probing_run(asked, 2 * count, -1, NULL, &err) < 0)
		cli_print(stderr, "linefill: %s\n", err.message);
	for (size_t i = 0; i < count; i++)
		message_append(list, transport_object(&asked[2 * i]));
	for (size_t i = 0; transport_missing(i, &name, &reason); i++)
		message_append(list, json_pack("{s:s,s:s,s:b,s:s}", "name", name, "summary", "",
					       "available", 0, "reason", reason));
	return list;
}

static json_t *list_datasets(void)
{
	json_t *list = message_list();
	for (const struct dataset *const *all = dataset_all(); *all; all++)
		message_append(list,
			       json_pack("{s:s,s:s,s:o}", "name", (*all)->name, "summary",
					 (*all)->summary, "options", option_list((*all)->options)));
	return list;
}

static json_t *list_fields(void)
{
	json_t *list = message_list();
	for (size_t i = 0; i < result_fields_count; i++)
		message_append(list,
			       json_pack("{s:s,s:s,s:s}", "name", result_fields[i].name, "unit",
					 result_fields[i].unit, "summary", result_fields[i].help));
	return list;
}

static int is_study(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');
	return dot && strcmp(dot, ".ini") == 0;
}

/* The title is all that is read: a study for tools that are not here is still a study. */
static void study_title(const char *path, struct text *title)
{
	AUTO_FREE char *text = NULL;
	struct inifile file = { 0 };
	size_t count = 0;
	if (file_read_all(path, 1 << 20, &text, &count, NULL) < 0 ||
	    inifile_parse(&file, path, text, count, NULL) < 0)
		return;
	for (size_t i = 0; i < file.entries_count; i++)
		if (strcmp(file.sections[file.entries[i].section].name, "study") == 0 &&
		    strcmp(file.entries[i].key, "title") == 0)
			text_add(title, file.entries[i].value);
	inifile_free(&file);
}

static json_t *list_studies(void)
{
	struct error err = { 0 };
	AUTO_FREE char *folder = studies_folder(&err);
	if (!folder)
		exit(cli_fail(&err));
	json_t *list = message_list();
	struct dirent **entries = NULL;
	int count = scandir(folder, &entries, is_study, alphasort);
	for (int i = 0; i < count; i++) {
		AUTO_TEXT title = { 0 };
		AUTO_FREE char *path = path_join(folder, entries[i]->d_name);
		study_title(path, &title);
		*strrchr(entries[i]->d_name, '.') = '\0';
		json_t *object = message_object();
		message_put_shown(object, "name", entries[i]->d_name);
		message_put_shown(object, "summary", text_string(&title));
		message_put_shown(object, "path", path);
		message_append(list, object);
		free(entries[i]);
	}
	free(entries);
	return list;
}

static const char *member(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));
	return value ? value : "";
}

static void on_measuring(const char *cipher, const char *mac, void *context)
{
	char what[128];
	snprintf(what, sizeof(what), "measuring %s %s", cipher, mac);
	progress_say(context, what);
}

/* What a study's SSH tools take unless it says another. */
static bool is_default(const json_t *object)
{
	const struct option_def *cipher = option_find(study_ssh_options, "cipher");
	const struct option_def *mac = option_find(study_ssh_options, "mac");
	return strcmp(member(object, "cipher"), cipher->fallback) == 0 &&
	       strcmp(member(object, "mac"), mac->fallback) == 0;
}

/* Measured now, on one core of this machine. */
static json_t *list_ciphers(void)
{
	struct error err = { 0 };
	struct progress *progress = progress_start_waiting();
	const struct ciphers_watch watch = { .measuring = on_measuring, .context = progress };
	json_t *list = ciphers_list(CIPHER_S, &watch, &err);
	size_t i;
	json_t *object;
	progress_end(progress);
	if (!list)
		exit(cli_fail(&err));
	json_array_foreach(list, i, object)
	{
		char summary[48];
		snprintf(summary, sizeof(summary), "%.0f MB/s%s",
			 json_real_value(json_object_get(object, "mb_per_s")),
			 is_default(object) ? " (the default)" : "");
		message_put_flag(object, "default", is_default(object));
		message_put_text(object, "summary", summary);
	}
	return list;
}

/* Of the first column. */
static int name_width(const json_t *list)
{
	size_t width = 22;
	size_t i;
	const json_t *object;
	json_array_foreach(list, i, object)
	{
		size_t length = strlen(member(object, "name"));
		if (length > width && length < 48)
			width = length;
	}
	return (int)width;
}

static void print_line(const json_t *object, int width)
{
	char shown[1024];
	const char *detail = json_object_get(object, "version") ? member(object, "version")
			     : json_object_get(object, "unit")  ? member(object, "unit")
								: "";
	cli_print(stdout, "%-*s ", width, member(object, "name"));
	if (json_is_false(json_object_get(object, "available"))) {
		text_escape_terminal(shown, sizeof(shown), member(object, "reason"));
		cli_print(stdout, "not available: %s\n", shown);
		return;
	}
	text_escape_terminal(shown, sizeof(shown), member(object, "summary"));
	cli_print(stdout, "%s", shown);
	if (*detail) {
		text_escape_terminal(shown, sizeof(shown), detail);
		cli_print(stdout, " [%s]", shown);
	}
	cli_print(stdout, "\n");
}

static int show_options(const char *name, const char *summary, const struct option_def *defs)
{
	AUTO_TEXT text = { 0 };
	option_help(defs, 2, &text);
	cli_print(stdout, "%s: %s\n%s", name, summary,
		  text.length ? "Options:\n" : "No options.\n");
	cli_print(stdout, "%s", text_string(&text));
	return CLI_OK;
}

static int show_keys(const char *section)
{
	struct error err = { 0 };
	AUTO_TEXT text = { 0 };
	if (list_keys(section, &text, &err) < 0)
		return cli_fail(&err);
	cli_print(stdout, "%s", text_string(&text));
	return CLI_OK;
}

static void show_caps(uint32_t caps)
{
	const char *separator = "Caps: ";
	for (uint32_t bit = 1; bit; bit <<= 1) {
		const char *name = caps & bit ? transport_cap_name((enum transport_cap)bit) : NULL;
		if (!name)
			continue;
		cli_print(stdout, "%s%s", separator, name);
		separator = ", ";
	}
	if (caps)
		cli_print(stdout, "\n");
}

static int show_one(const char *what, const char *name)
{
	struct error err = { 0 };
	if (strcmp(what, "datasets") == 0) {
		const struct dataset *dataset = dataset_find(name);
		if (dataset)
			return show_options(dataset->name, dataset->summary, dataset->options);
		error_set(&err, ERROR_CONFIG, 0, "unknown dataset '%s'", name);
		return cli_fail(&err);
	}
	if (strcmp(what, "keys") == 0)
		return show_keys(name);
	const struct transport *transport = catalog_transport(name, &err);
	if (!transport)
		return cli_fail(&err);
	int status = show_options(transport->name, transport->summary, transport->options);
	show_caps(transport->caps);
	cli_print(stdout, "In a study file, beside its own options:\n");
	AUTO_TEXT common = { 0 };
	option_help(study_case_options, 2, &common);
	cli_print(stdout, "%s", text_string(&common));
	return status;
}

/* Leaves only what has that name: of keys, those of that section. */
static int keep_named(const char *what, const char *name, json_t *list)
{
	struct error err = { 0 };
	size_t length = strlen(name);
	for (size_t i = json_array_size(list); i > 0; i--) {
		const char *other = member(json_array_get(list, i - 1), "name");
		bool section = strcmp(what, "keys") == 0 && strncmp(other, name, length) == 0 &&
			       (other[length] == '.' || other[length] == ' ');
		if (strcmp(other, name) != 0 && !section)
			json_array_remove(list, i - 1);
	}
	if (json_array_size(list) > 0)
		return CLI_OK;
	error_set(&err, ERROR_CONFIG, 0, "there is no '%s' among the %s: `linefill list %s`", name,
		  what, what);
	return cli_fail(&err);
}

static json_t *build_list(const char *what)
{
	if (strcmp(what, "transports") == 0)
		return list_transports();
	if (strcmp(what, "datasets") == 0)
		return list_datasets();
	if (strcmp(what, "keys") == 0)
		return list_keys_json();
	if (strcmp(what, "fields") == 0)
		return list_fields();
	if (strcmp(what, "ciphers") == 0)
		return list_ciphers();
	return strcmp(what, "studies") == 0 ? list_studies() : NULL;
}

static int unknown_subject(const char *what)
{
	struct error err = { 0 };
	const char *near = text_nearest_in(what, subjects);
	error_set(&err, ERROR_CONFIG, 0,
		  "unknown list '%s'%s%s%s (known are transports, datasets, keys, fields, studies, "
		  "ciphers)",
		  what, near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
	return cli_fail(&err);
}

static int show_markdown(const char *what, bool whole)
{
	struct error err = { 0 };
	AUTO_TEXT table = { 0 };
	if (strcmp(what, "transports") != 0 || !whole) {
		error_set(&err, ERROR_CONFIG, 0, "--markdown shows all transports that are tools");
		return cli_fail(&err);
	}
	list_markdown(&table);
	cli_print(stdout, "%s", text_string(&table));
	return CLI_OK;
}

int cmd_list(int argc, char **argv)
{
	struct arguments arguments = { 0 };
	catalog_load();
	cli_parse(&argp, argc, argv, &arguments);
	const char *what = arguments.words[0] ? arguments.words[0] : subjects[0];
	const char *name = arguments.words[1];
	json_t *list = NULL;
	if (arguments.markdown)
		return show_markdown(what, !name && !arguments.json);
	bool keys = strcmp(what, "keys") == 0;
	bool detailed = keys || strcmp(what, "transports") == 0 || strcmp(what, "datasets") == 0;
	/* Keys have more to tell than fits a line. */
	if ((keys || (name && detailed)) && !arguments.json)
		return show_one(what, name);
	list = build_list(what);
	if (!list)
		return unknown_subject(what);
	if (name && keep_named(what, name, list) != CLI_OK) {
		json_decref(list);
		return CLI_USAGE;
	}
	if (arguments.json) {
		json_dumpf(list, stdout, JSON_INDENT(2));
		cli_print(stdout, "\n");
	} else {
		size_t i;
		const json_t *object;
		int width = name_width(list);
		json_array_foreach(list, i, object) print_line(object, width);
	}
	json_decref(list);
	for (size_t i = 0; catalog_problem(i); i++)
		cli_print(stderr, "linefill: %s\n", catalog_problem(i));
	for (size_t i = 0; dataset_problem(i); i++)
		cli_print(stderr, "linefill: %s\n", dataset_problem(i));
	return CLI_OK;
}
