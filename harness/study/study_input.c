#include "harness/study/study_input.h"

#include <stdlib.h>
#include <string.h>

#include "datasets/registry.h"
#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/inifile.h"
#include "transports/registry.h"

#define STUDY_FILE_MAX (1u << 20)
#define CASE_PREFIX    "case "

static const char *const section_names[] = { "study", "ssh", "dataset", "hosts", "case", NULL };

static char *copy(const char *string)
{
	char *copied = strdup(string);
	if (!copied)
		abort();
	return copied;
}

static void *more(void *array, size_t count, size_t size)
{
	void *grown = realloc(array, (count + 1) * size);
	if (!grown)
		abort();
	return grown;
}

static const char *case_title(const char *section)
{
	if (strncmp(section, CASE_PREFIX, strlen(CASE_PREFIX)) != 0)
		return NULL;
	const char *title = section + strlen(CASE_PREFIX);
	return title + strspn(title, " ");
}

static bool has_section(const struct study_input *input, const char *name)
{
	for (size_t i = 0; i < input->sections_count; i++)
		if (strcmp(input->sections[i].name, name) == 0)
			return true;
	return false;
}

static void add_section(struct study_input *input, const char *name, const char *title,
			const char *where)
{
	if (has_section(input, name))
		return;
	input->sections = more(input->sections, input->sections_count, sizeof(*input->sections));
	input->sections[input->sections_count++] = (struct study_section){
		.name = copy(name), .title = title ? copy(title) : NULL, .where = copy(where)
	};
}

static void free_setting(struct study_setting *setting)
{
	free(setting->section);
	free(setting->key);
	free(setting->value);
	free(setting->where);
}

/* Two orders for one key: which one is meant cannot be guessed. */
static int contradiction(const struct study_setting *old, const struct study_setting *setting,
			 struct error *err)
{
	if (strcmp(old->where, setting->where) == 0)
		return error_set(err, ERROR_CONFIG, 0, "%s: '%s' is set twice: %s and %s",
				 setting->where, setting->key, old->value, setting->value);
	return error_set(err, ERROR_CONFIG, 0, "%s and %s: '%s' is %s in one and %s in the other",
			 old->where, setting->where, setting->key, old->value, setting->value);
}

/* Replaces what the file has for the key. */
static int put(struct study_input *input, const struct study_setting *setting, struct error *err)
{
	struct study_setting *place = NULL;
	for (size_t i = 0; i < input->count && !place; i++)
		if (strcmp(input->settings[i].section, setting->section) == 0 &&
		    strcmp(input->settings[i].key, setting->key) == 0)
			place = &input->settings[i];
	if (place && place->ordered && strcmp(place->value, setting->value) != 0)
		return contradiction(place, setting, err);
	add_section(input, setting->section, case_title(setting->section), setting->where);
	struct study_setting kept = { .section = copy(setting->section),
				      .key = copy(setting->key),
				      .value = copy(setting->value),
				      .where = copy(setting->where),
				      .ordered = setting->ordered };
	if (place) {
		free_setting(place);
	} else {
		input->settings = more(input->settings, input->count, sizeof(*input->settings));
		place = &input->settings[input->count++];
	}
	*place = kept;
	return 0;
}

const struct study_setting *study_input_find(const struct study_input *input, const char *section,
					     const char *key)
{
	for (size_t i = 0; i < input->count; i++)
		if (strcmp(input->settings[i].section, section) == 0 &&
		    strcmp(input->settings[i].key, key) == 0)
			return &input->settings[i];
	return NULL;
}

int study_input_add_text(struct study_input *input, const char *path, const char *text,
			 size_t count, struct error *err)
{
	struct inifile file;
	int outcome = 0;
	if (inifile_parse(&file, path, text, count, err) < 0)
		return -1;
	for (size_t i = 0; i < file.sections_count; i++) {
		AUTO_TEXT where = { 0 };
		text_addf(&where, "%s:%u", path, file.sections[i].line);
		const char *name = file.sections[i].name;
		add_section(input, name, case_title(name), text_string(&where));
	}
	for (size_t i = 0; i < file.entries_count && outcome == 0; i++) {
		const struct inifile_entry *entry = &file.entries[i];
		AUTO_TEXT where = { 0 };
		text_addf(&where, "%s:%u", path, entry->line);
		const struct study_setting setting = { .section =
							       file.sections[entry->section].name,
						       .key = entry->key,
						       .value = entry->value,
						       .where = where.data };
		outcome = put(input, &setting, err);
	}
	inifile_free(&file);
	return outcome;
}

