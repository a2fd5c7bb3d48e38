/* linefill-benchmark MARKS.csv FOLDER: joins FOLDER/STUDY/runs.csv of the benchmark's studies into
 * FOLDER/benchmark.csv, and shows it. A mark that is missed is no error. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/standard.h"
#include "harness/cli/cli.h"
#include "results/marks.h"

#define MARKS_FILE_MAX ((size_t)1 << 20)

static void show(const struct mark *mark, const struct mark_figures *figures)
{
	char required[32] = "", ratio[64] = "no rounds with all ok";
	if (mark->required > 0)
		snprintf(required, sizeof(required), "%s %.2f",
			 mark_is_least(mark) ? ">=" : "<=", mark->required);
	if (figures->missing)
		snprintf(ratio, sizeof(ratio), "a tool is not installed");
	if (isfinite(figures->ratio))
		snprintf(ratio, sizeof(ratio), "%6.2f  [%.2f to %.2f]", figures->ratio,
			 figures->ratio_low, figures->ratio_high);
	printf("%-16s %-17s %-14s %-15s %-26s %-8s %s\n", mark->study, mark->ours, mark->against,
	       mark_measure_names[mark->measure], ratio, required, mark_verdict(mark, figures));
}

static int add_mark(const struct mark *mark, const char *folder, struct text *csv,
		    struct error *err)
{
	AUTO_RESULTS results = { 0 };
	AUTO_FREE char *study = path_join(folder, mark->study);
	AUTO_FREE char *runs = path_join(study, "runs.csv");
	struct mark_figures figures;
	if (csv_read_results(runs, &results, err) < 0)
		return -1;
	mark_measure(mark, &results, &figures);
	mark_row(mark, &figures, csv);
	show(mark, &figures);
	return 0;
}

static int join(const char *marks, const char *folder, struct error *err)
{
	size_t count = 0;
	struct mark mark;
	struct csv_reader reader;
	AUTO_TEXT csv = { 0 };
	AUTO_FREE char *path = path_join(folder, "benchmark.csv");
	AUTO_FREE char *bytes = NULL;
	if (file_read_all(marks, MARKS_FILE_MAX, &bytes, &count, err) < 0)
		return -1;
	csv_reader_init(&reader, marks, bytes, count);
	mark_header(&csv);
	int found = mark_read_header(&reader, err) < 0 ? -1 : 1;
	while (found == 1) {
		found = mark_read(&reader, &mark, err);
		if (found == 1 && add_mark(&mark, folder, &csv, err) < 0)
			found = -1;
	}
	csv_reader_free(&reader);
	if (found < 0 || file_replace(path, csv.data, csv.length, 0644, err) < 0)
		return -1;
	printf("\n%s\n", path);
	return 0;
}

int main(int argc, char **argv)
{
	struct error err = { 0 };
	standard_start();
	cli_watch_output();
	if (argc != 3) {
		fprintf(stderr, "usage: linefill-benchmark MARKS.csv FOLDER\n");
		return CLI_USAGE;
	}
	return join(argv[1], argv[2], &err) < 0 ? cli_fail(&err) : CLI_OK;
}
