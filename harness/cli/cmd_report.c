#include "harness/cli/cli.h"
#include "harness/cli/show.h"

enum { KEY_ALL_PAIRS = 256 };

struct arguments {
	char *folder;
	struct show_terms terms;
};

static const struct argp_option options[] = {
	{ "all-pairs", KEY_ALL_PAIRS, 0, 0, CLI_ALL_PAIRS_HELP, 0 },
	{ 0 },
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	if (key == KEY_ALL_PAIRS) {
		arguments->terms.all_pairs = true;
		return 0;
	}
	if (key == ARGP_KEY_ARG && !arguments->folder) {
		arguments->folder = argument;
		return 0;
	}
	if (key == ARGP_KEY_ARG)
		argp_error(state, "one folder is enough");
	if (key == ARGP_KEY_END && !arguments->folder)
		argp_error(state, "which folder? (`linefill run` says where its results lie)");
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "DIR",
	.doc = "Write summary.csv, the charts and report.html of a study again, from the runs.csv "
	       "and "
	       "study.json in DIR.",
};

int cmd_report(int argc, char **argv)
{
	struct error err = { 0 };
	struct arguments arguments = { 0 };
	cli_parse(&argp, argc, argv, &arguments);
	return show_results(arguments.folder, &arguments.terms, &err) < 0 ? cli_fail(&err) : CLI_OK;
}
