/* Part of a Linux package repository: about 8 GB in about 5,000 files, mean 1.6 MB. Sizes are those
 * at the stratified quantiles (i + 1/2) / n of a real repository; the tail is cut where one file
 * would exceed a tenth of the whole, and all is rescaled so that count and total are exact. The
 * seed only decides which file gets which size. */
#include "datasets/linux_repo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "datasets/registry.h"
#include "datasets/sizes.h"
#include "datasets/tree.h"
#include "harness/base/cleanup.h"
#include "harness/base/random.h"

/* Of the published study: 8 GB in 5,000 files. */
#define MEAN_BYTES 1600000

struct linux_repo_options {
	uint64_t bytes, files, compressible;
};

static const struct option_def linux_repo_table[] = {
	{ .name = "bytes",
	  .type = OPTION_SIZE,
	  .offset = offsetof(struct linux_repo_options, bytes),
	  .fallback = "8GB",
	  .unit = "bytes",
	  .min = 1,
	  .max = (double)SIZES_BYTES_MAX,
	  .help = "total" },
	{ .name = "files",
	  .type = OPTION_COUNT,
	  .offset = offsetof(struct linux_repo_options, files),
	  .fallback = "0",
	  .max = (double)SIZES_FILES_MAX,
	  .help = "how many; 0: one per 1.6 MB" },
	TREE_OPTION_COMPRESSIBLE(linux_repo_options),
	{ 0 },
};

/* Debian 12 main amd64: part of the packages (in percent) that are at most so large (in bytes). */
static const struct {
	double percent, bytes;
} table[] = {
	{ 0, 880 },          { 1, 1152 },         { 5, 5132 },      { 10, 7824 },
	{ 20, 13772 },       { 30, 22640 },       { 40, 36356 },    { 50, 59164 },
	{ 60, 104140 },      { 70, 203352 },      { 80, 455436 },   { 90, 1453428 },
	{ 95, 3871604 },     { 98, 11476648 },    { 99, 21958880 }, { 99.5, 44845772 },
	{ 99.9, 170769960 }, { 100, 1535845016 },
};

double linux_repo_quantile(double p)
{
	size_t i = 1;
	while (i + 1 < ARRAY_SIZE(table) && p * 100 > table[i].percent)
		i++;
	double part = (p * 100 - table[i - 1].percent) / (table[i].percent - table[i - 1].percent);
	double low = sizes_log(table[i - 1].bytes);
	double high = sizes_log(table[i].bytes);
	return sizes_exp(low + part * (high - low));
}

int linux_repo_sizes(uint64_t files, uint64_t bytes, uint64_t *sizes, struct error *err)
{
	AUTO_FREE double *weights = calloc(files, sizeof(*weights));
	if (!weights)
		return error_set(err, ERROR_SYSTEM, ENOMEM, "out of memory");
	for (uint64_t i = 0; i < files; i++)
		weights[i] = linux_repo_quantile(((double)i + 0.5) / (double)files);
	/* With fewer than 20 files a tenth of the whole would be less than twice the mean and leave
	 * no shape at all. */
	uint64_t parts = files < 20 ? (files + 1) / 2 : 10;
	const struct sizes_goal goal = {
		.files = files,
		.bytes = bytes,
		.cap = bytes / parts > 0 ? bytes / parts : 1,
	};
	sizes_fit(&goal, weights, sizes);
	return 0;
}

static uint64_t files_of(const struct linux_repo_options *o)
{
	if (o->files > 0)
		return o->files;
	uint64_t files = (o->bytes + MEAN_BYTES / 2) / MEAN_BYTES;
	return files > 0 ? files : 1;
}

static int linux_repo_plan(const void *options, struct dataset_estimate *estimate,
			   struct error *err)
{
	const struct linux_repo_options *o = options;
	tree_estimate(estimate, files_of(o), o->bytes);
	if (estimate->files > SIZES_FILES_MAX)
		return error_set(err, ERROR_CONFIG, 0,
				 "bytes gives more than 10 million files: set files, too");
	return tree_check_counts(estimate->files, estimate->bytes, err);
}

