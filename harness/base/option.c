#include "harness/base/option.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "harness/base/cleanup.h"

/* Of the smallest that anyone means. */
#define NUMBER_PLACES_MAX 40

static void *value_at(const struct option_def *def, void *values)
{
	return (char *)values + def->offset;
}

static const void *const_value_at(const struct option_def *def, const void *values)
{
	return (const char *)values + def->offset;
}

const struct option_def *option_find(const struct option_def *defs, const char *name)
{
	for (const struct option_def *def = defs; def && def->name; def++)
		if (strcmp(def->name, name) == 0)
			return def;
	return NULL;
}

static const char *name_at(const void *context, size_t i)
{
	return ((const struct option_def *)context)[i].name;
}

static int unknown_key(const struct option_def *defs, const char *key, struct error *err)
{
	if (!defs || !defs->name)
		return error_set(err, ERROR_CONFIG, 0,
				 "unknown option '%s': there are no options here", key);
	const char *near = text_nearest(key, name_at, defs);
	if (near)
		return error_set(err, ERROR_CONFIG, 0, "unknown option '%s': did you mean '%s'?",
				 key, near);
	AUTO_TEXT known = { 0 };
	for (const struct option_def *def = defs; def->name; def++)
		text_addf(&known, "%s%s", known.length ? ", " : "", def->name);
	return error_set(err, ERROR_CONFIG, 0, "unknown option '%s': known are %s", key,
			 text_string(&known));
}

static int out_of_range(const struct option_def *def, const char *value, struct error *err)
{
	if (def->max > 0)
		return error_set(err, ERROR_CONFIG, 0,
				 "%s = %s is out of range: %.15g to %.15g%s%s", def->name, value,
				 def->min, def->max, def->unit ? " " : "",
				 def->unit ? def->unit : "");
	return error_set(err, ERROR_CONFIG, 0, "%s = %s is out of range: at least %.15g%s%s",
			 def->name, value, def->min, def->unit ? " " : "",
			 def->unit ? def->unit : "");
}

static bool in_range(const struct option_def *def, double number)
{
	return number >= def->min && (def->max <= 0 || number <= def->max);
}

static int set_flag(const struct option_def *def, bool *flag, const char *value, struct error *err)
{
	static const char *const words[] = { "no", "yes", "off", "on", "false", "true", "0", "1" };
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcasecmp(value, words[i]) != 0)
			continue;
		*flag = i % 2 == 1;
		return 0;
	}
	return error_set(err, ERROR_CONFIG, 0, "%s = %s: yes or no is expected", def->name, value);
}

static int set_choice(const struct option_def *def, int *choice, const char *value,
		      struct error *err)
{
	AUTO_TEXT known = { 0 };
	for (int i = 0; def->choices[i]; i++) {
		if (strcmp(value, def->choices[i]) == 0) {
			*choice = i;
			return 0;
		}
		text_addf(&known, "%s%s", i ? ", " : "", def->choices[i]);
	}
	const char *near = text_nearest_in(value, def->choices);
	if (near)
		return error_set(err, ERROR_CONFIG, 0, "%s = %s: did you mean '%s'? (known are %s)",
				 def->name, value, near, text_string(&known));
	return error_set(err, ERROR_CONFIG, 0, "%s = %s: known are %s", def->name, value,
			 text_string(&known));
}

char *option_tidy(const struct option_def *def, const char *value)
{
	AUTO_TEXT tidy = { 0 };
	if (def->type != OPTION_LIST)
		text_add(&tidy, value);
	while (def->type == OPTION_LIST && *value) {
		size_t blanks = strspn(value, " \t");
		bool inside = tidy.length && tidy.data[tidy.length - 1] != ',' && value[blanks] &&
			      value[blanks] != ',';
		if (blanks && inside)
			text_add(&tidy, " ");
		value += blanks;
		text_add_bytes(&tidy, value, *value != '\0');
		value += *value != '\0';
	}
	char *taken = text_take(&tidy);
	return taken ? taken : calloc(1, 1);
}

