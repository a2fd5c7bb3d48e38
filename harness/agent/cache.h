/* The state of the page cache before a run: the harness's business, alike for all transports. */
#ifndef LINEFILL_AGENT_CACHE_H
#define LINEFILL_AGENT_CACHE_H

#include "harness/api/manifest.h"
#include "harness/base/error.h"
#include "harness/base/io.h"

/* Reads every file of a new dataset twice if it lies in RAM: the first two times that a page is
 * read, the kernel moves it between its lists, and the first run would pay for that (10 % of a read
 * measured). Elsewhere cache_warm comes before each run. */
int cache_settle(const char *root, const struct manifest *files, const struct io_limit *limit,
		 struct error *err) MUST_CHECK;
/* Reads every file once. A file system in RAM is left alone: its pages are always there. */
int cache_warm(const char *root, const struct manifest *files, const struct io_limit *limit,
	       struct error *err) MUST_CHECK;
/* Asks the kernel to forget every file, then looks how much is still resident: 0 to 100 %. */
int cache_drop(const char *root, const struct manifest *files, double *resident_pct,
	       const struct io_limit *limit, struct error *err) MUST_CHECK;
/* 1 if the folder lies on tmpfs or ramfs, 0 if not. */
int cache_is_ram(const char *folder, struct error *err) MUST_CHECK;

#endif
