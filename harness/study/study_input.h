/* A study as written, file and command line together: settings with the place that each came from.
 * What stands on the command line wins over the file; there it may not contradict itself. */
#ifndef LINEFILL_STUDY_STUDY_INPUT_H
#define LINEFILL_STUDY_STUDY_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/error.h"
#include "harness/study/study.h"

struct study_setting {
	char *section, *key, *value;
	char *where;  /* "study.ini:12" or "--set study.rounds" */
	bool ordered; /* on the command line */
};

struct study_section {
	char *name;  /* "study", "case scp" ... */
	char *title; /* of a case: its name; else NULL */
	char *where;
	bool numbered; /* a case of the command line: it gets a number where its name is taken */
};

struct study_input {
	struct study_setting *settings;
	size_t count;
	struct study_section *sections;
	size_t sections_count;
};

int study_input_add_file(struct study_input *input, const char *path, struct error *err) MUST_CHECK;
int study_input_add_text(struct study_input *input, const char *path, const char *text,
			 size_t count, struct error *err) MUST_CHECK;
void study_input_free(struct study_input *input);
/* NULL when it is not set. */
const struct study_setting *study_input_find(const struct study_input *input, const char *section,
					     const char *key);
/* Takes the place of what the file has for the key. CONFIG, with both places, where the command
 * line has said something else of it. Makes the section if need be. */
int study_input_put(struct study_input *input, const struct study_setting *setting,
		    struct error *err) MUST_CHECK;
void study_input_free_setting(struct study_setting *setting);
bool study_input_has_section(const struct study_input *input, const char *name);
/* Nothing happens where it is there already. title: of a case, else NULL. */
void study_input_add_section(struct study_input *input, const char *name, const char *title,
			     const char *where);
/* "scp" of "case scp"; NULL for another section. */
const char *study_input_case_title(const char *section);
/* The section that has this key; NULL: it is nobody's, or a recipe's or transport's. */
const char *study_input_home(const char *key);
int study_input_check_sections(const struct study_input *input, struct error *err) MUST_CHECK;

#endif
