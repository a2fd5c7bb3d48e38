/* report.html: one file that answers the study's question offline, in words, tables and a picture.
 */
#ifndef LINEFILL_RESULTS_REPORT_H
#define LINEFILL_RESULTS_REPORT_H

#include "harness/base/error.h"

/* Reads runs.csv and study.json in the folder; writes summary.csv, charts/ and report.html beside
 * them. Facts that study.json does not have are left out. Where no chart can be drawn (gnuplot is
 * missing), that is logged as a warning and the report says so. */
int report_write(const char *folder, struct error *err) MUST_CHECK;

#endif
