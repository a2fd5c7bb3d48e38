/* The user's own tree: copied to the data location first, or used where it is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/registry.h"
#include "datasets/stage.h"
#include "datasets/tree.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/overlap.h"

enum links { LINKS_KEEP, LINKS_SKIP };
static const char *const links_names[] = { [LINKS_KEEP] = "keep", [LINKS_SKIP] = "skip", NULL };
enum use { USE_COPY, USE_PLACE, USE_HARD_LINKS };
static const char *const use_names[] = {
	[USE_COPY] = "copy", [USE_PLACE] = "place", [USE_HARD_LINKS] = "hard-links", NULL
};

struct directory_options {
	char path[OPTION_TEXT_SIZE];
	int links, use;
};

static const struct option_def directory_table[] = {
	{ .name = "path",
	  .type = OPTION_TEXT,
	  .offset = offsetof(struct directory_options, path),
	  .fallback = "",
	  .help = "the folder whose contents are the dataset (required)" },
	{ .name = "links",
	  .type = OPTION_CHOICE,
	  .offset = offsetof(struct directory_options, links),
	  .fallback = "keep",
	  .choices = links_names,
	  .help = "symbolic links stay links, or are left out" },
	{ .name = "use",
	  .type = OPTION_CHOICE,
	  .offset = offsetof(struct directory_options, use),
	  .fallback = "copy",
	  .choices = use_names,
	  .help = "copy the tree to the data location first, read it in its place, or make a tree "
		  "of hard links to its files in a location on the same file system (as place does "
		  "where links are left out of a tree that has some)" },
	{ 0 },
};

/* Who reads a tree in its place sees its links, too: without them, it takes another tree. */
static int settle_use(struct directory_options *o, struct error *err)
{
	const struct manifest_scan_options scan = { .deadline_ns = CLOCK_NEVER };
	struct manifest list = { 0 };
	if (o->use != USE_PLACE || o->links != LINKS_SKIP)
		return 0;
	int result = manifest_list(&list, o->path, &scan, err);
	if (list.links > 0)
		o->use = USE_HARD_LINKS;
	manifest_free(&list);
	return result;
}

static int directory_settle(void *options, struct error *err)
{
	struct directory_options *o = options;
	char shown[MANIFEST_SHOWN_SIZE];
	if (o->path[0] == '\0')
		return error_set(err, ERROR_CONFIG, 0, "the dataset 'directory' needs path=FOLDER");
	AUTO_FREE char *absolute = realpath(o->path, NULL);
	if (!absolute)
		return error_set(err, ERROR_CONFIG, errno, "directory path '%s': %s",
				 manifest_shown(shown, o->path), strerror(errno));
	if (strlen(absolute) >= sizeof(o->path))
		return error_set(err, ERROR_CONFIG, 0,
				 "directory path '%s' is longer than %zu bytes",
				 manifest_shown(shown, absolute), sizeof(o->path) - 1);
	text_copy(o->path, sizeof(o->path), absolute);
	return settle_use(o, err);
}

static int check_path(const struct directory_options *o, struct error *err)
{
	char shown[MANIFEST_SHOWN_SIZE];
	if (o->path[0] == '\0')
		return error_set(err, ERROR_CONFIG, 0, "the dataset 'directory' needs path=FOLDER");
	if (o->path[0] != '/')
		return error_set(err, ERROR_CONFIG, 0, "directory path '%s' must be absolute",
				 manifest_shown(shown, o->path));
	return 0;
}

/* What the dataset will hold: the tree, less its links where they are skipped. */
static int list_tree(const struct directory_options *o, const struct manifest_scan_options *scan,
		     struct manifest *list, struct error *err)
{
	struct manifest_scan_options options = *scan;
	options.skip_links = o->links == LINKS_SKIP;
	return check_path(o, err) < 0 ? -1 : manifest_list(list, o->path, &options, err);
}

static int directory_plan(const void *options, struct dataset_estimate *estimate, struct error *err)
{
	const struct directory_options *o = options;
	const struct manifest_scan_options scan = { .deadline_ns = CLOCK_NEVER };
	struct manifest list = { 0 };
	uint64_t disk_bytes = 0;
	int result = list_tree(o, &scan, &list, err);
	if (result == 0)
		result = stage_disk_bytes(o->path, &list, &disk_bytes, err);
	*estimate = (struct dataset_estimate){
		.files = list.files,
		.bytes = list.bytes,
		.made_bytes = o->use == USE_COPY ? disk_bytes : 0,
		.copy_bytes = disk_bytes,
		.entries = list.count,
		.links = list.links,
		.empty_folders = list.empty_folders,
		.odd_names = list.odd_names,
		.hard_links = o->use == USE_HARD_LINKS,
	};
	manifest_free(&list);
	return result;
}

/* A tree must not be copied into itself. */
static int check_apart(const struct directory_options *o, const char *root, struct error *err)
{
	char shown[MANIFEST_SHOWN_SIZE];
	enum overlap overlap = OVERLAP_NONE;
	if (overlap_find(root, o->path, &overlap, err) < 0)
		return -1;
	if (overlap != OVERLAP_SAME && overlap != OVERLAP_INSIDE)
		return 0;
	return error_set(err, ERROR_CONFIG, 0,
			 "directory path '%s' contains the data location: choose another location",
			 manifest_shown(shown, o->path));
}

/* The list goes before the scan makes another of the same size. */
static int copy_tree(const struct dataset_job *job, const struct manifest_scan_options *scan,
		     struct error *err)
{
	const struct directory_options *o = job->options;
	char shown[MANIFEST_SHOWN_SIZE];
	struct manifest list = { 0 };
	int result = check_apart(o, job->root, err);
	if (result == 0)
		result = list_tree(o, scan, &list, err);
	bool linked = o->use == USE_HARD_LINKS;
	if (result == 0 && (linked ? stage_hard_links(job, o->path, &list, err)
				   : stage_tree(job, o->path, &list, err)) < 0)
		result = error_wrap(err, "%s %s", linked ? "link" : "copy",
				    manifest_shown(shown, o->path));
	manifest_free(&list);
	return result;
}

static int directory_make(const struct dataset_job *job, struct error *err)
{
	const struct directory_options *o = job->options;
	const struct manifest_scan_options scan = {
		.cancel = job->cancel,
		.deadline_ns = job->deadline_ns,
	};
	if (check_path(o, err) < 0)
		return -1;
	if (o->use != USE_PLACE)
		return copy_tree(job, &scan, err) < 0
			       ? -1
			       : manifest_scan(job->manifest, job->root, &scan, err);
	if (manifest_scan(job->manifest, o->path, &scan, err) < 0)
		return -1;
	return o->links == LINKS_KEEP || job->manifest->links == 0
		       ? 0
		       : error_set(err, ERROR_CONFIG, 0,
				   "a symbolic link came into the tree after it was looked at");
}

static const char *directory_reads(const void *options)
{
	return ((const struct directory_options *)options)->path;
}

static const char *directory_in_place(const void *options)
{
	const struct directory_options *o = options;
	return o->use == USE_PLACE ? o->path : NULL;
}

const struct dataset dataset_directory = {
	.name = "directory",
	.summary = "your own folder",
	.options = directory_table,
	.options_size = sizeof(struct directory_options),
	.settle = directory_settle,
	.plan = directory_plan,
	.make = directory_make,
	.in_place = directory_in_place,
	.reads = directory_reads,
	.users_own = true,
};
