#include "harness/control/record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/protocol/message.h"
#include "harness/protocol/option_object.h"

static void add_section(json_t *configuration, const char *section, const struct option_def *defs,
			const void *values)
{
	for (const struct option_def *def = defs; def && def->name; def++) {
		AUTO_TEXT key = { 0 };
		AUTO_TEXT value = { 0 };
		text_addf(&key, "%s.%s", section, def->name);
		option_value_text(def, values, &value);
		message_put_shown(configuration, text_string(&key), text_string(&value));
	}
}

static json_t *configuration_of(const struct record *record)
{
	const struct study *study = record->study;
	json_t *configuration = message_object();
	struct study_settings settings = study->settings;
	settings.rounds = record->rounds;
	add_section(configuration, "study", study_settings_options, &settings);
	add_section(configuration, "ssh", study_ssh_options, &study->ssh);
	add_section(configuration, "hosts", study_hosts_options, &study->hosts);
	add_section(configuration, "dataset", study_place_options, &study->place);
	add_section(configuration, "dataset", study->dataset->options, study->dataset_options);
	if (!study->ssh.cipher[0])
		message_put_shown(configuration, "ssh.cipher", "tool-default");
	if (!study->ssh.mac[0])
		message_put_shown(configuration, "ssh.mac", "tool-default");
	return configuration;
}

/* A copy of what an agent told, fit to be shown. */
static json_t *shown_copy(const json_t *told)
{
	json_t *shown = message_object();
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)told, key, value)
	{
		if (json_is_string(value))
			message_put_shown(shown, key, json_string_value(value));
		else
			message_put(shown, key, json_deep_copy(value));
	}
	return shown;
}

static json_t *host_of(const struct pair_side *side)
{
	json_t *host = shown_copy(side->facts);
	message_put_shown(host, "location", side->data ? side->data : "unknown");
	if (side->data)
		message_put_shown(host, "file_system", side->ram ? "RAM" : "disk");
	if (side->memory)
		json_object_update(host, side->memory);
	return host;
}

/* {"scp": "OpenSSH_9.2p1", ...} from {"scp": {"version": ...}, ...}; what is missing says why. */
static json_t *versions_of(json_t *probes)
{
	json_t *versions = message_object();
	const char *name;
	json_t *probe;
	json_object_foreach(probes, name, probe)
	{
		AUTO_TEXT version = { 0 };
		AUTO_FREE char *shown = text_shown(name, SIZE_MAX);
		const json_t *error = json_object_get(probe, "error");
		text_addf(&version, "%s%s", error ? "unavailable: " : "",
			  error ? message_text(error, "message")
				: message_text_or(probe, "version", ""));
		message_put_shown(versions, shown, text_string(&version));
	}
	return versions;
}

/* Which binaries run at an end: {"scp": [{"name": "scp", "path", "file", "version", "sha256"},
 * ...]}, by transport, and by name the private servers that were started. What is not told is left
 * out. */
static json_t *programs_of(json_t *probes, json_t *servers)
{
	json_t *programs = message_object();
	const char *name;
	json_t *probe, *server, *program;
	size_t i;
	json_object_foreach(probes, name, probe)
	{
		AUTO_FREE char *shown = text_shown(name, SIZE_MAX);
		json_t *list = message_list();
		json_array_foreach(json_object_get(probe, "programs"), i, program)
			message_append(list, shown_copy(program));
		message_put(programs, shown, list);
	}
	json_object_foreach(servers, name, server)
	{
		json_t *list = message_list();
		message_append(list, shown_copy(server));
		message_put(programs, name, list);
	}
	return programs;
}

/* Every option, defaults too: what commas and blanks belong to is plain here. */
static json_t *option_values_of(const struct study_case *item)
{
	const struct option_def *defs = item->transport ? item->transport->options : NULL;
	json_t *told = option_object(defs, item->options);
	json_t *shown = shown_copy(told);
	json_decref(told);
	return shown;
}

static json_t *plain_twins_of(const struct study_case *item)
{
	json_t *twins = message_list();
	const char *const *name = item->transport ? item->transport->plain_twins : NULL;
	for (; name && *name; name++)
		message_append(twins, message_shown(*name));
	return twins;
}

