#include "harness/base/option_table.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"

static size_t value_size(enum option_type type)
{
	switch (type) {
	case OPTION_FLAG:
		return sizeof(bool);
	case OPTION_COUNT:
	case OPTION_SIZE:
		return sizeof(uint64_t);
	case OPTION_NUMBER:
		return sizeof(double);
	case OPTION_CHOICE:
		return sizeof(int);
	case OPTION_TEXT:
	case OPTION_LIST:
		return OPTION_TEXT_SIZE;
	}
	return 0;
}

static int check_row(const struct option_def *defs, const struct option_def *def, size_t size,
		     struct error *err)
{
	const char *problem = NULL;
	size_t bytes = value_size(def->type);
	if (bytes == 0)
		problem = "has no known type";
	else if (!def->fallback)
		problem = "has no default (.fallback)";
	else if (!def->help)
		problem = "has no .help";
	else if (def->type == OPTION_CHOICE && !def->choices)
		problem = "has no .choices";
	else if (option_find(defs, def->name) != def)
		problem = "is there twice";
	else if (bytes > size || def->offset > size - bytes)
		problem = "lies outside the struct of .options_size bytes";
	if (problem)
		return error_set(err, ERROR_CONFIG, 0, "option %s %s", def->name, problem);
	return 0;
}

int option_table_check(const struct option_def *defs, size_t size, struct error *err)
{
	if (!defs)
		return 0;
	for (const struct option_def *def = defs; def->name; def++)
		if (check_row(defs, def, size, err) < 0)
			return -1;
	AUTO_FREE void *values = calloc(1, size + 1);
	if (!values)
		abort();
	return option_defaults(defs, values, err);
}
