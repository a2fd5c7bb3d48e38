/* Pictures, drawn by gnuplot as a child process from files that stay beside them. */
#ifndef LINEFILL_RESULTS_CHART_H
#define LINEFILL_RESULTS_CHART_H

#include <stdbool.h>

#include "harness/base/error.h"
#include "results/summary.h"

/* Names inside the study's folder. */
#define CHART_FOLDER         "charts"
#define CHART_THROUGHPUT_CPU "throughput-cpu"

struct chart {
	const char *title;
	bool same_host; /* both ends ran on one machine: one mark says how busy it was */
};

/* Writes charts/throughput-cpu.csv and .gp into the study's folder, then has gnuplot draw .svg and
 * .png from them: a bar a case (median receive throughput, Mbit/s), a dot a run, a whisker (range,
 * or interval from 6 runs), marks for the average CPU of the hosts on a second axis. Without
 * gnuplot the error is UNAVAILABLE, and data and script are there all the same. */
int chart_throughput_cpu(const char *folder, const struct summary *summary,
			 const struct chart *chart, struct error *err) MUST_CHECK;

#endif