static json_t *case_of(const struct study_case *item, const struct text *command)
{
	json_t *one = message_object();
	message_put_shown(one, "name", item->name);
	message_put_shown(one, "label", item->label);
	message_put_shown(one, "transport", item->transport_name);
	message_put_shown(one, "options", item->options_text);
	message_put(one, "option_values", option_values_of(item));
	message_put(one, "plain_twins", plain_twins_of(item));
	message_put_shown(one, "factors", item->factors);
	message_put_whole(one, "instances", (int64_t)item->instances);
	if (command->length)
		message_put(one, "command", json_pack("[o]", message_shown(command->data)));
	return one;
}

static json_t *dataset_of(const struct study *study, const struct pair_dataset *dataset)
{
	json_t *object = message_object();
	message_put_shown(object, "recipe", study->dataset_text);
	if (!dataset->digest[0])
		return object;
	message_put_whole(object, "files", (int64_t)dataset->totals.files);
	message_put_whole(object, "folders", (int64_t)dataset->totals.folders);
	message_put_whole(object, "links", (int64_t)dataset->totals.links);
	message_put_whole(object, "bytes", (int64_t)dataset->totals.bytes);
	message_put_shown(object, "digest", dataset->digest);
	return object;
}

static json_t *arguments_of(const char *const *arguments)
{
	json_t *list = message_list();
	message_append_text(list, "linefill");
	for (; arguments && *arguments; arguments++)
		message_append(list, message_shown(*arguments));
	return list;
}

static void put_ends(const struct record *record, json_t *root)
{
	const struct pair *pair = record->pair;
	json_t *hosts = message_object();
	json_t *versions = message_object();
	json_t *programs = message_object();
	for (int i = 0; i < 2; i++) {
		const char *side = i == XFER_SOURCE ? "source" : "sink";
		json_t *known = versions_of(record->probes[i]);
		if (pair->ssh_server_version[0] && pair->ssh_terms.driver != (enum xfer_side)i)
			message_put_shown(known, pair->ssh_terms.service, pair->ssh_server_version);
		message_put(hosts, side, host_of(&pair->sides[i]));
		message_put(programs, side,
			    programs_of(record->probes[i], json_object_get(pair->servers, side)));
		message_put(versions, side, known);
	}
	message_put(root, "hosts", hosts);
	message_put(root, "versions", versions);
	message_put(root, "programs", programs);
}

/* A text: many readers of JSON keep no more than 53 bits of a number. */
static void put_seed(const struct study *study, json_t *root)
{
	AUTO_TEXT seed = { 0 };
	text_addf(&seed, "%llu", (unsigned long long)study->settings.seed);
	message_put_shown(root, "seed", text_string(&seed));
}

/* Those that were made, and why, where the user set none. */
static void put_rounds(const struct record *record, json_t *root)
{
	message_put_whole(root, "rounds", (int64_t)record->rounds);
	if (isnan(record->first_round_s))
		return;
	AUTO_TEXT why = { 0 };
	text_addf(&why, "not set; the first round took %.1f s", record->first_round_s);
	message_put_shown(root, "rounds_why", text_string(&why));
}

static json_t *build(const struct record *record)
{
	const struct study *study = record->study;
	json_t *root = message_object();
	json_t *cases = message_list();
	for (size_t i = 0; i < study->cases_count; i++)
		message_append(cases, case_of(&study->cases[i], &record->commands[i]));
	message_put_whole(root, "schema", 1);
	message_put_shown(root, "study_id", record->study_id);
	message_put_shown(root, "title", study->title);
	message_put_shown(root, "created_utc", record->created_utc);
	message_put_shown(root, "linefill_version", LINEFILL_VERSION);
	message_put(root, "command_line", arguments_of(record->arguments));
	put_seed(study, root);
	put_rounds(record, root);
	if (study->baseline)
		message_put_shown(root, "baseline", study->baseline);
	message_put(root, "configuration", configuration_of(record));
	put_ends(record, root);
	message_put(root, "dataset", dataset_of(study, &record->pair->dataset));
	message_put(root, "cases", cases);
	message_put(root, "notes", json_deep_copy(record->pair->notes));
	message_put_flag(root, "same_host", true);
	return root;
}

int record_write(const struct record *record, const char *folder, struct error *err)
{
	AUTO_FREE char *path = path_join(folder, "study.json");
	json_t *root = build(record);
	AUTO_FREE char *text = json_dumps(root, JSON_INDENT(2));
	json_decref(root);
	if (!text)
		return error_set(err, ERROR_SYSTEM, 0, "study.json could not be made");
	return file_replace(path, text, strlen(text), 0644, err);
}
