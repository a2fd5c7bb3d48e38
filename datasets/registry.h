/* The datasets that were built in, in the order of CMakeLists.txt. A module that breaks the
 * contract is left out, and it is said what is wrong with it. Not for several threads at once. */
#ifndef LINEFILL_DATASETS_REGISTRY_H
#define LINEFILL_DATASETS_REGISTRY_H

#include "harness/api/dataset.h"

/* All of them, ends with NULL. */
const struct dataset *const *dataset_all(void);
/* The one of that name, or NULL. */
const struct dataset *dataset_find(const char *name);
/* The same; where there is none, CONFIG with the nearest name, or with what is wrong with that
 * module. */
const struct dataset *dataset_get(const char *name, struct error *err) MUST_CHECK;
/* The i-th module that was refused, and why; NULL past the end. */
const char *dataset_problem(size_t i);

#endif
