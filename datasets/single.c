/* One file. */
#include "datasets/registry.h"
#include "datasets/sizes.h"
#include "datasets/tree.h"

struct single_options {
	uint64_t bytes, compressible;
};

static const struct option_def single_table[] = {
	{ .name = "bytes",
	  .type = OPTION_SIZE,
	  .offset = offsetof(struct single_options, bytes),
	  .fallback = "1GiB",
	  .unit = "bytes",
	  .max = (double)SIZES_BYTES_MAX,
	  .help = "size of the file" },
	TREE_OPTION_COMPRESSIBLE(single_options),
	{ 0 },
};

static int single_plan(const void *options, struct dataset_estimate *estimate, struct error *err)
{
	(void)err;
	const struct single_options *o = options;
	tree_estimate(estimate, 1, o->bytes);
	return 0;
}

static int single_make(const struct dataset_job *job, struct error *err)
{
	const struct single_options *o = job->options;
	if (tree_add_file(job->manifest, "data", o->bytes, err) < 0)
		return -1;
	return tree_write(job, o->compressible, err);
}

const struct dataset dataset_single = {
	.name = "single",
	.summary = "one file",
	.options = single_table,
	.options_size = sizeof(struct single_options),
	.plan = single_plan,
	.make = single_make,
};
