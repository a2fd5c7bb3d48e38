/* How a study is coming along: a line for each run, and on a terminal a status line with the time
 * left, redrawn every second. */
#ifndef LINEFILL_CLI_PROGRESS_H
#define LINEFILL_CLI_PROGRESS_H

#include "harness/engine/conduct.h"

struct progress;

/* Writes to standard error. rounds are shown beside each run's own. NULL never comes back. */
struct progress *progress_start(const struct study *study);
/* Callbacks for the conductor; context is the progress. */
struct conduct_watch progress_watch(struct progress *progress);
void progress_end(struct progress *progress);

#endif
