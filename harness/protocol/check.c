#include "harness/protocol/check.h"

#include <string.h>

static const char *const type_texts[] = {
	[MEMBER_TEXT] = "text",     [MEMBER_WHOLE] = "a whole number",
	[MEMBER_REAL] = "a number", [MEMBER_FLAG] = "true or false",
	[MEMBER_LIST] = "a list",   [MEMBER_OBJECT] = "an object",
};

static bool has_type(const json_t *value, enum member_type type)
{
	switch (type) {
	case MEMBER_TEXT:
		return json_is_string(value);
	case MEMBER_WHOLE:
		return json_is_integer(value);
	case MEMBER_REAL:
		return json_is_number(value);
	case MEMBER_FLAG:
		return json_is_boolean(value);
	case MEMBER_LIST:
		return json_is_array(value);
	case MEMBER_OBJECT:
		return json_is_object(value);
	}
	return false;
}

static int check_word(const char *word, const char *const *words, struct error *err)
{
	for (size_t i = 0; words[i]; i++)
		if (strcmp(word, words[i]) == 0)
			return 0;
	return error_set(err, ERROR_PEER, 0, "'%s' is not one of its words", word);
}

static int check_value(const json_t *value, const struct member *member, struct error *err);

static int check_each(const json_t *value, const struct member *each, struct error *err)
{
	size_t i;
	const char *key;
	json_t *item;
	if (json_is_array(value)) {
		json_array_foreach(value, i, item) if (check_value(item, each, err) <
						       0) return error_wrap(err, "item %zu", i + 1);
		return 0;
	}
	json_object_foreach((json_t *)value, key, item) if (check_value(item, each, err) <
							    0) return error_wrap(err, "'%s'", key);
	return 0;
}

static int check_value(const json_t *value, const struct member *member, struct error *err)
{
	if (!has_type(value, member->type))
		return error_set(err, ERROR_PEER, 0, "%s is expected", type_texts[member->type]);
	if (member->words)
		return check_word(json_string_value(value), member->words, err);
	json_int_t whole = json_integer_value(value);
	if (member->type == MEMBER_WHOLE &&
	    (whole < member->min || (member->max != 0 && whole > member->max)))
		return error_set(err, ERROR_PEER, 0, "%lld is out of range", (long long)whole);
	if (member->each)
		return check_each(value, member->each, err);
	if (!member->members)
		return 0;
	const struct member *const tables[] = { member->members, NULL };
	return check_members(value, tables, err);
}

static bool is_known(const char *key, const struct member *const *tables)
{
	for (; *tables; tables++)
		for (const struct member *member = *tables; member->name; member++)
			if (strcmp(member->name, key) == 0)
				return true;
	return false;
}

int check_members(const json_t *object, const struct member *const *tables, struct error *err)
{
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)object, key,
			    value) if (!is_known(key, tables)) return error_set(err, ERROR_PEER, 0,
										"'%s' is not known",
										key);
	for (; *tables; tables++)
		for (const struct member *member = *tables; member->name; member++) {
			value = json_object_get(object, member->name);
			if (!value && member->optional)
				continue;
			if (!value)
				return error_set(err, ERROR_PEER, 0, "'%s' is missing",
						 member->name);
			if (check_value(value, member, err) < 0)
				return error_wrap(err, "'%s'", member->name);
		}
	return 0;
}
