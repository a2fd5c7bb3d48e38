#include "harness/study/study.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "datasets/registry.h"
#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/study/study_cases.h"
#include "harness/study/study_choice.h"
#include "harness/study/study_ciphers.h"
#include "harness/study/study_input.h"
#include "harness/study/study_names.h"
#include "harness/study/study_orders.h"
#include "harness/study/study_places.h"
#include "harness/study/study_title.h"
#include "transports/catalog.h"

#define DEFAULT_DATASET "linux-repo:bytes=256MiB"

const char *const durability_names[] = { "none", "flush", NULL };
const char *const cache_state_names[] = { "warm", "cold", NULL };
const char *const memory_state_names[] = { "backed", "as-is", NULL };
static const char *const host_names[] = { "local", NULL };

#define SETTING(member) .offset = offsetof(struct study_settings, member)
const struct option_def study_settings_options[] = {
	{ .name = "title",
	  .type = OPTION_TEXT,
	  SETTING(title),
	  .fallback = "",
	  .help = "heading of the report" },
	{ .name = "rounds",
	  .type = OPTION_COUNT,
	  SETTING(rounds),
	  .fallback = PLAN_ROUNDS,
	  .min = 1,
	  .max = 1000,
	  .help = "runs of every case; where it is not set, 10 if the first round of all cases "
		  "takes less than 10 s; differences are named from 4" },
	{ .name = "baseline",
	  .type = OPTION_TEXT,
	  SETTING(baseline),
	  .fallback = "",
	  .help = "the case that is held against each other; the fastest if missing" },
	{ .name = "seed",
	  .type = OPTION_COUNT,
	  SETTING(seed),
	  .fallback = "1",
	  .help = "of the data and of the order of the runs" },
	{ .name = "durability",
	  .type = OPTION_CHOICE,
	  SETTING(durability),
	  .fallback = "none",
	  .choices = durability_names,
	  .help = "flush: the time includes a syncfs at the sink" },
	{ .name = "cache",
	  .type = OPTION_CHOICE,
	  SETTING(cache),
	  .fallback = "warm",
	  .choices = cache_state_names,
	  .help = "page cache of the source before each run; cold needs a location on a disk" },
	{ .name = "memory",
	  .type = OPTION_CHOICE,
	  SETTING(memory),
	  .fallback = "backed",
	  .choices = memory_state_names,
	  .help = "of copies in RAM; backed: where a hypervisor takes free memory back, touched "
		  "memory is held between runs and let go just before each; as-is: not" },
	{ .name = "preserve",
	  .type = OPTION_CHOICE,
	  SETTING(preserve),
	  .fallback = "mode",
	  .choices = preserve_names,
	  .help = "what must be alike besides names and contents: mode, or all: times too" },
	{ .name = "timeout",
	  .type = OPTION_NUMBER,
	  SETTING(timeout_s),
	  .fallback = "600",
	  .unit = "s",
	  .min = 0.1,
	  .max = 1e6,
	  .help = "a run that takes longer is ended" },
	{ 0 },
};

const struct option_def study_ssh_options[] = {
	{ .name = "cipher",
	  .type = OPTION_LIST,
	  .offset = offsetof(struct study_ssh, cipher),
	  .fallback = "aes128-ctr",
	  .plain = "none",
	  .help = "one cipher for all SSH tools, or tool-default" },
	{ .name = "mac",
	  .type = OPTION_LIST,
	  .offset = offsetof(struct study_ssh, mac),
	  .fallback = "hmac-sha2-256",
	  .help = "one MAC for all SSH tools, or tool-default" },
	{ 0 },
};

const struct option_def study_hosts_options[] = {
	{ .name = "source",
	  .type = OPTION_CHOICE,
	  .offset = offsetof(struct study_hosts, source),
	  .fallback = "local",
	  .choices = host_names,
	  .help = "where the dataset lies" },
	{ .name = "sink",
	  .type = OPTION_CHOICE,
	  .offset = offsetof(struct study_hosts, sink),
	  .fallback = "local",
	  .choices = host_names,
	  .help = "where the copies go" },
	{ 0 },
};