bool option_is_swept(const struct option_def *def, const char *value)
{
	if (!def || def->type == OPTION_TEXT)
		return false;
	AUTO_FREE char *tidy = option_tidy(def, value);
	return tidy && strpbrk(tidy, " \t");
}

static int set_text(const struct option_def *def, char *to, const char *value, struct error *err)
{
	if (strlen(value) >= OPTION_TEXT_SIZE)
		return error_set(err, ERROR_CONFIG, 0, "%s is longer than %d bytes", def->name,
				 OPTION_TEXT_SIZE - 1);
	text_copy(to, OPTION_TEXT_SIZE, value);
	return 0;
}

static int set_list(const struct option_def *def, char *to, const char *value, struct error *err)
{
	AUTO_FREE char *list = option_tidy(def, value);
	if (!list)
		abort();
	if (strpbrk(list, " \t"))
		return error_set(err, ERROR_CONFIG, 0,
				 "%s = %s: one list is expected here, its names joined by commas",
				 def->name, value);
	for (char *mark = list; *mark; mark++)
		if (*mark == '+' && mark > list)
			*mark = ',';
	return set_text(def, to, list, err);
}

static bool has_unit(const struct option_def *def, const char *unit)
{
	return def->type == OPTION_NUMBER && def->unit && strcmp(def->unit, unit) == 0;
}

static int no_number(const struct option_def *def, const char *value, struct error *err)
{
	const char *wanted = def->type == OPTION_SIZE    ? "a size such as 64KiB or 10MB"
			     : def->type == OPTION_COUNT ? "a whole number"
			     : has_unit(def, "s")        ? "a time such as 90, 1.5s, 5m or 2h"
			     : has_unit(def, "bit/s")    ? "a rate such as 100Mbit/s or 10Gbit/s"
							 : "a number";
	bool says_unit = def->type == OPTION_SIZE || has_unit(def, "s") || has_unit(def, "bit/s");
	bool adds_unit = def->unit && !says_unit;
	return error_set(err, ERROR_CONFIG, 0, "%s = %s: %s is expected%s%s", def->name, value,
			 wanted, adds_unit ? ", in " : "", adds_unit ? def->unit : "");
}

/* 256 of what? Most often of something larger. */
static bool lacks_unit(const struct option_def *def, const char *value, uint64_t bytes)
{
	return def->type == OPTION_SIZE && bytes > 0 && bytes < 1024 &&
	       value[strlen(value) - 1] != 'B';
}

static int set_number(const struct option_def *def, void *to, const char *value, struct error *err)
{
	uint64_t whole = 0;
	double real = 0;
	bool parsed = def->type == OPTION_SIZE    ? text_to_bytes(value, &whole)
		      : def->type == OPTION_COUNT ? text_to_u64(value, &whole)
		      : has_unit(def, "s")        ? text_to_seconds(value, &real)
		      : has_unit(def, "bit/s")    ? text_to_bits_per_s(value, &real)
						  : text_to_number(value, &real);
	if (!parsed)
		return no_number(def, value, err);
	if (lacks_unit(def, value, whole))
		return error_set(err, ERROR_CONFIG, 0,
				 "%s = %s: of bytes? Below 1 KiB a size needs its unit: %sB, %sKiB "
				 "or %sMiB",
				 def->name, value, value, value, value);
	if (!in_range(def, def->type == OPTION_NUMBER ? real : (double)whole))
		return out_of_range(def, value, err);
	if (def->type == OPTION_NUMBER)
		*(double *)to = real;
	else
		*(uint64_t *)to = whole;
	return 0;
}

