#include "harness/study/study_cases.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/study/study_names.h"
#include "transports/catalog.h"

/* More than a study can run in a week: a sweep that was not meant. */
#define CASES_MAX 1000
struct case_common {
	char transport[OPTION_TEXT_SIZE], label[OPTION_TEXT_SIZE];
	uint64_t instances;
};
const struct option_def study_case_options[] = {
	{ .name = "transport",
	  .type = OPTION_TEXT,
	  .offset = offsetof(struct case_common, transport),
	  .fallback = "",
	  .help = "see `linefill list transports`; its options stand beside it" },
	{ .name = "label",
	  .type = OPTION_TEXT,
	  .offset = offsetof(struct case_common, label),
	  .fallback = "",
	  .help = "what tables and charts show instead of the name, with what is swept" },
	{ .name = "instances",
	  .type = OPTION_COUNT,
	  .offset = offsetof(struct case_common, instances),
	  .fallback = "1",
	  .min = 1,
	  .max = 64,
	  .help = "workers a side at once, each with its share of the files" },
	{ 0 },
};

static char *copy(const char *string)
{
	char *copied = strdup(string);
	if (!copied)
		abort();
	return copied;
}

/* One case as written: its settings, of which some may have several values. */
struct draft {
	const struct study_input *input;
	const char *section, *where;
	char *name;
	bool numbered;
	const struct transport *transport;
	char *transport_name;
	struct error missing;
	const struct study_setting *swept[8];
	size_t swept_count;
};

static const struct option_def *case_option(const struct draft *draft, const char *key)
{
	const struct option_def *def = option_find(study_case_options, key);
	return def || !draft->transport ? def : option_find(draft->transport->options, key);
}

static bool is_sweep(const struct draft *draft, const struct study_setting *setting)
{
	return option_is_swept(case_option(draft, setting->key), setting->value);
}

static int find_transport(struct draft *draft, struct error *err)
{
	const struct study_setting *setting =
		study_input_find(draft->input, draft->section, "transport");
	if (!setting) {
		error_set(err, ERROR_CONFIG, 0, "case '%s' has no transport", draft->name);
		return error_wrap(err, "%s", draft->where);
	}
	draft->transport_name = setting->value;
	draft->transport = catalog_transport(setting->value, &draft->missing);
	if (draft->transport || draft->missing.kind == ERROR_UNAVAILABLE)
		return 0;
	*err = draft->missing;
	return error_wrap(err, "%s", setting->where);
}

static int find_sweeps(struct draft *draft, struct error *err)
{
	const struct study_input *input = draft->input;
	for (size_t i = 0; i < input->count; i++) {
		const struct study_setting *setting = &input->settings[i];
		if (strcmp(setting->section, draft->section) != 0 || !is_sweep(draft, setting))
			continue;
		if (draft->swept_count == ARRAY_SIZE(draft->swept)) {
			error_set(err, ERROR_CONFIG, 0, "more than %zu swept options",
				  ARRAY_SIZE(draft->swept));
			return error_wrap(err, "%s", setting->where);
		}
		draft->swept[draft->swept_count++] = setting;
	}
	return 0;
}

static struct study_case *add_case(struct study *study)
{
	struct study_case *grown =
		realloc(study->cases, (study->cases_count + 1) * sizeof(*study->cases));
	if (!grown)
		abort();
	study->cases = grown;
	grown[study->cases_count] = (struct study_case){ 0 };
	return &grown[study->cases_count++];
}

static int set_case_option(const struct draft *draft, struct case_common *common,
			   struct study_case *item, const struct study_setting *setting,
			   const char *value, struct error *err)
{
	int outcome = 0;
	if (option_find(study_case_options, setting->key))
		outcome = option_set(study_case_options, common, setting->key, value, err);
	else if (draft->transport)
		outcome = option_set(draft->transport->options, item->options, setting->key, value,
				     err);
	if (outcome == 0)
		return 0;
	if (err && case_option(draft, setting->key) && strchr(value, ',')) {
		const struct error said = *err;
		error_set(err, said.kind, 0, "%s; several values are separated by blanks",
			  said.message);
	}
	return error_wrap(err, "%s", setting->where);
}

/* The value that this case takes from a sweep, NULL when the setting is not swept. */
static const char *chosen_value(const struct draft *draft, const struct study_setting *setting,
				char *const *chosen)
{
	for (size_t i = 0; i < draft->swept_count; i++)
		if (draft->swept[i] == setting)
			return chosen[i];
	return NULL;
}

