#include "results/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/text.h"

static json_t *text_value(const char *string)
{
	json_t *value = json_string(string);
	if (value)
		return value;
	size_t size = 4 * strlen(string) + 1;
	AUTO_FREE char *shown = malloc(size);
	if (!shown)
		abort();
	text_escape_terminal(shown, size, string);
	return json_string(shown);
}

static json_t *field_value(const struct result_field *field, const struct result *result)
{
	AUTO_TEXT text = { 0 };
	result_field_text(field, result, &text);
	if (text.length == 0)
		return field->type == RESULT_TEXT ? json_string("") : json_null();
	const void *at = (const char *)result + field->offset;
	if (field->type == RESULT_COUNT)
		return json_integer(*(const int64_t *)at);
	if (field->type == RESULT_REAL)
		return json_real(*(const double *)at);
	return text_value(text_string(&text));
}

json_t *json_from_result(const struct result *result)
{
	json_t *object = json_object();
	if (!object)
		abort();
	for (size_t i = 0; i < result_fields_count; i++)
		json_object_set_new(object, result_fields[i].name,
				    field_value(&result_fields[i], result));
	return object;
}
