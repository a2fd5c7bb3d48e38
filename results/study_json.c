#include "results/study_json.h"

#include <string.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"

#define STUDY_MAX ((size_t)16 << 20)

int study_json_read(const char *folder, json_t **study, struct error *err)
{
	AUTO_FREE char *path = path_join(folder, "study.json");
	AUTO_FREE char *bytes = NULL;
	size_t count = 0;
	json_error_t where;
	*study = NULL;
	if (access(path, F_OK) < 0) {
		*study = json_object();
		return 0;
	}
	if (file_read_all(path, STUDY_MAX, &bytes, &count, err) < 0)
		return -1;
	*study = json_loadb(bytes, count, JSON_REJECT_DUPLICATES, &where);
	if (!*study)
		return error_set(err, ERROR_CONFIG, 0, "%s: line %d: %s", path, where.line,
				 where.text);
	if (json_is_object(*study))
		return 0;
	json_decref(*study);
	*study = NULL;
	return error_set(err, ERROR_CONFIG, 0, "%s: not a JSON object", path);
}

const char *study_json_string(const json_t *object, const char *key)
{
	const char *string = json_string_value(json_object_get(object, key));
	return string ? string : "";
}

const json_t *study_json_case(const json_t *study, const char *name)
{
	const json_t *cases = json_object_get(study, "cases");
	for (size_t i = 0; i < json_array_size(cases); i++) {
		const json_t *one = json_array_get(cases, i);
		if (strcmp(study_json_string(one, "name"), name) == 0)
			return one;
	}
	return NULL;
}