static int fill_options(const struct draft *draft, char *const *chosen, struct study_case *item,
			struct case_common *common, struct error *err)
{
	const struct study_input *input = draft->input;
	size_t size = draft->transport ? draft->transport->options_size : 0;
	item->options = calloc(1, size + 1);
	if (!item->options)
		abort();
	if (option_defaults(study_case_options, common, err) < 0 ||
	    (draft->transport &&
	     option_defaults(draft->transport->options, item->options, err) < 0))
		return -1;
	for (size_t i = 0; i < input->count; i++) {
		const struct study_setting *setting = &input->settings[i];
		if (strcmp(setting->section, draft->section) != 0)
			continue;
		const char *value = chosen_value(draft, setting, chosen);
		if (set_case_option(draft, common, item, setting, value ? value : setting->value,
				    err) < 0)
			return -1;
	}
	return 0;
}

static void name_case(const struct draft *draft, char *const *chosen, struct study_case *item)
{
	AUTO_TEXT name = { 0 };
	AUTO_TEXT factors = { 0 };
	text_add(&name, draft->name);
	for (size_t i = 0; i < draft->swept_count; i++) {
		text_addf(&name, " %s=%s", draft->swept[i]->key, chosen[i]);
		text_addf(&factors, "%s%s=%s", factors.length ? ";" : "", draft->swept[i]->key,
			  chosen[i]);
	}
	item->name = text_take(&name);
	item->factors = text_shown(text_string(&factors), SIZE_MAX);
}

/* The setting that gave the label; NULL: none did. */
static const struct study_setting *given_label(const struct draft *draft,
					       const struct case_common *common)
{
	return common->label[0] ? study_input_find(draft->input, draft->section, "label") : NULL;
}

/* Options that contradict each other are told now, all else when the case is to run. */
static int check_options(const struct study *study, const struct draft *draft,
			 const struct study_case *item, struct error *err)
{
	const struct transport *transport = draft->transport;
	struct error why = { 0 };
	if (!transport || !transport->check ||
	    transport->check(transport, item->options, (enum preserve)study->settings.preserve,
			     &why) == 0 ||
	    why.kind != ERROR_CONFIG)
		return 0;
	*err = why;
	return error_wrap(err, "%s", draft->where);
}

static int make_case(struct study *study, const struct draft *draft, char *const *chosen,
		     struct error *err)
{
	struct case_common common = { 0 };
	if (study->cases_count == CASES_MAX) {
		error_set(err, ERROR_CONFIG, 0, "more than %d cases", CASES_MAX);
		return error_wrap(err, "%s", draft->where);
	}
	struct study_case *item = add_case(study);
	name_case(draft, chosen, item);
	item->section = copy(draft->section);
	item->transport = draft->transport;
	item->transport_name = copy(draft->transport_name);
	item->missing = draft->missing;
	if (fill_options(draft, chosen, item, &common, err) < 0 ||
	    check_options(study, draft, item, err) < 0)
		return -1;
	AUTO_TEXT options = { 0 };
	if (draft->transport)
		option_format(draft->transport->options, item->options, false, &options);
	item->options_text = text_shown(text_string(&options), SIZE_MAX);
	item->instances = common.instances;
	if (study_settle_name(study, item, draft->numbered, err) < 0)
		return error_wrap(err, "%s", draft->where);
	const struct study_setting *label = given_label(draft, &common);
	item->label = study_make_label(study, item, label ? common.label : NULL);
	item->label_where = label ? copy(label->where) : NULL;
	return 0;
}

/* All combinations of the swept options from the level-th on. */
static int expand(struct study *study, const struct draft *draft, size_t level, char **chosen,
		  struct error *err)
{
	if (level == draft->swept_count)
		return make_case(study, draft, chosen, err);
	const struct study_setting *setting = draft->swept[level];
	AUTO_FREE char *values = option_tidy(case_option(draft, setting->key), setting->value);
	for (char *save = NULL, *value = strtok_r(values, " \t", &save); value;
	     value = strtok_r(NULL, " \t", &save)) {
		chosen[level] = value;
		if (expand(study, draft, level + 1, chosen, err) < 0)
			return -1;
	}
	return 0;
}

int study_read_case(struct study *study, const struct study_input *input, size_t section,
		    struct error *err)
{
	const struct study_section *place = &input->sections[section];
	char *chosen[8] = { 0 };
	struct draft draft = {
		.input = input,
		.section = place->name,
		.where = place->where,
		.name = place->title,
		.numbered = place->numbered,
	};
	if (find_transport(&draft, err) < 0 || find_sweeps(&draft, err) < 0)
		return -1;
	return expand(study, &draft, 0, chosen, err);
}

void study_free_case(struct study_case *item)
{
	free(item->name);
	free(item->label);
	free(item->label_where);
	free(item->section);
	free(item->transport_name);
	free(item->options);
	free(item->options_text);
	free(item->factors);
}

const char *study_case_title(const struct study_case *item)
{
	const char *title = item->section + strcspn(item->section, " ");
	return title + strspn(title, " ");
}
