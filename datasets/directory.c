/* The user's own tree: copied to the data location first, or used where it is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/registry.h"
#include "datasets/stage.h"
#include "datasets/tree.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"

enum links { LINKS_KEEP, LINKS_SKIP };
static const char *const links_names[] = { [LINKS_KEEP] = "keep", [LINKS_SKIP] = "skip", NULL };
enum use { USE_COPY, USE_PLACE };
static const char *const use_names[] = { [USE_COPY] = "copy", [USE_PLACE] = "place", NULL };

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
	  .help = "copy the tree to the data location first, or read it in its place" },
	{ 0 },
};

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
	return 0;
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

static int check_links(const struct directory_options *o, const struct manifest *list,
		       struct error *err)
{
	char shown[MANIFEST_SHOWN_SIZE];
	if (o->links == LINKS_KEEP || o->use == USE_COPY || list->links == 0)
		return 0;
	for (size_t i = 0; i < list->count; i++)
		if (list->entries[i].type == MANIFEST_LINK)
			return error_set(
				err, ERROR_CONFIG, 0,
				"links=skip needs use=copy: the tree has links, the first is '%s'",
				manifest_shown(shown, list->entries[i].path));
	return 0;
}

/* What the dataset will hold: the tree, less its links where they are skipped. */
static int list_tree(const struct directory_options *o, const struct manifest_scan_options *scan,
		     struct manifest *list, struct error *err)
{
	struct manifest_scan_options options = *scan;
	options.skip_links = o->links == LINKS_SKIP && o->use == USE_COPY;
	return check_path(o, err) < 0 ? -1 : manifest_list(list, o->path, &options, err);
}

static int directory_plan(const void *options, struct dataset_estimate *estimate, struct error *err)
{
	const struct directory_options *o = options;
	const struct manifest_scan_options scan = { .deadline_ns = CLOCK_NEVER };
	struct manifest list = { 0 };
	int result = list_tree(o, &scan, &list, err);
	if (result == 0)
		result = check_links(o, &list, err);
	*estimate = (struct dataset_estimate){ .files = list.files, .bytes = list.bytes };
	manifest_free(&list);
	return result;
}

/* True if inner is outer or lies in it; both absolute. */
static bool lies_within(const char *inner, const char *outer)
{
	size_t length = strlen(outer);
	if (length == 1)
		return true;
	return strncmp(inner, outer, length) == 0 &&
	       (inner[length] == '/' || inner[length] == '\0');
}

/* A tree must not be copied into itself. */
static int check_apart(const struct directory_options *o, const char *root, struct error *err)
{
	char shown[MANIFEST_SHOWN_SIZE];
	AUTO_FREE char *from = realpath(o->path, NULL);
	AUTO_FREE char *to = realpath(root, NULL);
	if (!from || !to)
		return error_system(err, "%s", manifest_shown(shown, from ? root : o->path));
	if (!lies_within(to, from))
		return 0;
	return error_set(err, ERROR_CONFIG, 0,
			 "directory path '%s' contains the data location: choose another location",
			 manifest_shown(shown, from));
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
	if (result == 0 && stage_tree(job, o->path, &list, err) < 0)
		result = error_wrap(err, "copy %s", manifest_shown(shown, o->path));
	manifest_free(&list);
	return result;
}

/* In place, before anything is hashed. */
static int refuse_links(const struct directory_options *o, const struct manifest_scan_options *scan,
			struct error *err)
{
	struct manifest list = { 0 };
	if (o->links == LINKS_KEEP)
		return 0;
	int result = list_tree(o, scan, &list, err);
	if (result == 0)
		result = check_links(o, &list, err);
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
	if (o->use == USE_COPY)
		return copy_tree(job, &scan, err) < 0
			       ? -1
			       : manifest_scan(job->manifest, job->root, &scan, err);
	return refuse_links(o, &scan, err) < 0 ? -1
					       : manifest_scan(job->manifest, o->path, &scan, err);
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
	.users_own = true,
};
