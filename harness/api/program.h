/* The programs that run at an end, as a probe tells them. */
#ifndef LINEFILL_API_PROGRAM_H
#define LINEFILL_API_PROGRAM_H

#include "harness/api/transport.h"

/* How long programs that are asked may take: to the probe's deadline, or this. */
#define PROGRAM_LIMIT_S 5
struct io_limit program_limit(const struct probe *probe);
/* Adds one: what it is called and where it lies, with its version, or, where that is NULL, with
 * what it says itself if it is one of those that are known to answer. path_variable is the PATH
 * that it runs with. Once each; those beyond PROBE_PROGRAMS_MAX are left out. */
void program_add(struct probe *probe, const char *name, const char *path, const char *version,
		 const char *path_variable);
/* Adds a server that serves this end, and has it be the version where there is none. One that is
 * not there is left to who starts it, and says what brings it. */
void program_add_service(struct probe *probe, const char *name);

#endif
