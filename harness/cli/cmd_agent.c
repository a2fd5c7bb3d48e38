/* The internal verbs that linefill starts at both ends. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/agent/agent.h"
#include "harness/base/log.h"
#include "harness/cli/cli.h"
#include "transports/catalog.h"
#include "transports/ssh/ssh_receive.h"

/* They are no verbs for users, who may still ask. */
static bool asks_help(int argc, char **argv)
{
	if (argc != 2 || (strcmp(argv[1], "--help") != 0 && strcmp(argv[1], "-h") != 0))
		return false;
	printf("linefill %s is started by linefill itself, at the ends of a study; there is no "
	       "other use for it.\nSee `linefill --help`.\n",
	       argv[0]);
	return true;
}

int cmd_agent(int argc, char **argv)
{
	struct error err = { 0 };
	if (asks_help(argc, argv))
		return CLI_OK;
	if (argc != 2 || argv[1][0] == '-') {
		fputs("linefill agent is started by linefill itself\n", stderr);
		return CLI_USAGE;
	}
	log_setup("agent", LOG_INFO);
	catalog_load();
	return agent_serve(0, 1, argv[1], &err) < 0 ? cli_fail(&err) : CLI_OK;
}

/* The far end of the ssh transport: what to write where is in a file that only its name is given
 * of. */
int cmd_receive(int argc, char **argv)
{
	struct error err = { 0 };
	const char *scratch = getenv("LINEFILL_SCRATCH");
	if (asks_help(argc, argv))
		return CLI_OK;
	if (argc != 2 || !scratch) {
		fputs("linefill receive is started by linefill itself\n", stderr);
		return CLI_USAGE;
	}
	return ssh_receive(scratch, argv[1], &err) < 0 ? cli_fail(&err) : CLI_OK;
}
