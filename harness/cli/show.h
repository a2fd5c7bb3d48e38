/* What `run` and `report` end with. */
#ifndef LINEFILL_CLI_SHOW_H
#define LINEFILL_CLI_SHOW_H

#include <stdbool.h>

#include "harness/base/error.h"

struct show_terms {
	bool ttcp;      /* also classic ttcp lines */
	bool all_pairs; /* every case against every other */
};
/* The table of a study's rows and what it says; then the summary, charts and report are written
 * into the folder, and named. CONFIG where the rows are not what they should be. */
int show_results(const char *folder, const struct show_terms *terms, struct error *err) MUST_CHECK;

#endif
