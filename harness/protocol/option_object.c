#include "harness/protocol/option_object.h"

#include "harness/base/text.h"
#include "harness/protocol/message.h"

json_t *option_object(const struct option_def *defs, const void *values)
{
	json_t *object = message_object();
	for (const struct option_def *def = defs; def && def->name; def++) {
		AUTO_TEXT value = { 0 };
		option_value_text(def, values, &value);
		message_put_text(object, def->name, text_string(&value));
	}
	return object;
}

int option_object_read(const json_t *object, const struct option_def *defs, void *values,
		       struct error *err)
{
	const char *key;
	json_t *value;
	for (const struct option_def *def = defs; def && def->name; def++)
		if (!json_is_string(json_object_get(object, def->name)))
			return error_set(err, ERROR_PEER, 0, "the option '%s' is missing",
					 def->name);
	json_object_foreach((json_t *)object, key, value)
	{
		if (option_set(defs, values, key, json_string_value(value), err) < 0)
			return -1;
	}
	return 0;
}
