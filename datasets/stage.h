/* A private copy of a user's tree. */
#ifndef LINEFILL_DATASETS_STAGE_H
#define LINEFILL_DATASETS_STAGE_H

#include "harness/api/dataset.h"

/* Copies what list names from the tree at source into job->root: contents, holes, permission bits
 * (0777), modification times, links as they are. Plain reads and writes, so that the copy shares no
 * blocks with the original. One thread per CPU. What cannot be read, vanishes or becomes shorter is
 * an error that names it. */
int stage_tree(const struct dataset_job *job, const char *source, const struct manifest *list,
	       struct error *err) MUST_CHECK;

/* The same tree out of hard links to the files at source, which takes no room for contents: both
 * must be on one file system. */
int stage_hard_links(const struct dataset_job *job, const char *source, const struct manifest *list,
		     struct error *err) MUST_CHECK;
/* What the listed files of the tree at source take on disk: holes take nothing. */
int stage_disk_bytes(const char *source, const struct manifest *list, uint64_t *bytes,
		     struct error *err) MUST_CHECK;

#endif
