#include "harness/cli/show.h"

#include <stdio.h>
#include <stdlib.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "results/csv.h"
#include "results/report.h"
#include "results/study_json.h"
#include "results/summary.h"
#include "results/ttcp.h"

static int show_table(const char *folder, bool ttcp, struct error *err)
{
	AUTO_RESULTS rows = { 0 };
	AUTO_SUMMARY summary = { 0 };
	AUTO_TEXT table = { 0 };
	json_t *study = NULL;
	AUTO_FREE char *csv = path_join(folder, "runs.csv");
	if (csv_read_results(csv, &rows, err) < 0) {
		err->kind = ERROR_CONFIG;
		return -1;
	}
	if (study_json_read(folder, &study, err) < 0)
		return -1;
	summary_make(&rows, &summary);
	summary_expect(&summary, &rows, study);
	json_decref(study);
	summary_table(&summary, &table);
	if (ttcp)
		ttcp_report(&rows, &table);
	fputs(text_string(&table), stdout);
	return 0;
}

int show_results(const char *folder, bool ttcp, struct error *err)
{
	AUTO_FREE char *report = path_join(folder, "report.html");
	if (show_table(folder, ttcp, err) < 0 || report_write(folder, err) < 0)
		return -1;
	AUTO_FREE char *whole = realpath(report, NULL);
	printf("\nReport: %s\n", whole ? whole : report);
	return 0;
}
