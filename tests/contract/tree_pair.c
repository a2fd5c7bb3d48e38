#include "tests/contract/tree_pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/clock.h"
#include "harness/base/files.h"
#include "tests/contract/trees.h"
#include "transports/registry.h"

static const struct manifest_scan_options scan_options = { .deadline_ns = CLOCK_NEVER };

static void must(int outcome, const struct error *err)
{
	if (outcome == 0)
		return;
	fprintf(stderr, "%s\n", err->message);
	exit(1);
}

char *tree_pair_folder(const struct tree_pair *trees, const char *name)
{
	char *path = path_join(trees->base, name);
	struct error err = { 0 };
	must(mkdir(path, 0700) < 0 ? error_system(&err, "make %s", path) : 0, &err);
	return path;
}

void tree_pair_make(struct tree_pair *trees, const char *source_name)
{
	*trees = (struct tree_pair){ .base = tree_temporary() };
	trees->source = tree_pair_folder(trees, source_name);
	trees->sink = tree_pair_folder(trees, "sink");
	trees->source_fd = tree_open(trees->source);
	trees->sink_fd = tree_open(trees->sink);
}

void tree_pair_scan(struct tree_pair *trees)
{
	struct error err = { 0 };
	manifest_free(&trees->files);
	must(manifest_scan(&trees->files, trees->source, &scan_options, &err), &err);
}

void tree_pair_drop(struct tree_pair *trees)
{
	struct error err = { 0 };
	close(trees->source_fd);
	close(trees->sink_fd);
	manifest_free(&trees->files);
	must(folder_remove(trees->base, &err), &err);
	free(trees->source);
	free(trees->sink);
	free(trees->base);
}

struct pair_spec tree_pair_spec(const struct tree_pair *trees, const char *transport,
				const char *options)
{
	return (struct pair_spec){
		.transport = transport_find(transport),
		.options = options,
		.source_root = trees->source,
		.sink_root = trees->sink,
		.scratch = trees->base,
		.files = &trees->files,
		.preserve = PRESERVE_MODE,
	};
}

int tree_pair_compare(const struct tree_pair *trees, enum preserve preserve, struct error *err)
{
	struct manifest copy = { 0 };
	int result = manifest_scan(&copy, trees->sink, &scan_options, err);
	if (result == 0)
		result = manifest_compare(&trees->files, &copy, preserve, err);
	if (result == 0 && copy.hole_bytes < trees->files.hole_bytes)
		result = error_set(err, ERROR_INTEGRITY, 0, "holes were filled");
	manifest_free(&copy);
	return result;
}