static int add_file(struct study_input *input, const char *path, struct error *err)
{
	AUTO_FREE char *text = NULL;
	size_t count = 0;
	if (file_read_all(path, STUDY_FILE_MAX, &text, &count, err) < 0)
		return error_wrap(err, "study file");
	return study_input_add_text(input, path, text, count, err);
}

/* Two tables as one, to cut up a line by: the caller frees it and nothing else. */
static struct option_def *join_tables(const struct option_def *a, const struct option_def *b)
{
	const struct option_def *const tables[] = { a, b };
	struct option_def *joined = NULL;
	size_t count = 0;
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		for (const struct option_def *def = tables[i]; def && def->name; def++) {
			joined = more(joined, count, sizeof(*joined));
			joined[count++] = *def;
		}
	joined = more(joined, count, sizeof(*joined));
	joined[count] = (struct option_def){ 0 };
	return joined;
}

/* "multi:streams=1,2,4": what was meant is a sweep, which has blanks. */
static int lone_words(const char *word, const struct option_def *before, const char *value,
		      char *rest, struct error *err)
{
	AUTO_TEXT values = { 0 };
	text_addf(&values, "%s=%s %s", before->name, value, word);
	while (*rest && rest[strcspn(rest, ",=")] != '=') {
		size_t length = strcspn(rest, ",");
		text_add(&values, " ");
		text_add_bytes(&values, rest, length);
		rest += length + (rest[length] == ',');
	}
	return error_set(err, ERROR_CONFIG, 0,
			 "'%s' is no option; several values of one are separated by blanks, as in "
			 "'%s'",
			 word, text_string(&values));
}

static int check_item(const char *key, const char *value, const struct option_def *defs,
		      struct error *err)
{
	if (!*key)
		return error_set(err, ERROR_CONFIG, 0, "'=%s' has no key before it", value);
	if (value || !option_find(defs, key))
		return 0;
	return error_set(err, ERROR_CONFIG, 0, "'%s' needs a value: %s=...", key, key);
}

/* "NAME[:key=value,...]": the items go into the section; defs tell where a text's or a list's
 * commas end. */
static int add_items(struct study_input *input, char *section, char *where, const char *items,
		     const struct option_def *defs, struct error *err)
{
	AUTO_FREE char *copied = copy(items);
	char *rest = copied;
	char *value = NULL;
	const struct option_def *before = NULL;
	const char *value_before = NULL;
	for (char *key; (key = option_next(defs, &rest, &value));) {
		const struct study_setting setting = { .section = section,
						       .key = key,
						       .value = value ? value : (char[]){ "" },
						       .where = where,
						       .ordered = true };
		bool lone = before && !value && !option_find(defs, key);
		if ((lone && lone_words(key, before, value_before, rest, err) < 0) ||
		    check_item(key, value, defs, err) < 0)
			return error_wrap(err, "%s", where);
		if (put(input, &setting, err) < 0)
			return -1;
		before = option_find(defs, key);
		value_before = value;
	}
	return 0;
}

static void split_spec(const char *spec, struct text *name, const char **items)
{
	const char *colon = strchr(spec, ':');
	text_add_bytes(name, spec, colon ? (size_t)(colon - spec) : strlen(spec));
	*items = colon ? colon + 1 : "";
}

/* Without what is swept: that becomes part of the name anyway. */
static void title_of_spec(const char *name, const char *items, const struct option_def *defs,
			  struct text *title)
{
	AUTO_FREE char *copied = copy(items);
	char *rest = copied;
	char *value = NULL;
	bool first = true;
	text_add(title, name);
	for (char *key; (key = option_next(defs, &rest, &value));) {
		if (strcmp(key, "label") == 0 ||
		    (value && option_is_swept(option_find(defs, key), value)))
			continue;
		text_addf(title, "%s%s%s%s", first ? ":" : ",", key, value ? "=" : "",
			  value ? value : "");
		first = false;
	}
}

