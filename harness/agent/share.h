/* Balanced parts of a dataset: as many as there are workers a side. Both ends cut the same manifest
 * and get the same parts. At the source a part becomes a folder of hard links, so that any tool can
 * take it as a plain folder. */
#ifndef LINEFILL_AGENT_SHARE_H
#define LINEFILL_AGENT_SHARE_H

#include "harness/api/manifest.h"
#include "harness/base/error.h"
#include "harness/base/io.h"

/* The manifest names every folder that its entries lie in, as those of datasets do. Fills
 * shares[0..parts-1], which the caller frees with manifest_free; their strings are those of whole,
 * which must outlive them. Each file goes, largest first, to the part with the least to do, where a
 * file costs its bytes plus SHARE_FILE_COST_BYTES; links and empty folders are dealt in turn; a
 * part has the folders that its entries need. */
#define SHARE_FILE_COST_BYTES (UINT64_C(64) << 10)
int share_cut(const struct manifest *whole, size_t parts, struct manifest *shares,
	      struct error *err) MUST_CHECK;
/* Makes the part's tree in folder (existing, empty) with hard links to the files under root. */
int share_stage(const struct manifest *share, const char *root, const char *folder,
		const struct io_limit *limit, struct error *err) MUST_CHECK;

#endif
