#include "harness/study/study_names.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/api/result.h"
#include "harness/base/cleanup.h"
#include "harness/base/option.h"
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

/* As rows show it: escaped, and cut to what they hold. */
static void shape(struct study_case *item, const struct mark *mark)
{
	char **string = marked(item, mark);
	char *shown = text_shown(*string, mark->max);
	free(*string);
	*string = shown;
}

/* Has another case that string? */
static bool is_taken(const struct study *study, const struct study_case *item,
		     const struct mark *mark, const char *string)
{
	for (size_t i = 0; i < study->cases_count; i++) {
		struct study_case *other = &study->cases[i];
		if (other != item && strcmp(*marked(other, mark), string) == 0)
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
		AUTO_FREE char *start = text_shown(*string, mark->max - (size_t)length);
		text_addf(&text, "%s%s", start, suffix);
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
	shape(item, &name_mark);
	number(study, item, &name_mark);
	return 0;
}

/* Both labels were given: which one is meant cannot be guessed. */
static int check_given(const struct study_case *item, const struct study_case *other,
		       struct error *err)
{
	if (!item->label_where || !other->label_where || strcmp(item->label, other->label) != 0)
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

static int check_fits(const char *what, const char *name, const char *text, size_t size,
		      struct error *err)
{
	size_t length = strlen(text);
	if (length < size)
		return 0;
	return error_set(err, ERROR_CONFIG, 0,
			 "the %s of %s: %zu bytes are more than the %zu that a row holds", what,
			 name, length, size - 1);
}

#define CHECK_FITS(what, name, text, field, err) \
	check_fits(what, name, text, sizeof(((struct result *)0)->field), err)

int study_check_rows(const struct study *study, struct error *err)
{
	if (CHECK_FITS("options", "[dataset]", study->dataset_text, dataset, err) < 0)
		return -1;
	for (size_t i = 0; i < study->cases_count; i++) {
		const struct study_case *item = &study->cases[i];
		if (CHECK_FITS("name", "a transport", item->transport_name, transport, err) < 0 ||
		    CHECK_FITS("options", item->section, item->options_text, options, err) < 0 ||
		    CHECK_FITS("sweep", item->section, item->factors, factors, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- what a label must tell ---- */

static void add_mark(struct text *marks, const char *text)
{
	text_addf(marks, "%s%s", marks->length ? ", " : "", text);
}

/* Unless the label says so already. */
static void add_option(const struct option_def *def, const char *value, const char *label,
		       struct text *marks)
{
	AUTO_TEXT text = { 0 };
	text_addf(&text, "%s=%s", def->name, value);
	if (!strstr(label, text_string(&text)))
		add_mark(marks, text_string(&text));
}

static void add_shown(const struct study_case *item, const char *label, struct text *marks)
{
	for (const struct option_def *def = item->transport->options; def && def->name; def++) {
		AUTO_TEXT value = { 0 };
		if (!def->shown)
			continue;
		option_value_text(def, item->options, &value);
		if (strcmp(text_string(&value), def->fallback) != 0)
			add_option(def, text_string(&value), label, marks);
	}
}

/* Does the case leave its cipher or MAC (the key) to the tool, and not say so in its label? */
static bool leaves_to_tool(const struct study_case *item, const char *key, const char *of_study,
			   const char *label)
{
	AUTO_TEXT value = { 0 };
	AUTO_TEXT said = { 0 };
	const struct option_def *def = option_find(item->transport->options, key);
	if (def)
		option_value_text(def, item->options, &value);
	if (value.length == 0)
		return of_study[0] == '\0';
	text_addf(&said, "%s=tool-default", key);
	return strcmp(value.data, "tool-default") == 0 && !strstr(label, text_string(&said));
}

/* One cipher and MAC for all SSH tools is the rule; rates of tools with their own are no
 * comparison. */
static void add_own_methods(const struct study *study, const struct study_case *item,
			    const char *label, struct text *marks)
{
	const struct transport *transport = item->transport;
	if (!transport->needs || !transport->needs[0] || transport->plain ||
	    option_is_plain(transport->options, item->options))
		return;
	bool cipher = leaves_to_tool(item, "cipher", study->ssh.cipher, label);
	bool mac = leaves_to_tool(item, "mac", study->ssh.mac, label);
	if (cipher || mac)
		add_mark(marks, !mac      ? "tool's own cipher"
				: !cipher ? "tool's own MAC"
					  : "tool's own cipher and MAC");
}

static void add_factors(const char *factors, struct text *label)
{
	for (const char *at = factors; *at;) {
		size_t length = strcspn(at, ";");
		text_addf(label, ", %.*s", (int)length, at);
		at += length + (at[length] == ';');
	}
}

static bool makes_copies(const struct study_case *item)
{
	return item->transport && !transport_moves_memory(item->transport, item->options);
}

char *study_make_label(const struct study *study, const struct study_case *item, const char *given)
{
	AUTO_TEXT label = { 0 };
	AUTO_TEXT marks = { 0 };
	text_add(&label, given ? given : item->name);
	if (given)
		add_factors(item->factors, &label);
	if (item->transport) {
		add_shown(item, text_string(&label), &marks);
		add_own_methods(study, item, text_string(&label), &marks);
	}
	if (makes_copies(item) && study->settings.memory == MEMORY_AS_IS &&
	    !strstr(text_string(&label), "memory as-is"))
		add_mark(&marks, "memory as-is");
	if (marks.length == 0)
		return text_shown(text_string(&label), label_mark.max);
	/* In rows, which hold only so much, what must be seen comes first. */
	AUTO_TEXT whole = { 0 };
	size_t room = marks.length + 3 < label_mark.max ? label_mark.max - marks.length - 3 : 0;
	AUTO_FREE char *start = text_shown(text_string(&label), room);
	text_addf(&whole, "%s (%s)", start, text_string(&marks));
	return text_shown(text_string(&whole), label_mark.max);
}
