/* Starts agents: the same binary, as `linefill agent`, as a child on this host. */
#ifndef LINEFILL_CONTROL_LAUNCHER_H
#define LINEFILL_CONTROL_LAUNCHER_H

#include "harness/base/child.h"
#include "harness/base/error.h"

/* fd talks to the agent, both ways. The agent outlives its controller only to clean up. log_file
 * gets its standard error, appended. id becomes its workspace's. */
int launcher_local(const char *id, const char *log_file, struct child *child, int *fd,
		   struct error *err) MUST_CHECK;

#endif
