#include "harness/control/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/protocol/message.h"

/* JSON holds UTF-8 only: other bytes are shown escaped. */
static json_t *text_value(const char *string)
{
	json_t *value = json_string(string);
	if (value)
		return value;
	char shown[2048];
	text_escape_terminal(shown, sizeof(shown), string);
	return json_string(shown);
}

static void add_section(json_t *configuration, const char *section, const struct option_def *defs,
			const void *values)
{
	for (const struct option_def *def = defs; def && def->name; def++) {
		AUTO_TEXT key = { 0 };
		AUTO_TEXT value = { 0 };
		text_addf(&key, "%s.%s", section, def->name);
		option_value_text(def, values, &value);
		json_object_set_new(configuration, text_string(&key),
				    text_value(text_string(&value)));
	}
}

static json_t *configuration_of(const struct study *study)
{
	json_t *configuration = json_object();
	add_section(configuration, "study", study_settings_options, &study->settings);
	add_section(configuration, "ssh", study_ssh_options, &study->ssh);
	add_section(configuration, "hosts", study_hosts_options, &study->hosts);
	add_section(configuration, "dataset", study_place_options, &study->place);
	add_section(configuration, "dataset", study->dataset->options, study->dataset_options);
	if (!study->ssh.cipher[0])
		json_object_set_new(configuration, "ssh.cipher", json_string("tool-default"));
	if (!study->ssh.mac[0])
		json_object_set_new(configuration, "ssh.mac", json_string("tool-default"));
	return configuration;
}

static json_t *host_of(const struct pair_side *side)
{
	json_t *host = side->facts ? json_deep_copy(side->facts) : json_object();
	json_object_set_new(host, "location", json_string(side->data ? side->data : "unknown"));
	if (side->data)
		json_object_set_new(host, "file_system", json_string(side->ram ? "RAM" : "disk"));
	return host;
}

/* {"scp": "OpenSSH_9.2p1", ...} from {"scp": {"version": ...}, ...}; what is missing says why. */
static json_t *versions_of(json_t *probes)
{
	json_t *versions = json_object();
	const char *name;
	json_t *probe;
	json_object_foreach(probes, name, probe)
	{
		const char *version = message_text(probe, "version", NULL);
		const json_t *error = json_object_get(probe, "error");
		if (error)
			json_object_set_new(versions, name,
					    json_sprintf("unavailable: %s",
							 message_text(error, "message", "")));
		else
			json_object_set_new(versions, name, json_string(version));
	}
	return versions;
}

static json_t *case_of(const struct study_case *item, const struct text *command)
{
	json_t *one = json_object();
	json_object_set_new(one, "name", text_value(item->name));
	json_object_set_new(one, "label", text_value(item->label));
	json_object_set_new(one, "transport", text_value(item->transport_name));
	json_object_set_new(one, "options", text_value(item->options_text));
	json_object_set_new(one, "factors", text_value(item->factors));
	json_object_set_new(one, "instances", json_integer((json_int_t)item->instances));
	if (command->length)
		json_object_set_new(one, "command", json_pack("[o]", text_value(command->data)));
	return one;
}

static json_t *dataset_of(const struct study *study, const struct pair_dataset *dataset)
{
	json_t *object = json_object();
	json_object_set_new(object, "recipe", text_value(study->dataset_text));
	if (!dataset->digest[0])
		return object;
	json_object_set_new(object, "files", json_integer((json_int_t)dataset->totals.files));
	json_object_set_new(object, "folders", json_integer((json_int_t)dataset->totals.folders));
	json_object_set_new(object, "links", json_integer((json_int_t)dataset->totals.links));
	json_object_set_new(object, "bytes", json_integer((json_int_t)dataset->totals.bytes));
	json_object_set_new(object, "digest", json_string(dataset->digest));
	return object;
}

static json_t *arguments_of(const char *const *arguments)
{
	json_t *list = json_pack("[s]", "linefill");
	for (; arguments && *arguments; arguments++)
		json_array_append_new(list, text_value(*arguments));
	return list;
}

static json_t *build(const struct record *record)
{
	const struct study *study = record->study;
	const struct pair *pair = record->pair;
	json_t *root = json_object();
	json_t *hosts = json_object();
	json_t *versions = json_object();
	json_t *cases = json_array();
	for (int i = 0; i < 2; i++) {
		const char *side = i == XFER_SOURCE ? "source" : "sink";
		json_t *known = versions_of(record->probes[i]);
		if (pair->ssh_server_version[0] && pair->ssh_terms.driver != (enum xfer_side)i)
			json_object_set_new(known, pair->ssh_terms.service,
					    text_value(pair->ssh_server_version));
		json_object_set_new(hosts, side, host_of(&pair->sides[i]));
		json_object_set_new(versions, side, known);
	}
	for (size_t i = 0; i < study->cases_count; i++)
		json_array_append_new(cases, case_of(&study->cases[i], &record->commands[i]));
	json_object_set_new(root, "schema", json_integer(1));
	json_object_set_new(root, "study_id", json_string(record->study_id));
	json_object_set_new(
		root, "title",
		text_value(study->settings.title[0] ? study->settings.title : study->name));
	json_object_set_new(root, "created_utc", json_string(record->created_utc));
	json_object_set_new(root, "linefill_version", json_string(LINEFILL_VERSION));
	json_object_set_new(root, "command_line", arguments_of(record->arguments));
	json_object_set_new(root, "seed", json_integer((json_int_t)study->settings.seed));
	json_object_set_new(root, "rounds", json_integer((json_int_t)study->settings.rounds));
	json_object_set_new(root, "configuration", configuration_of(study));
	json_object_set_new(root, "hosts", hosts);
	json_object_set_new(root, "versions", versions);
	json_object_set_new(root, "dataset", dataset_of(study, &pair->dataset));
	json_object_set_new(root, "cases", cases);
	json_object_set_new(root, "same_host", json_true());
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
