#include "datasets/registry.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/cleanup.h"

/* DATASETS(entry), made by add_dataset() in CMakeLists.txt. */
#include "datasets/registry_list.h"

#define DECLARE(identifier, name) extern const struct dataset dataset_##identifier;
DATASETS(DECLARE)

#define LIST(identifier, name) { name, &dataset_##identifier },
static const struct {
	const char *name;
	const struct dataset *dataset;
} built_in[] = { DATASETS(LIST) };

/* Those that keep the contract, and what is wrong with the others; made when first asked for. */
static const struct dataset *good[ARRAY_SIZE(built_in) + 1];
static struct error problems[ARRAY_SIZE(built_in)];

const struct dataset *const *dataset_all(void)
{
	size_t count = 0;
	if (good[0])
		return good;
	for (size_t i = 0; i < ARRAY_SIZE(built_in); i++) {
		if (dataset_check_contract(built_in[i].dataset, built_in[i].name, &problems[i]) ==
		    0)
			good[count++] = built_in[i].dataset;
		else
			error_wrap(&problems[i],
				   "dataset '%s' breaks the contract of harness/api/dataset.h",
				   built_in[i].name);
	}
	return good;
}

const struct dataset *dataset_find(const char *name)
{
	for (const struct dataset *const *dataset = dataset_all(); *dataset; dataset++)
		if (strcmp((*dataset)->name, name) == 0)
			return *dataset;
	return NULL;
}

const char *dataset_problem(size_t i)
{
	dataset_all();
	for (size_t at = 0; at < ARRAY_SIZE(built_in); at++)
		if (problems[at].kind != ERROR_NONE && i-- == 0)
			return problems[at].message;
	return NULL;
}

static const char *name_at(const void *context, size_t i)
{
	const struct dataset *const *all = context;
	return all[i] ? all[i]->name : NULL;
}

/* What people write who mean their own files. */
static bool is_folder(const char *name)
{
	struct stat status;
	return *name && stat(name, &status) == 0 && S_ISDIR(status.st_mode);
}

const struct dataset *dataset_get(const char *name, struct error *err)
{
	const struct dataset *dataset = dataset_find(name);
	if (dataset)
		return dataset;
	for (size_t i = 0; i < ARRAY_SIZE(built_in); i++)
		if (problems[i].kind != ERROR_NONE && strcmp(built_in[i].name, name) == 0) {
			*err = problems[i];
			return NULL;
		}
	if (is_folder(name)) {
		error_set(err, ERROR_CONFIG, 0,
			  "'%s' is a folder: that is the dataset directory:path=%s", name, name);
		return NULL;
	}
	const char *near = text_nearest(name, name_at, dataset_all());
	if (near)
		error_set(err, ERROR_CONFIG, 0, "unknown dataset '%s': did you mean '%s'?", name,
			  near);
	else
		error_set(err, ERROR_CONFIG, 0,
			  "unknown dataset '%s': `linefill list datasets` shows them", name);
	return NULL;
}
