#include <stdio.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/cli/cli.h"
#include "results/csv.h"
#include "results/report.h"
#include "results/summary.h"

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
	AUTO_RESULTS rows = { 0 };
	AUTO_SUMMARY summary = { 0 };
	AUTO_TEXT table = { 0 };
	AUTO_FREE char *csv = path_join(folder, "runs.csv");
	AUTO_FREE char *report = path_join(folder, "report.html");
	if (csv_read_results(csv, &rows, &err) < 0) {
		err.kind = ERROR_CONFIG;
		return cli_fail(&err);
	}
	summary_make(&rows, &summary);
	summary_table(&summary, &table);
	fputs(text_string(&table), stdout);
	if (report_write(folder, &err) < 0)
		return cli_fail(&err);
	printf("\nReport: %s\n", report);
	return CLI_OK;
}
