#include "harness/agent/verify.h"

#include <errno.h>

int verify_copy(const struct manifest *wanted, const char *root, enum preserve preserve,
		uint64_t *bytes, const struct io_limit *limit, struct error *err)
{
	struct error unwanted;
	err = err ? err : &unwanted;
	const struct manifest_scan_options options = { .cancel = limit->cancel,
						       .deadline_ns = limit->deadline_ns };
	int outcome = manifest_verify(wanted, root, preserve, &options, bytes, err);
	/* What may not be read or is neither file, folder nor link is no right copy either. */
	if (outcome < 0 &&
	    (err->kind == ERROR_CONFIG || (err->kind == ERROR_SYSTEM && err->code == EACCES)))
		err->kind = ERROR_INTEGRITY;
	return outcome;
}
