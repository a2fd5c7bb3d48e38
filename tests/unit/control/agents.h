/* For tests that start real agents: the launcher starts this very program, as `PROGRAM agent ID`.
 */
#ifndef LINEFILL_TESTS_UNIT_CONTROL_AGENTS_H
#define LINEFILL_TESTS_UNIT_CONTROL_AGENTS_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/agent/agent.h"
#include "harness/base/log.h"
#include "tests/unit/processes.h"
#include "tests/unit/tree_folder.h"
#include "transports/catalog.h"

/* To be called first: does not return in an agent. */
static inline void agents_main(int argc, char **argv)
{
	struct error err = { 0 };
	catalog_load();
	signal(SIGPIPE, SIG_IGN);
	if (argc != 3 || strcmp(argv[1], "agent") != 0)
		return;
	log_setup("agent", LOG_INFO);
	if (agent_serve(0, 1, argv[2], &err) == 0)
		exit(0);
	fprintf(stderr, "linefill: %s\n", err.message);
	exit(1);
}

/* cmocka's setup: all that agents make lies in the folder. */
static inline int agents_setup(void **state)
{
	return tree_folder_make(state) == 0 && setenv("TMPDIR", tree_folder, 1) == 0 &&
			       mkdir("out", 0755) == 0 && mkdir("data", 0755) == 0
		       ? 0
		       : -1;
}

/* And teardown: no agent is left, nor any of its folders. */
static inline int agents_teardown(void **state)
{
	bool empty = false;
	bool fine = processes_none() && folder_is_empty("data", &empty, NULL) == 0 && empty;
	return tree_folder_drop(state) == 0 && fine ? 0 : -1;
}

#endif
