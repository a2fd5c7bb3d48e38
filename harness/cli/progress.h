/* How a study is coming along: a line for each run, and on a terminal a status line with the time
 * left, redrawn every second. */
#ifndef LINEFILL_CLI_PROGRESS_H
#define LINEFILL_CLI_PROGRESS_H

#include "harness/control/conduct.h"

struct progress;

/* Writes to standard error. NULL never comes back. */
struct progress *progress_start(const struct study *study);
/* Without runs to count: on a terminal what progress_say said last, and for how long; nothing
 * elsewhere. */
struct progress *progress_start_waiting(void);
void progress_say(struct progress *progress, const char *what);
/* Callbacks for the conductor; context is the progress. */
struct conduct_watch progress_watch(struct progress *progress);
/* Leaves no status line. */
void progress_end(struct progress *progress);

#endif
