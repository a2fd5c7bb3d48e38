#include "harness/study/study_orders.h"

#include <stdlib.h>
#include <string.h>

#include "datasets/registry.h"
#include "harness/base/cleanup.h"
#include "transports/registry.h"

static char *copy(const char *string)
{
	char *copied = strdup(string);
	if (!copied)
		abort();
	return copied;
}

static size_t rows(const struct option_def *defs)
{
	size_t count = 0;
	while (defs && defs[count].name)
		count++;
	return count;
}

/* Two tables as one, to cut up a line by: the caller frees it and nothing else. */
static struct option_def *join_tables(const struct option_def *a, const struct option_def *b)
{
	struct option_def *joined = calloc(rows(a) + rows(b) + 1, sizeof(*joined));
	if (!joined)
		abort();
	for (size_t i = 0; i < rows(a); i++)
		joined[i] = a[i];
	for (size_t i = 0; i < rows(b); i++)
		joined[rows(a) + i] = b[i];
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
		if (study_input_put(input, &setting, err) < 0)
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
	if (strchr(text_string(&name), ','))
		return error_set(err, ERROR_CONFIG, 0,
				 "-t %s: each transport has a -t of its own, as in -t scp -t tcp",
				 spec);
	const struct transport *transport = transport_find(text_string(&name));
	AUTO_FREE struct option_def *defs =
		join_tables(transport ? transport->options : NULL, study_case_options);
	title_of_spec(text_string(&name), items, defs, &title);
	text_addf(&section, "case %s", text_string(&title));
	text_addf(&where, "-t %s", spec);
	/* Never into another's section. Whether the case's name is taken is seen later, when what
	 * it sweeps is part of it. */
	for (unsigned number = 2; study_input_has_section(input, text_string(&section)); number++) {
		text_free(&section);
		text_addf(&section, "case %s (%u)", text_string(&title), number);
	}
	study_input_add_section(input, text_string(&section), text_string(&title),
				text_string(&where));
	input->sections[input->sections_count - 1].numbered = true;
	const struct study_setting setting = { .section = section.data,
					       .key = (char[]){ "transport" },
					       .value = name.data ? name.data : (char[]){ "" },
					       .where = where.data,
					       .ordered = true };
	if (study_input_put(input, &setting, err) < 0)
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
			study_input_free_setting(setting);
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
	if (study_input_put(input, &setting, err) < 0)
		return -1;
	return add_items(input, section, copied_where, items, defs, err);
}

static int no_section(const char *argument, struct error *err)
{
	AUTO_FREE char *key = strndup(argument, strcspn(argument, "="));
	if (!key)
		abort();
	const char *home = study_input_home(text_trim(key));
	if (home)
		return error_set(err, ERROR_CONFIG, 0,
				 "--set %s: the section is missing: --set '%s.%s'", argument, home,
				 argument);
	return error_set(err, ERROR_CONFIG, 0,
			 "--set %s: SECTION.KEY=VALUE is expected, such as study.rounds=10",
			 argument);
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
		return no_section(argument, err);
	*dot = '\0';
	AUTO_TEXT where = { 0 };
	text_addf(&where, "--set %s.%s", section, dot + 1);
	const char *title = study_input_case_title(section);
	if (title && !study_input_has_section(input, section)) {
		error_set(err, ERROR_CONFIG, 0, "there is no case '%s' in the study", title);
		return error_wrap(err, "%s", text_string(&where));
	}
	const struct study_setting setting = { .section = section,
					       .key = text_trim(dot + 1),
					       .value = text_trim(equals + 1),
					       .where = where.data,
					       .ordered = true };
	return study_input_put(input, &setting, err);
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
	return study_input_put(input, &setting, err);
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
	return study_input_put(input, &recipe, err);
}

int study_orders_add(struct study_input *input, const struct study_request *request,
		     const char *default_dataset, struct error *err)
{
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
