/* Between chart.c, chart_data.c and chart_script.c only: the data and the script of a chart, as
 * text. */
#ifndef LINEFILL_RESULTS_CHART_SCRIPT_H
#define LINEFILL_RESULTS_CHART_SCRIPT_H

#include "harness/base/text.h"
#include "results/chart.h"

#define CHART_FONT_PX    13
#define CHART_ROTATE_DEG 40
/* Inside a case's room of width 1: middle and width of its bar. The marks are at its right. */
#define CHART_BAR_AT    (-0.11)
#define CHART_BAR_WIDTH 0.56

/* What both need to know: sizes in pixels, and how the labels under the bars are set. */
struct chart_layout {
	int width, height;
	int left, right, top, bottom; /* margins */
	size_t wrap;                  /* letters a line; 0: labels are rotated instead */
	size_t groups;                /* rooms for a case between the axes */
	double top_mbit;              /* end of the left axis: five steps */
};
struct chart_layout chart_layout(const struct summary *summary);
/* CSV with a header line; item is copy, ceiling or none for a case, run for a dot,
 * whose note is far where it is far from its case's median. */
void chart_data(const struct summary *summary, const struct chart_layout *layout, struct text *out);
void chart_script(const struct summary *summary, const struct chart *chart,
		  const struct chart_layout *layout, struct text *out);
/* A string as a gnuplot data file may hold it: valid UTF-8 without control bytes, quotes and line
 * ends; the backslash doubled, because gnuplot reads it as an escape. */
void chart_safe(const char *string, struct text *out);

#endif
