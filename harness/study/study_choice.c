#include "harness/study/study_choice.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/study/study_cases.h"

static const char *case_name_at(const void *context, size_t i)
{
	const struct study *study = context;
	return i < study->cases_count ? study->cases[i].name : NULL;
}

/* A swept case is meant by its whole name, by the name before the sweep, or by its section. */
static bool case_matches(const struct study_case *item, const char *wanted)
{
	/* Names are kept as rows show them. */
	AUTO_FREE char *shown = text_shown(wanted, SIZE_MAX);
	size_t length = strlen(shown);
	return strcmp(item->name, shown) == 0 || strcmp(study_case_title(item), wanted) == 0 ||
	       (item->factors[0] && strncmp(item->name, shown, length) == 0 &&
		item->name[length] == ' ');
}

/* What the command line says of a case that --case leaves out would be said for nothing. */
static int check_left_out(const struct study *study, const struct study_input *input,
			  const bool *kept, struct error *err)
{
	for (size_t i = 0; i < input->count; i++) {
		const struct study_setting *setting = &input->settings[i];
		const struct study_case *item = NULL;
		bool used = false;
		for (size_t j = 0; j < study->cases_count; j++) {
			if (strcmp(study->cases[j].section, setting->section) != 0)
				continue;
			item = &study->cases[j];
			used |= kept[j];
		}
		if (setting->ordered && item && !used)
			return error_set(
				err, ERROR_CONFIG, 0,
				"--case leaves '%s' out, which %s is for: add --case '%s', "
				"or drop the other",
				study_case_title(item), setting->where, study_case_title(item));
	}
	return 0;
}

int study_keep_only(struct study *study, const struct study_input *input, const char *const *only,
		    struct error *err)
{
	AUTO_FREE bool *kept = calloc(study->cases_count + 1, sizeof(*kept));
	if (!kept)
		abort();
	for (; *only; only++) {
		bool found = false;
		for (size_t i = 0; i < study->cases_count; i++)
			if (case_matches(&study->cases[i], *only))
				found = kept[i] = true;
		if (found)
			continue;
		const char *near = text_nearest(*only, case_name_at, study);
		return error_set(err, ERROR_CONFIG, 0, "--case: there is no case '%s'%s%s%s", *only,
				 near ? ": did you mean '" : "", near ? near : "",
				 near ? "'?" : "");
	}
	if (check_left_out(study, input, kept, err) < 0)
		return -1;
	size_t count = 0;
	for (size_t i = 0; i < study->cases_count; i++) {
		if (kept[i])
			study->cases[count++] = study->cases[i];
		else
			study_free_case(&study->cases[i]);
	}
	study->cases_count = count;
	return 0;
}

/* ---- [study] baseline ---- */

static int no_baseline(const struct study *study, const char *wanted, struct error *err)
{
	const char *near = text_nearest(wanted, case_name_at, study);
	return error_set(err, ERROR_CONFIG, 0, "there is no case '%s' to run%s%s%s", wanted,
			 near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static int many_baselines(const struct study *study, const char *wanted, struct error *err)
{
	AUTO_TEXT names = { 0 };
	for (size_t i = 0; i < study->cases_count; i++)
		if (case_matches(&study->cases[i], wanted))
			text_addf(&names, "%s'%s'", names.length ? ", " : "", study->cases[i].name);
	return error_set(err, ERROR_CONFIG, 0, "'%.40s' is several cases, one is needed: %.160s",
			 wanted, text_string(&names));
}

static int find_baseline(struct study *study, const char *wanted, struct error *err)
{
	const struct study_case *found = NULL;
	size_t matches = 0;
	for (size_t i = 0; i < study->cases_count; i++) {
		const struct study_case *item = &study->cases[i];
		if (!case_matches(item, wanted))
			continue;
		matches++;
		found = item;
		if (strcmp(item->name, wanted) == 0) {
			matches = 1; /* its whole name */
			break;
		}
	}
	if (matches == 0)
		return no_baseline(study, wanted, err);
	if (matches > 1)
		return many_baselines(study, wanted, err);
	study->baseline = strdup(found->name);
	if (!study->baseline)
		abort();
	return 0;
}

int study_settle_baseline(struct study *study, const struct study_input *input, struct error *err)
{
	const struct study_setting *setting = study_input_find(input, "study", "baseline");
	if (!setting || !study->settings.baseline[0])
		return 0;
	return find_baseline(study, study->settings.baseline, err) < 0
		       ? error_wrap(err, "%s: baseline", setting->where)
		       : 0;
}
