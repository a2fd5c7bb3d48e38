/* What `run` and `report` end with. */
#ifndef LINEFILL_CLI_SHOW_H
#define LINEFILL_CLI_SHOW_H

#include <stdbool.h>

#include "harness/base/error.h"

/* The table of a study's rows, with ttcp also its lines; then the summary, charts and report are
 * written into the folder, and named. CONFIG where the rows are not what they should be. */
int show_results(const char *folder, bool ttcp, struct error *err) MUST_CHECK;

#endif