static int set_value(const struct option_def *def, void *values, const char *value,
		     struct error *err)
{
	void *to = value_at(def, values);
	switch (def->type) {
	case OPTION_FLAG:
		return set_flag(def, to, value, err);
	case OPTION_CHOICE:
		return set_choice(def, to, value, err);
	case OPTION_TEXT:
		return set_text(def, to, value, err);
	case OPTION_LIST:
		return set_list(def, to, value, err);
	case OPTION_COUNT:
	case OPTION_SIZE:
	case OPTION_NUMBER:
		return set_number(def, to, value, err);
	}
	return error_set(err, ERROR_CONFIG, 0, "%s has no known type", def->name);
}

int option_defaults(const struct option_def *defs, void *values, struct error *err)
{
	for (const struct option_def *def = defs; def && def->name; def++)
		if (set_value(def, values, def->fallback, err) < 0)
			return error_wrap(err, "default of %s", def->name);
	return 0;
}

int option_set(const struct option_def *defs, void *values, const char *key, const char *value,
	       struct error *err)
{
	const struct option_def *def = option_find(defs, key);
	if (!def)
		return unknown_key(defs, key, err);
	return set_value(def, values, value, err);
}

/* True if "name=" of a known option, or a flag alone, starts here: what ends a TEXT or a LIST. */
static bool starts_known_key(const struct option_def *defs, const char *string)
{
	string += strspn(string, " \t");
	for (const struct option_def *def = defs; def && def->name; def++) {
		size_t length = strlen(def->name);
		if (strncmp(string, def->name, length) != 0)
			continue;
		const char *next = string + length + strspn(string + length, " \t");
		if (*next == '=' || (def->type == OPTION_FLAG && (!*next || *next == ',')))
			return true;
	}
	return false;
}

/* The end of the item that starts at string: its comma, or the end of the string. */
static char *item_end(const struct option_def *defs, char *string)
{
	char *equals = strchr(string, '=');
	char *comma = strchr(string, ',');
	if (!comma)
		return string + strlen(string);
	if (!equals || equals > comma)
		return comma;
	AUTO_FREE char *key = strndup(string, (size_t)(equals - string));
	if (!key)
		abort();
	const struct option_def *def = option_find(defs, text_trim(key));
	bool whole = def && (def->type == OPTION_LIST || def->type == OPTION_TEXT);
	while (whole && comma && !starts_known_key(defs, comma + 1))
		comma = strchr(comma + 1, ',');
	return comma ? comma : string + strlen(string);
}

char *option_next(const struct option_def *defs, char **rest, char **value)
{
	static char yes[] = "yes";
	while (**rest) {
		char *item = *rest;
		char *end = item_end(defs, item);
		*rest = *end ? end + 1 : end;
		*end = '\0';
		char *equals = strchr(item, '=');
		if (equals)
			*equals = '\0';
		char *key = text_trim(item);
		const struct option_def *def = option_find(defs, key);
		*value = equals                            ? text_trim(equals + 1)
			 : def && def->type == OPTION_FLAG ? yes
							   : NULL;
		if (*key || equals)
			return key;
	}
	return NULL;
}

int option_set_all(const struct option_def *defs, void *values, const char *string,
		   struct error *err)
{
	AUTO_FREE char *copy = strdup(string);
	char *value = NULL;
	if (!copy)
		abort();
	char *rest = copy;
	for (char *key; (key = option_next(defs, &rest, &value));) {
		if (!value && option_find(defs, key))
			return error_set(err, ERROR_CONFIG, 0, "'%s' needs a value: %s=...", key,
					 key);
		if (option_set(defs, values, key, value ? value : "", err) < 0)
			return -1;
	}
	return 0;
}

/* The largest unit that divides the size exactly, so that the text reads back to the same number.
 */
static void size_text(uint64_t bytes, struct text *out)
{
	static const char *const units[] = { "", "KiB", "MiB", "GiB", "TiB" };
	size_t unit = 0;
	bool small = bytes > 0 && bytes < 1024;
	while (bytes && bytes % 1024 == 0 && unit + 1 < ARRAY_SIZE(units)) {
		bytes /= 1024;
		unit++;
	}
	text_addf(out, "%llu%s", (unsigned long long)bytes, small ? "B" : units[unit]);
}