/* Names that look like a package pool's and are the same for every seed. */
static const char *const syllables[] = {
	"ba", "be", "da", "di", "fa", "fo", "ga", "go", "ha", "hi", "ja",
	"ka", "ko", "la", "li", "lu", "ma", "mi", "na", "no", "pa", "pe",
	"po", "ra", "ro", "sa", "si", "ta", "vo", "wa", "xe", "za",
};
_Static_assert(ARRAY_SIZE(syllables) == 32, "a syllable is five bits of a source's number");
static const char *const suffixes[] = { "", "-dev", "-doc", "-data", "-common", "-utils" };

#define SOURCES_SHORT 32768 /* numbers that three syllables can name */

static void source_name(uint64_t source, char *name, size_t size)
{
	/* An odd factor permutes the numbers below a power of two, so names look unordered. */
	uint64_t mixed = (source * 20077) % SOURCES_SHORT;
	int used = snprintf(name, size, "%s%s%s", syllables[mixed >> 10],
			    syllables[(mixed >> 5) % 32], syllables[mixed % 32]);
	if (source >= SOURCES_SHORT)
		snprintf(name + used, size - (size_t)used, "%llu",
			 (unsigned long long)(source / SOURCES_SHORT + 1));
}

struct pool {
	struct manifest *manifest;
	const uint64_t *sizes;
	uint64_t files, listed, sources;
	struct random random; /* seeded alike for every recipe */
	bool letters[256];
};

static int add_letter(struct pool *pool, char letter, struct error *err)
{
	char path[32];
	bool *made = &pool->letters[(unsigned char)letter];
	snprintf(path, sizeof(path), "pool/main/%c", letter);
	if (!*made && tree_add_folder(pool->manifest, path, err) < 0)
		return -1;
	*made = true;
	return 0;
}

/* One source package: a folder with one to six binary packages. */
static int add_source(struct pool *pool, struct error *err)
{
	char name[64];
	char path[256];
	source_name(pool->sources++, name, sizeof(name));
	if (add_letter(pool, name[0], err) < 0)
		return -1;
	snprintf(path, sizeof(path), "pool/main/%c/%s", name[0], name);
	if (tree_add_folder(pool->manifest, path, err) < 0)
		return -1;
	uint64_t packages = 1 + random_below(&pool->random, ARRAY_SIZE(suffixes));
	unsigned version = (unsigned)random_below(&pool->random, 10);
	unsigned revision = (unsigned)random_below(&pool->random, 5);
	for (uint64_t i = 0; i < packages && pool->listed < pool->files; i++) {
		snprintf(path, sizeof(path), "pool/main/%c/%s/%s%s_%u.%u-%u_amd64.deb", name[0],
			 name, name, suffixes[i], version / 3, version, revision + 1);
		if (tree_add_file(pool->manifest, path, pool->sizes[pool->listed++], err) < 0)
			return -1;
	}
	return 0;
}

static int add_pool(struct pool *pool, struct error *err)
{
	random_seed(&pool->random, 1);
	if (tree_add_folder(pool->manifest, "pool", err) < 0 ||
	    tree_add_folder(pool->manifest, "pool/main", err) < 0)
		return -1;
	while (pool->listed < pool->files)
		if (add_source(pool, err) < 0)
			return -1;
	return 0;
}

static int linux_repo_make(const struct dataset_job *job, struct error *err)
{
	const struct linux_repo_options *o = job->options;
	struct dataset_estimate estimate;
	if (linux_repo_plan(o, &estimate, err) < 0)
		return -1;
	AUTO_FREE uint64_t *sizes = calloc(estimate.files, sizeof(*sizes));
	if (!sizes)
		return error_set(err, ERROR_SYSTEM, ENOMEM, "out of memory");
	if (linux_repo_sizes(estimate.files, o->bytes, sizes, err) < 0)
		return -1;
	sizes_shuffle(job->seed, sizes, estimate.files);
	struct pool pool = {
		.manifest = job->manifest,
		.sizes = sizes,
		.files = estimate.files,
	};
	if (add_pool(&pool, err) < 0)
		return -1;
	return tree_write(job, o->compressible, err);
}

const struct dataset dataset_linux_repo = {
	.name = "linux-repo",
	.summary = "part of a Linux package repository (8 GB in 5,000 files)",
	.options = linux_repo_table,
	.options_size = sizeof(struct linux_repo_options),
	.plan = linux_repo_plan,
	.make = linux_repo_make,
};
