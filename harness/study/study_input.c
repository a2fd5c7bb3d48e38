#include "harness/study/study_input.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/inifile.h"

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

const char *study_input_case_title(const char *section)
{
	if (strncmp(section, CASE_PREFIX, strlen(CASE_PREFIX)) != 0)
		return NULL;
	const char *title = section + strlen(CASE_PREFIX);
	return title + strspn(title, " ");
}

bool study_input_has_section(const struct study_input *input, const char *name)
{
	for (size_t i = 0; i < input->sections_count; i++)
		if (strcmp(input->sections[i].name, name) == 0)
			return true;
	return false;
}

void study_input_add_section(struct study_input *input, const char *name, const char *title,
			     const char *where)
{
	if (study_input_has_section(input, name))
		return;
	input->sections = more(input->sections, input->sections_count, sizeof(*input->sections));
	input->sections[input->sections_count++] = (struct study_section){
		.name = copy(name), .title = title ? copy(title) : NULL, .where = copy(where)
	};
}

void study_input_free_setting(struct study_setting *setting)
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
int study_input_put(struct study_input *input, const struct study_setting *setting,
		    struct error *err)
{
	struct study_setting *place = NULL;
	for (size_t i = 0; i < input->count && !place; i++)
		if (strcmp(input->settings[i].section, setting->section) == 0 &&
		    strcmp(input->settings[i].key, setting->key) == 0)
			place = &input->settings[i];
	if (place && place->ordered && strcmp(place->value, setting->value) != 0)
		return contradiction(place, setting, err);
	study_input_add_section(input, setting->section, study_input_case_title(setting->section),
				setting->where);
	struct study_setting kept = { .section = copy(setting->section),
				      .key = copy(setting->key),
				      .value = copy(setting->value),
				      .where = copy(setting->where),
				      .ordered = setting->ordered };
	if (place) {
		study_input_free_setting(place);
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
		study_input_add_section(input, name, study_input_case_title(name),
					text_string(&where));
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
		outcome = study_input_put(input, &setting, err);
	}
	inifile_free(&file);
	return outcome;
}

int study_input_add_file(struct study_input *input, const char *path, struct error *err)
{
	AUTO_FREE char *text = NULL;
	size_t count = 0;
	if (file_read_all(path, STUDY_FILE_MAX, &text, &count, err) < 0)
		return error_wrap(err, "study file");
	return study_input_add_text(input, path, text, count, err);
}

const char *study_input_home(const char *key)
{
	static const struct {
		const char *name;
		const struct option_def *keys;
	} homes[] = {
		{ "study", study_settings_options }, { "ssh", study_ssh_options },
		{ "dataset", study_place_options },  { "hosts", study_hosts_options },
		{ "case NAME", study_case_options },
	};
	for (size_t i = 0; i < ARRAY_SIZE(homes); i++)
		if (option_find(homes[i].keys, key))
			return homes[i].name;
	return NULL;
}

/* A key above the first section: which one is it of? */
static int homeless_key(const struct study_input *input, const struct study_section *section,
			struct error *err)
{
	const char *key = "";
	for (size_t i = 0; i < input->count && !*key; i++)
		if (strcmp(input->settings[i].section, section->name) == 0)
			key = input->settings[i].key;
	const char *home = study_input_home(key) ? study_input_home(key) : "study";
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
		study_input_free_setting(&input->settings[i]);
	for (size_t i = 0; i < input->sections_count; i++) {
		free(input->sections[i].name);
		free(input->sections[i].title);
		free(input->sections[i].where);
	}
	free(input->settings);
	free(input->sections);
	*input = (struct study_input){ 0 };
}
