/* Many files of one size: what a copy costs per file. */
#include <errno.h>
#include <stdlib.h>

#include "datasets/registry.h"
#include "datasets/sizes.h"
#include "datasets/tree.h"
#include "harness/base/cleanup.h"

struct small_files_options {
	uint64_t files, size, per_folder, compressible;
};

static const struct option_def small_files_table[] = {
	{ .name = "files",
	  .type = OPTION_COUNT,
	  .offset = offsetof(struct small_files_options, files),
	  .fallback = "20000",
	  .max = (double)SIZES_FILES_MAX,
	  .help = "how many" },
	{ .name = "size",
	  .type = OPTION_SIZE,
	  .offset = offsetof(struct small_files_options, size),
	  .fallback = "4KiB",
	  .unit = "bytes",
	  .max = 1 << 30,
	  .help = "size of each file" },
	{ .name = "per-folder",
	  .type = OPTION_COUNT,
	  .offset = offsetof(struct small_files_options, per_folder),
	  .fallback = "100",
	  .unit = "files",
	  .min = 1,
	  .max = (double)SIZES_FILES_MAX,
	  .help = "files in each folder" },
	TREE_OPTION_COMPRESSIBLE(small_files_options),
	{ 0 },
};

static int small_files_plan(const void *options, struct dataset_estimate *estimate,
			    struct error *err)
{
	const struct small_files_options *o = options;
	/* Both are bounded by the table: the product fits. */
	tree_estimate(estimate, o->files, o->files * o->size);
	if (estimate->bytes <= SIZES_BYTES_MAX)
		return 0;
	return error_set(err, ERROR_CONFIG, 0, "files times size is more than 10^15 bytes");
}

static int small_files_make(const struct dataset_job *job, struct error *err)
{
	const struct small_files_options *o = job->options;
	struct dataset_estimate estimate;
	if (small_files_plan(o, &estimate, err) < 0)
		return -1;
	AUTO_FREE uint64_t *sizes = calloc(o->files + 1, sizeof(*sizes));
	if (!sizes)
		return error_set(err, ERROR_SYSTEM, ENOMEM, "out of memory");
	for (uint64_t i = 0; i < o->files; i++)
		sizes[i] = o->size;
	if (tree_add_numbered(job->manifest, sizes, o->files, o->per_folder, err) < 0)
		return -1;
	return tree_write(job, o->compressible, err);
}

const struct dataset dataset_small_files = {
	.name = "small-files",
	.summary = "many files of one size",
	.options = small_files_table,
	.options_size = sizeof(struct small_files_options),
	.plan = small_files_plan,
	.make = small_files_make,
};
