#include "harness/engine/study_names.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/api/result.h"
#include "harness/base/text.h"

/* What tells cases apart, and how many bytes of it a row holds. */
struct mark {
	size_t offset, max;
};
static const struct mark name_mark = { offsetof(struct study_case, name),
				       sizeof(((struct result *)0)->case_name) - 1 };
static const struct mark label_mark = { offsetof(struct study_case, label),
					sizeof(((struct result *)0)->label) - 1 };

static char **marked(struct study_case *item, const struct mark *mark)
{
	return (char **)((char *)item + mark->offset);
}

/* Has another case that string, as far as rows tell? */
static bool is_taken(const struct study *study, const struct study_case *item,
		     const struct mark *mark, const char *string)
{
	for (size_t i = 0; i < study->cases_count; i++) {
		struct study_case *other = &study->cases[i];
		if (other != item && strncmp(*marked(other, mark), string, mark->max) == 0)
			return true;
	}
	return false;
}

/* "scp" to "scp (2)", or to the first number that is free; what is too long loses its end. */
static void number(const struct study *study, struct study_case *item, const struct mark *mark)
{
	char **string = marked(item, mark);
	for (unsigned n = 2; is_taken(study, item, mark, *string); n++) {
		char suffix[16];
		AUTO_TEXT text = { 0 };
		int length = snprintf(suffix, sizeof(suffix), " (%u)", n);
		text_addf(&text, "%.*s%s", (int)mark->max - length, *string, suffix);
		if (is_taken(study, item, mark, text_string(&text)))
			continue;
		free(*string);
		*string = text_take(&text);
	}
}

int study_settle_name(const struct study *study, struct study_case *item, bool numbered,
		      struct error *err)
{
	for (size_t i = 0; i < study->cases_count; i++) {
		const struct study_case *other = &study->cases[i];
		if (other != item && strcmp(other->name, item->name) == 0 &&
		    (!numbered || strcmp(other->section, item->section) == 0))
			return error_set(err, ERROR_CONFIG, 0, "there are two cases named '%s'",
					 item->name);
	}
	number(study, item, &name_mark);
	return 0;
}

/* Both labels were given: which one is meant cannot be guessed. */
static int check_given(const struct study_case *item, const struct study_case *other,
		       struct error *err)
{
	if (!item->label_where || !other->label_where ||
	    strncmp(item->label, other->label, label_mark.max) != 0)
		return 0;
	error_set(err, ERROR_CONFIG, 0,
		  "label '%s' is that of case '%s' (%s), too: tables and charts could not tell "
		  "them apart",
		  item->label, other->name, other->label_where);
	return error_wrap(err, "%s", item->label_where);
}

int study_tell_labels_apart(struct study *study, struct error *err)
{
	for (size_t i = 0; i < study->cases_count; i++)
		for (size_t j = 0; j < i; j++)
			if (check_given(&study->cases[i], &study->cases[j], err) < 0)
				return -1;
	for (size_t i = 0; i < study->cases_count; i++)
		if (!study->cases[i].label_where)
			number(study, &study->cases[i], &label_mark);
	return 0;
}