const struct option_def study_place_options[] = {
	{ .name = "recipe",
	  .type = OPTION_TEXT,
	  .offset = offsetof(struct study_place, recipe),
	  .fallback = "",
	  .help = "see `linefill list datasets`; its options stand beside it; linux-repo if "
		  "missing" },
	{ .name = "location",
	  .type = OPTION_TEXT,
	  .offset = offsetof(struct study_place, location),
	  .fallback = "ram",
	  .help = "ram, or a folder: where the data lies" },
	{ .name = "target",
	  .type = OPTION_TEXT,
	  .offset = offsetof(struct study_place, target),
	  .fallback = "",
	  .help = "ram, or a folder: where the copies go, if not to location" },
	{ 0 },
};

/* ---- sections with a table of their own ---- */

static int read_section(const struct study_input *input, const char *section,
			const struct option_def *defs, void *values, struct error *err)
{
	if (option_defaults(defs, values, err) < 0)
		return -1;
	for (size_t i = 0; i < input->count; i++) {
		const struct study_setting *setting = &input->settings[i];
		if (strcmp(setting->section, section) == 0 &&
		    option_set(defs, values, setting->key, setting->value, err) < 0)
			return error_wrap(err, "%s", setting->where);
	}
	return 0;
}

static void tool_default(char *value)
{
	if (strcmp(value, "tool-default") == 0)
		value[0] = '\0';
}

/* ---- [dataset] ---- */

static int find_recipe(struct study *study, const struct study_input *input, struct error *err)
{
	const struct study_setting *setting = study_input_find(input, "dataset", "recipe");
	const char *recipe = setting ? setting->value : "linux-repo";
	study->dataset = dataset_get(recipe, err);
	if (study->dataset)
		return 0;
	return setting ? error_wrap(err, "%s", setting->where) : -1;
}

/* A key of [dataset] is the place's or the recipe's: an unknown one is looked up in both. */
static int unknown_dataset_key(const struct study *study, const struct study_setting *setting,
			       struct error *err)
{
	if (option_set(study->dataset->options, study->dataset_options, setting->key,
		       setting->value, err) == 0)
		return 0;
	if (!option_find(study->dataset->options, setting->key)) {
		struct error other = { 0 };
		char scratch[sizeof(struct study_place)];
		if (option_set(study_place_options, scratch, setting->key, setting->value, &other) <
			    0 &&
		    strstr(other.message, "did you mean"))
			*err = other;
	}
	return error_wrap(err, "%s", setting->where);
}

static int read_dataset(struct study *study, const struct study_input *input, struct error *err)
{
	if (find_recipe(study, input, err) < 0)
		return -1;
	const struct dataset *dataset = study->dataset;
	study->dataset_options = calloc(1, dataset->options_size + 1);
	if (!study->dataset_options)
		abort();
	if (option_defaults(study_place_options, &study->place, err) < 0 ||
	    option_defaults(dataset->options, study->dataset_options, err) < 0)
		return -1;
	for (size_t i = 0; i < input->count; i++) {
		const struct study_setting *setting = &input->settings[i];
		if (strcmp(setting->section, "dataset") != 0)
			continue;
		if (!option_find(study_place_options, setting->key)) {
			if (unknown_dataset_key(study, setting, err) < 0)
				return -1;
		} else if (option_set(study_place_options, &study->place, setting->key,
				      setting->value, err) < 0) {
			return error_wrap(err, "%s", setting->where);
		}
	}
	if (dataset->settle && dataset->settle(study->dataset_options, err) < 0)
		return error_wrap(err, "dataset %s", dataset->name);
	AUTO_TEXT options = { 0 };
	AUTO_TEXT text = { 0 };
	option_format(dataset->options, study->dataset_options, false, &options);
	text_addf(&text, "%s%s%s", dataset->name, options.length ? ":" : "", text_string(&options));
	study->dataset_text = text_shown(text_string(&text), SIZE_MAX);
	text_copy(study->place.recipe, sizeof(study->place.recipe), dataset->name);
	if (dataset->plan(study->dataset_options, &study->dataset_estimate, err) < 0)
		return error_wrap(err, "dataset %s", dataset->name);
	return 0;
}

/* ---- the whole ---- */

