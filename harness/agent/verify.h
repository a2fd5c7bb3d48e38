/* The proof: what lies at the sink is what the manifest promises, read back and hashed on all
 * cores. */
#ifndef LINEFILL_AGENT_VERIFY_H
#define LINEFILL_AGENT_VERIFY_H

#include "harness/api/manifest.h"
#include "harness/base/error.h"
#include "harness/base/io.h"

/* 0 when the copy in root is right, with its payload in *bytes; INTEGRITY with the first difference
 * when not. */
int verify_copy(const struct manifest *wanted, const char *root, enum preserve preserve,
		uint64_t *bytes, const struct io_limit *limit, struct error *err) MUST_CHECK;

#endif
