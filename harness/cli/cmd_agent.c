/* The internal verbs that linefill starts at both ends. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/log.h"
#include "harness/cli/cli.h"
#include "harness/engine/agent.h"
#include "harness/engine/catalog.h"
#include "transports/ssh_receive.h"

int cmd_agent(int argc, char **argv)
{
	struct error err = { 0 };
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
	if (argc != 2 || !scratch) {
		fputs("linefill receive is started by linefill itself\n", stderr);
		return CLI_USAGE;
	}
	return ssh_receive(scratch, argv[1], &err) < 0 ? cli_fail(&err) : CLI_OK;
}
