#include "harness/protocol/escape.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/text.h"

/* Adds the text, changed, to out; -1 for one that cannot be. */
typedef int change_function(const char *string, struct text *out);

static int escape(const char *string, struct text *out)
{
	while (*string) {
		size_t length = text_utf8_length(string);
		if (*string == '\\')
			text_add(out, "\\\\");
		else if (length)
			text_add_bytes(out, string, length);
		else
			text_addf(out, "\\x%02x", (unsigned char)*string);
		string += length ? length : 1;
	}
	return 0;
}

static int hex_value(char digit)
{
	static const char digits[] = "0123456789abcdef";
	const char *found = digit ? strchr(digits, digit) : NULL;
	return found ? (int)(found - digits) : -1;
}

/* The byte of "\xNN"; 0 for anything else: a text holds no zero. */
static int escaped_byte(const char *string)
{
	if (string[1] != 'x')
		return 0;
	int high = hex_value(string[2]);
	int low = high < 0 ? -1 : hex_value(string[3]);
	return low < 0 ? 0 : high * 16 + low;
}

static int unescape(const char *string, struct text *out)
{
	while (*string) {
		size_t plain = strcspn(string, "\\");
		text_add_bytes(out, string, plain);
		string += plain;
		if (!*string)
			return 0;
		char byte = string[1] == '\\' ? '\\' : (char)escaped_byte(string);
		if (!byte)
			return -1;
		text_add_bytes(out, &byte, 1);
		string += byte == '\\' && string[1] == '\\' ? 2 : 4;
	}
	return 0;
}

/* NULL only where the change failed. */
static json_t *changed_copy(const json_t *value, change_function *change);

static int copy_members(const json_t *from, json_t *to, change_function *change)
{
	const char *key;
	json_t *member;
	json_object_foreach((json_t *)from, key, member)
	{
		AUTO_TEXT name = { 0 };
		json_t *copied = change(key, &name) < 0 ? NULL : changed_copy(member, change);
		/* Two names that become one would lose a member. */
		if (!copied || json_object_get(to, text_string(&name))) {
			json_decref(copied);
			return -1;
		}
		if (json_object_set_new_nocheck(to, text_string(&name), copied) < 0)
			abort();
	}
	return 0;
}

static int copy_items(const json_t *from, json_t *to, change_function *change)
{
	size_t i;
	const json_t *item;
	json_array_foreach(from, i, item)
	{
		json_t *copied = changed_copy(item, change);
		if (!copied)
			return -1;
		if (json_array_append_new(to, copied) < 0)
			abort();
	}
	return 0;
}

static json_t *changed_text(const json_t *value, change_function *change)
{
	AUTO_TEXT text = { 0 };
	return change(json_string_value(value), &text) < 0
		       ? NULL
		       : json_string_nocheck(text_string(&text));
}

static json_t *changed_copy(const json_t *value, change_function *change)
{
	if (json_is_string(value))
		return changed_text(value, change);
	bool object = json_is_object(value);
	if (!object && !json_is_array(value))
		return json_copy((json_t *)value);
	json_t *copied = object ? json_object() : json_array();
	int outcome =
		object ? copy_members(value, copied, change) : copy_items(value, copied, change);
	if (outcome == 0)
		return copied;
	json_decref(copied);
	return NULL;
}

json_t *escape_json(const json_t *value)
{
	json_t *copied = changed_copy(value, escape);
	if (!copied)
		abort(); /* out of memory: nothing else fails */
	return copied;
}

json_t *unescape_json(const json_t *value, struct error *err)
{
	json_t *copied = changed_copy(value, unescape);
	if (!copied)
		error_set(err, ERROR_PEER, 0, "a message has a wrong escape in a text");
	return copied;
}