static int read_all(struct study *study, struct study_input *input, struct error *err)
{
	if (study_input_check_sections(input, err) < 0)
		return -1;
	study_lengthen_ciphers(input);
	if (read_section(input, "study", study_settings_options, &study->settings, err) < 0 ||
	    read_section(input, "ssh", study_ssh_options, &study->ssh, err) < 0 ||
	    read_section(input, "hosts", study_hosts_options, &study->hosts, err) < 0 ||
	    read_dataset(study, input, err) < 0)
		return -1;
	tool_default(study->ssh.cipher);
	tool_default(study->ssh.mac);
	for (size_t i = 0; i < input->sections_count; i++)
		if (input->sections[i].title && study_read_case(study, input, i, err) < 0)
			return -1;
	return study_tell_labels_apart(study, err) < 0 ? -1 : study_check_rows(study, err);
}

/* Both ends are on this host, so what cannot work can be said before anything is made. */
static int check_location(const char *key, const char *location, struct error *err)
{
	struct stat status;
	if (!location[0] || strcmp(location, "ram") == 0)
		return 0;
	if (location[0] != '/' || !path_is_plain(location))
		return error_set(err, ERROR_CONFIG, 0,
				 "[dataset] %s = %s: ram, or an absolute path of letters, digits "
				 "and ._/@%%+=,- is expected",
				 key, location);
	if (stat(location, &status) < 0 || !S_ISDIR(status.st_mode))
		return error_set(err, ERROR_CONFIG, 0, "[dataset] %s = %s: there is no such folder",
				 key, location);
	return 0;
}

static int check_together(const struct study *study, const char *out, struct error *err)
{
	if (study->cases_count == 0)
		return error_set(err, ERROR_CONFIG, 0,
				 "there is no case to run: name a study file (`linefill list "
				 "studies`) or a transport (-t scp)");
	if (check_location("location", study->place.location, err) < 0 ||
	    check_location("target", study->place.target, err) < 0)
		return -1;
	bool in_place =
		study->dataset->in_place && study->dataset->in_place(study->dataset_options);
	if (study->settings.cache == CACHE_COLD && !in_place &&
	    strcmp(study->place.location, "ram") == 0)
		return error_set(err, ERROR_CONFIG, 0,
				 "cache = cold needs a location on a disk: set [dataset] location");
	return study_check_places(study, out, err);
}

static void set_names(struct study *study, const char *file)
{
	study->name = study_make_name(study, file);
	study->title = study_make_title(study, file);
}

int study_load(struct study *study, const struct study_request *request, struct error *err)
{
	*study = (struct study){ 0 };
	struct study_input input = { 0 };
	int outcome = request->file ? study_input_add_file(&input, request->file, err) : 0;
	if (outcome == 0)
		outcome = study_orders_add(&input, request, DEFAULT_DATASET, err);
	if (outcome == 0)
		outcome = read_all(study, &input, err);
	if (outcome == 0)
		outcome = study_check_ciphers(&input, err);
	if (outcome == 0 && request->only && request->only[0])
		outcome = study_keep_only(study, &input, request->only, err);
	if (outcome == 0)
		outcome = study_settle_baseline(study, &input, err);
	study->rounds_set = study_input_find(&input, "study", "rounds") != NULL;
	study_input_free(&input);
	if (outcome == 0)
		outcome = check_together(study, request->out, err);
	if (outcome == 0)
		set_names(study, request->file);
	else
		study_free(study);
	return outcome;
}

int study_parse(struct study *study, const char *path, const char *text, size_t count,
		struct error *err)
{
	*study = (struct study){ 0 };
	struct study_input input = { 0 };
	int outcome = study_input_add_text(&input, path, text, count, err);
	if (outcome == 0)
		outcome = read_all(study, &input, err);
	if (outcome == 0)
		outcome = study_settle_baseline(study, &input, err);
	study_input_free(&input);
	if (outcome < 0)
		study_free(study);
	return outcome;
}

void study_free(struct study *study)
{
	for (size_t i = 0; i < study->cases_count; i++)
		study_free_case(&study->cases[i]);
	free(study->cases);
	free(study->dataset_options);
	free(study->dataset_text);
	free(study->name);
	free(study->title);
	free(study->baseline);
	*study = (struct study){ 0 };
}
