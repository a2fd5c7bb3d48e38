#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "harness/api/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

/* What was accepted must also be safe to use. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	struct manifest manifest = { 0 };
	char digest[MANIFEST_DIGEST_SIZE];
	if (manifest_parse(&manifest, bytes, count, NULL) < 0)
		return 0;
	manifest_digest_text(&manifest, digest);
	if (manifest_compare(&manifest, &manifest, PRESERVE_ALL, NULL) < 0)
		abort();
	manifest_free(&manifest);
	return 0;
}
