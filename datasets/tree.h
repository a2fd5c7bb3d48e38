/* Generated trees: a list of paths and sizes becomes files with contents from fill.h. Files have
 * mode 0644 and folders 0755, whatever the umask, and fixed times. */
#ifndef LINEFILL_DATASETS_TREE_H
#define LINEFILL_DATASETS_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "harness/api/dataset.h"

/* The option that all generated datasets share, as a row of the option table of struct owner. */
#define TREE_OPTION_COMPRESSIBLE(owner)                                                       \
	{                                                                                     \
		.name = "compressible", .type = OPTION_COUNT,                                 \
		.offset = offsetof(struct owner, compressible), .fallback = "0", .unit = "%", \
		.max = 90,                                                                    \
		.help = "how much smaller zlib level 6 makes the contents, within 2 points"   \
	}

/* Lists a file or folder that tree_write shall make; parents first. */
int tree_add_file(struct manifest *manifest, const char *path, uint64_t size_bytes,
		  struct error *err) MUST_CHECK;
int tree_add_folder(struct manifest *manifest, const char *path, struct error *err) MUST_CHECK;
/* Lists count files of those sizes as d00000/f00000000 and so on, per_folder in a folder. */
int tree_add_numbered(struct manifest *manifest, const uint64_t *sizes, uint64_t count,
		      uint64_t per_folder, struct error *err) MUST_CHECK;
/* Makes what job->manifest lists in job->root and finishes the manifest, digests included. Contents
 * depend on job->seed and on the order in which files were listed. One thread per CPU. */
int tree_write(const struct dataset_job *job, uint64_t compressible_pct,
	       struct error *err) MUST_CHECK;
/* The same on that many threads (0: one per CPU); the result does not depend on them. */
int tree_write_threads(const struct dataset_job *job, uint64_t compressible_pct, unsigned threads,
		       struct error *err) MUST_CHECK;

/* Of a tree of so many files with so many bytes in all. */
void tree_estimate(struct dataset_estimate *estimate, uint64_t files, uint64_t bytes);
/* CANCELLED or TIMEOUT when the job shall stop. */
int tree_stopped(const struct dataset_job *job, struct error *err) MUST_CHECK;
/* An error when the file system of root has fewer free bytes than the tree will take. */
int tree_check_room(const char *root, uint64_t bytes, uint64_t entries,
		    struct error *err) MUST_CHECK;
/* bytes must be enough for one byte in each file; both as the user gave them. */
int tree_check_counts(uint64_t files, uint64_t bytes, struct error *err) MUST_CHECK;

#endif
