/* File sizes as general-purpose file systems have them: ln(size) is normally distributed. File i of
 * n has the size at the stratified quantile of it, median * exp(sigma * z((i + 1/2) / n)), where z
 * is the standard normal quantile; the seed decides only which file gets which size. Where bytes is
 * given, all sizes are scaled so that the total is exact (the median then follows). */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "datasets/registry.h"
#include "datasets/sizes.h"
#include "datasets/tree.h"
#include "harness/base/cleanup.h"

#define PER_FOLDER 100

struct lognormal_options {
	uint64_t files, median, bytes, compressible;
	double sigma;
};

static const struct option_def lognormal_table[] = {
	{ .name = "files",
	  .type = OPTION_COUNT,
	  .offset = offsetof(struct lognormal_options, files),
	  .fallback = "2000",
	  .min = 1,
	  .max = (double)SIZES_FILES_MAX,
	  .help = "how many" },
	{ .name = "median",
	  .type = OPTION_SIZE,
	  .offset = offsetof(struct lognormal_options, median),
	  .fallback = "32KiB",
	  .unit = "bytes",
	  .min = 1,
	  .max = 1e12,
	  .help = "half of the files are smaller" },
	{ .name = "sigma",
	  .type = OPTION_NUMBER,
	  .offset = offsetof(struct lognormal_options, sigma),
	  .fallback = "2",
	  .min = 0,
	  .max = 5,
	  .help = "spread: standard deviation of ln(size)" },
	{ .name = "bytes",
	  .type = OPTION_SIZE,
	  .offset = offsetof(struct lognormal_options, bytes),
	  .fallback = "0",
	  .unit = "bytes",
	  .max = (double)SIZES_BYTES_MAX,
	  .help = "total, instead of the median; 0: what the median gives" },
	TREE_OPTION_COMPRESSIBLE(lognormal_options),
	{ 0 },
};

static double size_at(const struct lognormal_options *o, uint64_t i)
{
	double z = sizes_normal(((double)i + 0.5) / (double)o->files);
	return (double)o->median * sizes_exp(o->sigma * z);
}

static uint64_t whole_size(double size)
{
	return size < 1 ? 1 : (uint64_t)(size + 0.5);
}

static int lognormal_plan(const void *options, struct dataset_estimate *estimate, struct error *err)
{
	const struct lognormal_options *o = options;
	uint64_t bytes = 0;
	tree_estimate(estimate, o->files, o->bytes);
	if (o->bytes > 0)
		return tree_check_counts(o->files, o->bytes, err);
	for (uint64_t i = 0; i < o->files; i++) {
		double size = size_at(o, i);
		if (size > (double)SIZES_BYTES_MAX || (bytes += whole_size(size)) > SIZES_BYTES_MAX)
			return error_set(err, ERROR_CONFIG, 0,
					 "files, median and sigma give more than 10^15 bytes");
	}
	tree_estimate(estimate, o->files, bytes);
	return 0;
}

static int list_sizes(const struct lognormal_options *o, uint64_t *sizes, struct error *err)
{
	if (o->bytes == 0) {
		for (uint64_t i = 0; i < o->files; i++)
			sizes[i] = whole_size(size_at(o, i));
		return 0;
	}
	AUTO_FREE double *weights = calloc(o->files, sizeof(*weights));
	if (!weights)
		return error_set(err, ERROR_SYSTEM, ENOMEM, "out of memory");
	for (uint64_t i = 0; i < o->files; i++)
		weights[i] = size_at(o, i);
	const struct sizes_goal goal = { .files = o->files, .bytes = o->bytes, .cap = o->bytes };
	sizes_fit(&goal, weights, sizes);
	return 0;
}

static int lognormal_make(const struct dataset_job *job, struct error *err)
{
	const struct lognormal_options *o = job->options;
	struct dataset_estimate estimate;
	if (lognormal_plan(o, &estimate, err) < 0)
		return -1;
	AUTO_FREE uint64_t *sizes = calloc(o->files, sizeof(*sizes));
	if (!sizes)
		return error_set(err, ERROR_SYSTEM, ENOMEM, "out of memory");
	if (list_sizes(o, sizes, err) < 0)
		return -1;
	sizes_shuffle(job->seed, sizes, o->files);
	if (tree_add_numbered(job->manifest, sizes, o->files, PER_FOLDER, err) < 0)
		return -1;
	return tree_write(job, o->compressible, err);
}

const struct dataset dataset_lognormal = {
	.name = "lognormal",
	.summary = "file sizes as general-purpose file systems have them",
	.options = lognormal_table,
	.options_size = sizeof(struct lognormal_options),
	.plan = lognormal_plan,
	.make = lognormal_make,
};
