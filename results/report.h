/* report.html: one file that answers the study's question offline, in words, tables and a picture.
 */
#ifndef LINEFILL_RESULTS_REPORT_H
#define LINEFILL_RESULTS_REPORT_H

#include "harness/base/error.h"
#include "results/results_folder.h"

/* Writes summary.csv, charts/ and report.html into the folder whose data it is. Facts that
 * study.json does not have are left out. Where no chart can be drawn (gnuplot is missing), that is
 * logged as a warning and the report says so. */
int report_write(const char *folder, const struct results_folder *data,
		 struct error *err) MUST_CHECK;

#endif
