/* The datasets that were built in. */
#ifndef LINEFILL_DATASETS_REGISTRY_H
#define LINEFILL_DATASETS_REGISTRY_H

#include "harness/api/dataset.h"

/* All of them, ends with NULL. */
const struct dataset *const *dataset_all(void);
/* The one of that name, or NULL. */
const struct dataset *dataset_find(const char *name);

#endif
