#include "harness/cli/cli.h"
#include "harness/cli/show.h"

static error_t parse(int key, char *argument, struct argp_state *state)
{
	char **folder = state->input;
	if (key == ARGP_KEY_ARG && !*folder) {
		*folder = argument;
		return 0;
	}
	if (key == ARGP_KEY_ARG)
		argp_error(state, "one folder is enough");
	if (key == ARGP_KEY_END && !*folder)
		argp_error(state, "which folder? (`linefill run` says where its results lie)");
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	.parser = parse,
	.args_doc = "DIR",
	.doc = "Write summary.csv, the charts and report.html of a study again, from the runs.csv "
	       "and "
	       "study.json in DIR.",
};

int cmd_report(int argc, char **argv)
{
	struct error err = { 0 };
	char *folder = NULL;
	cli_parse(&argp, argc, argv, &folder);
	return show_results(folder, false, &err) < 0 ? cli_fail(&err) : CLI_OK;
}
