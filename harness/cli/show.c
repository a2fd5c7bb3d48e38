#include "harness/cli/show.h"

#include <stdio.h>
#include <stdlib.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/cli/cli.h"
#include "results/copied.h"
#include "results/report.h"
#include "results/results_folder.h"
#include "results/ttcp.h"

static int show(const char *folder, const struct results_folder *data, bool ttcp, struct error *err)
{
	AUTO_TEXT copied = { 0 };
	AUTO_TEXT table = { 0 };
	copied_text(data, &copied);
	if (copied.length)
		cli_print(stdout, "Copied: %s\n\n", text_string(&copied));
	summary_table(&data->summary, &table);
	if (ttcp)
		ttcp_report(&data->rows, &table);
	cli_print(stdout, "%s", text_string(&table));
	if (report_write(folder, data, err) < 0)
		return -1;
	AUTO_FREE char *report = path_join(folder, "report.html");
	AUTO_FREE char *whole = realpath(report, NULL);
	cli_print(stdout, "\nReport: %s\n", whole ? whole : report);
	return 0;
}

int show_results(const char *folder, const struct show_terms *terms, struct error *err)
{
	struct results_folder data;
	if (results_folder_read(&data, folder, terms->all_pairs, err) < 0)
		return -1;
	int shown = show(folder, &data, terms->ttcp, err);
	results_folder_free(&data);
	return shown;
}
