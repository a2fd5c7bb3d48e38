#include "datasets/registry.h"

#include <string.h>

const struct dataset *dataset_find(const char *name)
{
	for (const struct dataset *const *dataset = dataset_all(); *dataset; dataset++)
		if (strcmp((*dataset)->name, name) == 0)
			return *dataset;
	return NULL;
}