static int add_transport(struct study_input *input, const char *spec, struct error *err)
{
	AUTO_TEXT name = { 0 };
	AUTO_TEXT title = { 0 };
	AUTO_TEXT section = { 0 };
	AUTO_TEXT where = { 0 };
	const char *items = NULL;
	split_spec(spec, &name, &items);
	const struct transport *transport = transport_find(text_string(&name));
	AUTO_FREE struct option_def *defs =
		join_tables(transport ? transport->options : NULL, study_case_options);
	title_of_spec(text_string(&name), items, defs, &title);
	text_addf(&section, CASE_PREFIX "%s", text_string(&title));
	text_addf(&where, "-t %s", spec);
	/* Never into another's section. Whether the case's name is taken is seen later, when what
	 * it sweeps is part of it. */
	for (unsigned number = 2; has_section(input, text_string(&section)); number++) {
		text_free(&section);
		text_addf(&section, CASE_PREFIX "%s (%u)", text_string(&title), number);
	}
	add_section(input, text_string(&section), text_string(&title), text_string(&where));
	input->sections[input->sections_count - 1].numbered = true;
	const struct study_setting setting = { .section = section.data,
					       .key = (char[]){ "transport" },
					       .value = name.data ? name.data : (char[]){ "" },
					       .where = where.data,
					       .ordered = true };
	if (put(input, &setting, err) < 0)
		return -1;
	return add_items(input, section.data, where.data, items, defs, err);
}

/* A recipe given on the command line takes nothing from the file but where the data lies. */
static int add_dataset(struct study_input *input, const char *spec, const char *where,
		       struct error *err)
{
	AUTO_TEXT name = { 0 };
	const char *items = NULL;
	char section[] = "dataset";
	split_spec(spec, &name, &items);
	size_t kept = 0;
	for (size_t i = 0; i < input->count; i++) {
		struct study_setting *setting = &input->settings[i];
		if (strcmp(setting->section, section) == 0 &&
		    strcmp(setting->key, "location") != 0 && strcmp(setting->key, "target") != 0)
			free_setting(setting);
		else
			input->settings[kept++] = *setting;
	}
	input->count = kept;
	const struct dataset *dataset = dataset_find(text_string(&name));
	AUTO_FREE char *copied_where = copy(where);
	const struct study_setting setting = { .section = section,
					       .key = (char[]){ "recipe" },
					       .value = name.data ? name.data : (char[]){ "" },
					       .where = copied_where,
					       .ordered = true };
	AUTO_FREE struct option_def *defs =
		join_tables(dataset ? dataset->options : NULL, study_place_options);
	if (put(input, &setting, err) < 0)
		return -1;
	return add_items(input, section, copied_where, items, defs, err);
}

/* "SECTION.KEY=VALUE"; a section's name may have dots, a key has none. */
static int add_set(struct study_input *input, const char *argument, struct error *err)
{
	AUTO_FREE char *section = copy(argument);
	/* The section of a case made by -t has a '=' of its own. */
	char *key = strchr(section, '.');
	for (size_t i = 0; i < input->sections_count; i++) {
		size_t length = strlen(input->sections[i].name);
		if (strncmp(section, input->sections[i].name, length) == 0 &&
		    section[length] == '.')
			key = section + length;
	}
	char *equals = key ? strchr(key, '=') : NULL;
	if (equals)
		*equals = '\0';
	char *dot = key ? strrchr(key, '.') : NULL;
	if (!equals || !dot)
		return error_set(err, ERROR_CONFIG, 0,
				 "--set %s: SECTION.KEY=VALUE is expected, such as study.rounds=10",
				 argument);
	*dot = '\0';
	AUTO_TEXT where = { 0 };
	text_addf(&where, "--set %s.%s", section, dot + 1);
	const char *title = case_title(section);
	if (title && !has_section(input, section)) {
		error_set(err, ERROR_CONFIG, 0, "there is no case '%s' in the study", title);
		return error_wrap(err, "%s", text_string(&where));
	}
	const struct study_setting setting = { .section = section,
					       .key = text_trim(dot + 1),
					       .value = text_trim(equals + 1),
					       .where = where.data,
					       .ordered = true };
	return put(input, &setting, err);
}

/* An option of `run` that stands for a key of [study]. */
static int add_study_key(struct study_input *input, char *key, const char *value, struct error *err)
{
	AUTO_TEXT where = { 0 };
	AUTO_FREE char *copied = copy(value);
	text_addf(&where, "--%s", key);
	const struct study_setting setting = { .section = (char[]){ "study" },
					       .key = key,
					       .value = copied,
					       .where = where.data,
					       .ordered = true };
	return put(input, &setting, err);
}

