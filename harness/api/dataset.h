/* The contract a dataset module is written against: one file in datasets/, plus one line in its
 * CMakeLists.txt. */
#ifndef LINEFILL_API_DATASET_H
#define LINEFILL_API_DATASET_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/api/manifest.h"
#include "harness/base/cancel.h"
#include "harness/base/error.h"
#include "harness/base/option.h"

/* Everything a module sees while it makes its tree. */
struct dataset_job {
	const void *options; /* parsed from dataset->options, read-only */
	uint64_t seed;
	const char *root;          /* an existing empty folder: the tree goes in it */
	struct manifest *manifest; /* to be filled and finished */
	const struct cancel *cancel;
	int64_t deadline_ns;
};

/* What can be said before anything is made: for --plan, and for what cannot work. */
struct dataset_estimate {
	uint64_t files;
	uint64_t bytes;
	uint64_t made_bytes; /* what making it takes on its file system */
	uint64_t copy_bytes; /* what a copy takes; both at least: holes aside, and no metadata */
	/* Of the user's own tree what is known by now; a made one has nothing of it. */
	uint64_t entries; /* files, folders and links; 0: unknown */
	uint64_t links;
	bool empty_folders, odd_names;
	bool hard_links; /* it is made of hard links to the user's files: their file system only */
};

/* Always const. */
struct dataset {
	const char *name, *summary;
	const struct option_def *options;
	size_t options_size;
	/* Completes parsed options where that depends on where linefill was started: a relative
	 * path becomes absolute. Called once, on the source's host, before all else. Optional. */
	int (*settle)(void *options, struct error *err);
	/* Checks the options together and estimates. Changes nothing. Required. */
	int (*plan)(const void *options, struct dataset_estimate *estimate, struct error *err);
	/* Makes the tree in job->root and its manifest. The same seed and options make the same
	 * bytes on any machine. Runs in a process of its own; it may use threads. Required. */
	int (*make)(const struct dataset_job *job, struct error *err);
	/* Where the user's own tree is used in place: its path, or NULL for a tree made in root.
	 * Optional. */
	const char *(*in_place)(const void *options);
	/* The user's own folder that it reads, copied or in place. Optional. */
	const char *(*reads)(const void *options);
	/* The data is the user's own: it leaves the machine unencrypted only with
	 * --allow-plaintext. */
	bool users_own;
};

/* Has this module, built in as name, all that it must have? CONFIG, saying what is missing. */
int dataset_check_contract(const struct dataset *dataset, const char *name,
			   struct error *err) MUST_CHECK;

#endif
