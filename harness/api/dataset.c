#include "harness/api/dataset.h"

#include <string.h>

#include "harness/base/option_table.h"

int dataset_check_contract(const struct dataset *dataset, const char *name, struct error *err)
{
	const char *lacks = NULL;
	if (!dataset->name || !dataset->name[0])
		lacks = ".name";
	else if (!dataset->summary)
		lacks = ".summary";
	else if (!dataset->plan)
		lacks = ".plan";
	else if (!dataset->make)
		lacks = ".make";
	if (lacks)
		return error_set(err, ERROR_CONFIG, 0, "%s is missing", lacks);
	if (strcmp(dataset->name, name) != 0)
		return error_set(err, ERROR_CONFIG, 0, ".name is '%s' instead of '%s'",
				 dataset->name, name);
	return option_table_check(dataset->options, dataset->options_size, err);
}