/* Options without a recipe are meant for the default one. */
static int default_recipe(struct study_input *input, const char *default_dataset, struct error *err)
{
	bool has_options = false;
	for (size_t i = 0; i < input->count; i++)
		has_options |= strcmp(input->settings[i].section, "dataset") == 0 &&
			       strcmp(input->settings[i].key, "location") != 0 &&
			       strcmp(input->settings[i].key, "target") != 0;
	AUTO_FREE char *name = copy(default_dataset);
	name[strcspn(name, ":")] = '\0';
	const struct study_setting recipe = { .section = (char[]){ "dataset" },
					      .key = (char[]){ "recipe" },
					      .value = name,
					      .where = (char[]){ "default dataset" } };
	if (!has_options)
		return add_dataset(input, default_dataset, "default dataset", err);
	return put(input, &recipe, err);
}

int study_input_read(struct study_input *input, const struct study_request *request,
		     const char *default_dataset, struct error *err)
{
	if (request->file && add_file(input, request->file, err) < 0)
		return -1;
	for (size_t i = 0; request->transports && request->transports[i]; i++)
		if (add_transport(input, request->transports[i], err) < 0)
			return -1;
	if (request->dataset && add_dataset(input, request->dataset, "--dataset", err) < 0)
		return -1;
	if (request->rounds && add_study_key(input, (char[]){ "rounds" }, request->rounds, err) < 0)
		return -1;
	if (request->seed && add_study_key(input, (char[]){ "seed" }, request->seed, err) < 0)
		return -1;
	for (size_t i = 0; request->sets && request->sets[i]; i++)
		if (add_set(input, request->sets[i], err) < 0)
			return -1;
	return study_input_find(input, "dataset", "recipe")
		       ? 0
		       : default_recipe(input, default_dataset, err);
}

/* A key above the first section: which one is it of? */
static int homeless_key(const struct study_input *input, const struct study_section *section,
			struct error *err)
{
	static const struct {
		const char *name;
		const struct option_def *keys;
	} homes[] = {
		{ "study", study_settings_options }, { "ssh", study_ssh_options },
		{ "dataset", study_place_options },  { "hosts", study_hosts_options },
		{ "case NAME", study_case_options },
	};
	const char *key = "";
	const char *home = "study";
	for (size_t i = 0; i < input->count && !*key; i++)
		if (strcmp(input->settings[i].section, section->name) == 0)
			key = input->settings[i].key;
	for (size_t i = ARRAY_SIZE(homes); i > 0; i--)
		if (option_find(homes[i - 1].keys, key))
			home = homes[i - 1].name;
	error_set(err, ERROR_CONFIG, 0, "'%s' stands before any section: put a line [%s] above it",
		  key, home);
	return error_wrap(err, "%s", section->where);
}

int study_input_check_sections(const struct study_input *input, struct error *err)
{
	for (size_t i = 0; i < input->sections_count; i++) {
		const struct study_section *section = &input->sections[i];
		if (!section->name[0])
			return homeless_key(input, section, err);
		bool known = section->title && section->title[0];
		for (size_t j = 0; section_names[j] && !section->title; j++)
			known |= strcmp(section->name, section_names[j]) == 0 &&
				 strcmp(section->name, "case") != 0;
		if (known)
			continue;
		const char *near = text_nearest_in(section->name, section_names);
		if (strncmp(section->name, "case", 4) == 0)
			error_set(err, ERROR_CONFIG, 0, "a case needs a name: [case NAME]");
		else
			error_set(
				err, ERROR_CONFIG, 0,
				"unknown section '%s'%s%s%s (known are study, ssh, dataset, hosts, "
				"case NAME)",
				section->name, near ? ": did you mean '" : "", near ? near : "",
				near ? "'?" : "");
		return error_wrap(err, "%s", section->where);
	}
	return 0;
}

void study_input_free(struct study_input *input)
{
	for (size_t i = 0; i < input->count; i++)
		free_setting(&input->settings[i]);
	for (size_t i = 0; i < input->sections_count; i++) {
		free(input->sections[i].name);
		free(input->sections[i].title);
		free(input->sections[i].where);
	}
	free(input->settings);
	free(input->sections);
	*input = (struct study_input){ 0 };
}
