/* What is wrong with a copy, in words: between the manifest's own files only. */
#ifndef LINEFILL_API_MANIFEST_COMPARE_H
#define LINEFILL_API_MANIFEST_COMPARE_H

#include "harness/api/manifest.h"

#define MANIFEST_WHAT_SIZE  224
#define MANIFEST_MISSING    "is missing"
#define MANIFEST_UNEXPECTED "is unexpected"

/* True where they differ in what preserve asks for; what (MANIFEST_WHAT_SIZE bytes, or NULL) then
 * says in which way. */
bool manifest_entries_differ(const struct manifest_entry *wanted, const struct manifest_entry *copy,
			     enum preserve preserve, char *what);
/* The INTEGRITY error of that many differences, the first of which is what of path. 0 where there
 * are none. source: it is the original that is another than it was. */
int manifest_report(const char *path, const char *what, uint64_t differences, bool source,
		    struct error *err) MUST_CHECK;

#endif