/* As short as can be, and read back to the same number: so without an exponent. */
static void number_text(double number, struct text *out)
{
	char text[400];
	double again = 0;
	for (int places = 0; places <= NUMBER_PLACES_MAX; places++) {
		snprintf(text, sizeof(text), "%.*f", places, number);
		if (text_to_double(text, &again) && again == number)
			break;
	}
	text_add(out, text);
}

void option_value_text(const struct option_def *def, const void *values, struct text *out)
{
	const void *value = const_value_at(def, values);
	switch (def->type) {
	case OPTION_FLAG:
		text_add(out, *(const bool *)value ? "yes" : "no");
		break;
	case OPTION_COUNT:
		text_addf(out, "%llu", (unsigned long long)*(const uint64_t *)value);
		break;
	case OPTION_SIZE:
		size_text(*(const uint64_t *)value, out);
		break;
	case OPTION_NUMBER:
		number_text(*(const double *)value, out);
		break;
	case OPTION_CHOICE:
		text_add(out, def->choices[*(const int *)value]);
		break;
	case OPTION_TEXT:
	case OPTION_LIST:
		text_add(out, value);
		break;
	}
}

/* The fallback in the canonical form that option_value_text would give it. */
static void fallback_text(const struct option_def *def, struct text *out)
{
	union {
		bool flag;
		uint64_t whole;
		double real;
		int choice;
		char text[OPTION_TEXT_SIZE];
	} value = { 0 };
	struct option_def alone = *def;
	alone.offset = 0;
	if (set_value(&alone, &value, def->fallback, NULL) == 0)
		option_value_text(&alone, &value, out);
}

void option_format(const struct option_def *defs, const void *values, bool all, struct text *out)
{
	for (const struct option_def *def = defs; def && def->name; def++) {
		AUTO_TEXT value = { 0 };
		AUTO_TEXT fallback = { 0 };
		option_value_text(def, values, &value);
		fallback_text(def, &fallback);
		if (!all && strcmp(text_string(&value), text_string(&fallback)) == 0)
			continue;
		text_addf(out, "%s%s=%s", out->length ? "," : "", def->name, text_string(&value));
	}
}

static void kind_text(const struct option_def *def, struct text *out)
{
	switch (def->type) {
	case OPTION_FLAG:
		text_add(out, "yes|no");
		break;
	case OPTION_COUNT:
	case OPTION_NUMBER:
		text_add(out, def->unit ? def->unit : "N");
		break;
	case OPTION_SIZE:
		text_add(out, "SIZE");
		break;
	case OPTION_CHOICE:
		for (int i = 0; def->choices[i]; i++)
			text_addf(out, "%s%s", i ? "|" : "", def->choices[i]);
		break;
	case OPTION_TEXT:
		text_add(out, "TEXT");
		break;
	case OPTION_LIST:
		text_add(out, "LIST");
		break;
	}
}

void option_help(const struct option_def *defs, int indent, struct text *out)
{
	for (const struct option_def *def = defs; def && def->name; def++) {
		AUTO_TEXT left = { 0 };
		text_addf(&left, "%s=", def->name);
		kind_text(def, &left);
		text_addf(out, "%*s%-28s %s", indent, "", text_string(&left), def->help);
		text_addf(out, " (default: %s)\n", *def->fallback ? def->fallback : "not set");
	}
}

static bool word_in(const char *words, const char *word)
{
	size_t length = strlen(word);
	for (const char *s = words; length && (s = strstr(s, word)); s += length)
		if ((s == words || s[-1] == ' ') && (s[length] == ' ' || s[length] == '\0'))
			return true;
	return false;
}

bool option_is_plain(const struct option_def *defs, const void *values)
{
	for (const struct option_def *def = defs; def && def->name; def++) {
		if (!def->plain)
			continue;
		AUTO_TEXT value = { 0 };
		option_value_text(def, values, &value);
		if (word_in(def->plain, text_string(&value)))
			return true;
	}
	return false;
}
