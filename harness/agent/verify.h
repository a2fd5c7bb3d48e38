/* The proof: what lies at the sink is what the manifest promises, read back and hashed on all
 * cores, and it is a copy. */
#ifndef LINEFILL_AGENT_VERIFY_H
#define LINEFILL_AGENT_VERIFY_H

#include "harness/api/manifest.h"
#include "harness/base/error.h"
#include "harness/base/io.h"

struct verify_order {
	const struct manifest *wanted;
	enum preserve preserve;
	const char *root;
	/* A folder of ours above root, in which the copy was made just now: it must then be new,
	 * with no link and no mount on the way to it or in it, and no file that is another's, too.
	 * NULL: any tree will do. */
	const char *under;
};

/* 0 when what is in root is right; INTEGRITY with the first difference when not. */
int verify_copy(const struct verify_order *order, struct manifest_found *found,
		const struct io_limit *limit, struct error *err) MUST_CHECK;

#endif
