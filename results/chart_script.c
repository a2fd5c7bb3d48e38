#include "results/chart_script.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Where the CPU marks stand beside the bar: both hosts, or the one that both ends share. */
#define SOURCE_AT 0.26
#define SINK_AT   0.37
#define ONE_AT    0.31

static bool has_far_run(const struct summary *summary)
{
	for (size_t i = 0; i < summary->count; i++)
		if (summary->cases[i].far_size)
			return true;
	return false;
}

static bool has_kind(const struct summary *summary, enum case_kind kind)
{
	for (size_t i = 0; i < summary->count; i++)
		if (summary->cases[i].kind == kind)
			return true;
	return false;
}

static void spread_title(const struct summary *summary, struct text *out)
{
	bool range = false;
	for (size_t i = 0; i < summary->count; i++)
		range = range || summary->cases[i].spread == SPREAD_RANGE;
	AUTO_TEXT coverage = { 0 };
	summary_coverage_text(summary, &coverage);
	if (!coverage.length)
		text_add(out, "observed range");
	else
		text_addf(out, "%s interval%s", text_string(&coverage),
			  range ? ", or range" : " of the median");
}

static void add_head(const struct chart *chart, const struct chart_layout *layout, struct text *out)
{
	AUTO_TEXT title = { 0 };
	char shown[4 * 256];
	text_escape_terminal(shown, sizeof(shown), chart->title);
	for (const char *s = shown; *s; s++)
		text_add_bytes(&title, *s == '\'' ? "''" : s, *s == '\'' ? 2 : 1);
	text_add(out, "# Draws " CHART_THROUGHPUT_CPU ".svg and .png from " CHART_THROUGHPUT_CPU
		      ".csv: gnuplot " CHART_THROUGHPUT_CPU ".gp, in this folder.\n"
		      "set encoding utf8\n"
		      "set decimalsign '.'\n"
		      "set datafile separator comma\n"
		      "DATA = '" CHART_THROUGHPUT_CPU ".csv'\n");
	text_addf(out, "set label '%s' at screen 0.5, screen %.4f center font ',17'\n",
		  text_string(&title), 1 - 24.0 / layout->height);
	text_addf(out,
		  "set key at screen 0.5, screen %.4f center top vertical Left reverse maxrows 2 "
		  "samplen 2 spacing 1.1 width 1\n",
		  1 - 42.0 / layout->height);
	text_addf(out,
		  "set lmargin at screen %.4f\nset rmargin at screen %.4f\n"
		  "set tmargin at screen %.4f\nset bmargin at screen %.4f\n",
		  (double)layout->left / layout->width, 1 - (double)layout->right / layout->width,
		  1 - (double)layout->top / layout->height,
		  (double)layout->bottom / layout->height);
}

/* %g, but never with an exponent. */
static void add_tick_format(double step, struct text *out)
{
	if (step >= 1e5)
		text_add(out, "'%.0f'");
	else if (step >= 1e-3)
		text_add(out, "'%g'");
	else
		text_addf(out, "'%%.%df'", 1 + (int)ceil(-log10(step)));
}

static void add_axes(const struct summary *summary, const struct chart *chart,
		     const struct chart_layout *layout, struct text *out)
{
	double side = (double)(layout->groups - summary->count) / 2;
	text_addf(out, "set xrange [%g:%g]\n", 0.5 - side, (double)summary->count + 0.5 + side);
	text_addf(out, "set yrange [0:%g]\nset ytics %g nomirror format ", layout->top_mbit,
		  layout->top_mbit / 5);
	add_tick_format(layout->top_mbit / 5, out);
	text_add(out, "\n");
	text_add(out, "set y2range [0:100]\nset y2tics 20 nomirror\n"
		      "set ylabel 'Receive throughput (Mbit/s)' textcolor rgb '#0b4f7d'\n");
	text_addf(out, "set y2label 'Average CPU of the %s (%%)' textcolor rgb '#a63d00'\n",
		  chart->same_host ? "host, all its cores" : "hosts, all cores");
	text_add(out, "set ytics textcolor rgb '#0b4f7d'\nset y2tics textcolor rgb '#a63d00'\n"
		      "unset xtics\n"
		      "set border 11 linewidth 1 linecolor rgb '#555555'\n"
		      "set grid ytics back linetype 1 linewidth 0.6 linecolor rgb '#dddddd'\n");
	text_addf(out, "set boxwidth %g\n", CHART_BAR_WIDTH);
}

static void add_keys(const struct summary *summary, const struct chart *chart, struct text *out)
{
	AUTO_TEXT spread = { 0 };
	spread_title(summary, &spread);
	text_add(out, "\tkeyentry with boxes fillstyle solid 1 border linecolor rgb '#0072b2' "
		      "fillcolor rgb '#8cc4e8' title 'receive throughput, median', \\\n");
	if (has_kind(summary, CASE_CEILING))
		text_add(out, "\tkeyentry with boxes fillstyle pattern 4 border linecolor rgb "
			      "'#0072b2' fillcolor rgb '#8cb4d0' title 'ceiling (not a copy)', "
			      "\\\n");
	text_add(out,
		 "\tkeyentry with points pointtype 7 pointsize 0.55 * dot linecolor rgb '#12324a' "
		 "title 'one run', \\\n");
	if (has_far_run(summary))
		text_add(out,
			 "\tkeyentry with points pointtype 6 pointsize 1.2 * dot linewidth 1.4 "
			 "linecolor rgb '#d55e00' title 'far from the median', \\\n");
	text_addf(out,
		  "\tkeyentry with vectors heads size graph 0.007,90 linewidth 1.4 linecolor rgb "
		  "'black' "
		  "title '%s', \\\n",
		  text_string(&spread));
	if (!chart->same_host)
		text_add(out,
			 "\tkeyentry with points pointtype 9 pointsize 1.3 * dot linecolor rgb "
			 "'#e69f00' title 'CPU of the source host', \\\n");
	text_addf(out,
		  "\tkeyentry with points pointtype 13 pointsize 1.4 * dot linecolor rgb '#d55e00' "
		  "title 'CPU of the %s'\n",
		  chart->same_host ? "host of both ends" : "sink host");
}

/* A mark on a thin stem, on the second axis. */
static void add_marks(int column, double at, const char *point, struct text *out)
{
	text_addf(out,
		  "\tDATA skip 1 using (of_case($2 + %g)):%d axes x1y2 with impulses "
		  "linewidth 1.2 "
		  "linecolor rgb '#f0c4a8' notitle, \\\n"
		  "\tDATA skip 1 using (of_case($2 + %g)):%d axes x1y2 with points %s "
		  "notitle, "
		  "\\\n",
		  at, column, at, column, point);
}

static void add_layers(const struct summary *summary, const struct chart *chart,
		       const struct chart_layout *layout, struct text *out)
{
	text_addf(out, "at(item, x) = strcol(1) eq item ? x + %g : NaN\n", CHART_BAR_AT);
	text_add(out, "of_case(x) = strcol(1) ne 'run' ? x : NaN\n");
	text_add(out, "plot \\\n");
	text_add(out, "\tDATA skip 1 using (at('copy', $2)):7 with boxes fillstyle solid 1 border "
		      "linecolor rgb '#0072b2' fillcolor rgb '#8cc4e8' notitle, \\\n");
	if (has_kind(summary, CASE_CEILING))
		text_add(out,
			 "\tDATA skip 1 using (at('ceiling', $2)):7 with boxes fillstyle pattern 4 "
			 "border linecolor rgb '#0072b2' fillcolor rgb '#8cb4d0' notitle, "
			 "\\\n");
	if (has_far_run(summary))
		text_add(out,
			 "\tDATA skip 1 using (strcol(1) eq 'run' && strcol(5) eq 'far' ? $2 : "
			 "NaN):7 with points pointtype 6 pointsize 1.2 * dot linewidth 1.4 "
			 "linecolor rgb '#d55e00' notitle, \\\n");
	text_addf(out,
		  "\tDATA skip 1 using (strcol(1) eq 'run' ? $2 : NaN):7 with points pointtype 7 "
		  "pointsize 0.55 * dot linecolor rgb '#12324a' notitle, \\\n"
		  "\tDATA skip 1 using (of_case($2 + %g)):8:(0):($9 - $8) with vectors heads size "
		  "graph 0.007,90 linewidth 1.4 linecolor rgb 'black' notitle, \\\n",
		  CHART_BAR_AT);
	if (!chart->same_host)
		add_marks(11, SOURCE_AT, "pointtype 9 pointsize 1.3 * dot linecolor rgb '#e69f00'",
			  out);
	add_marks(12, chart->same_host ? ONE_AT : SINK_AT,
		  "pointtype 13 pointsize 1.4 * dot linecolor rgb '#d55e00'", out);
	text_addf(out,
		  "\tDATA skip 1 using (of_case($2 + %g)):10:5 with labels font ',10' "
		  "offset 0,0.8 "
		  "textcolor rgb '#222222' notitle, \\\n"
		  "\tDATA skip 1 using (strcol(1) eq 'none' ? $2 : NaN):(0):5 with labels rotate "
		  "by 90 left "
		  "font ',11' offset 0,0.5 textcolor rgb '#8c2d04' notitle, \\\n",
		  CHART_BAR_AT);
	text_addf(out,
		  "\tDATA skip 1 using (of_case($2 + %g)):10:6 with labels font ',11' offset 0,1.9 "
		  "textcolor rgb '#8c2d04' notitle, \\\n",
		  CHART_BAR_AT);
	text_add(out, "\tDATA skip 1 using (of_case($2)):(0):4 with labels ");
	if (layout->wrap)
		text_add(out, "center offset 0,-1 notitle, \\\n");
	else
		text_addf(out, "rotate by %d right offset 0,-0.8 notitle, \\\n", CHART_ROTATE_DEG);
	add_keys(summary, chart, out);
}

void chart_script(const struct summary *summary, const struct chart *chart,
		  const struct chart_layout *layout, struct text *out)
{
	add_head(chart, layout, out);
	add_axes(summary, chart, layout, out);
	AUTO_TEXT layers = { 0 };
	add_layers(summary, chart, layout, &layers);
	text_addf(out,
		  "set terminal svg size %d,%d dynamic noenhanced font 'sans-serif,%d' background "
		  "rgb '#ffffff'\nset output '" CHART_THROUGHPUT_CPU ".svg'\ndot = 0.6\n",
		  layout->width, layout->height, CHART_FONT_PX);
	text_add(out, text_string(&layers));
	/* Twice the pixels; cairo counts in points, which are larger. */
	text_addf(out,
		  "set terminal pngcairo size %d,%d noenhanced font 'sans-serif,%d' fontscale 1.65 "
		  ""
		  "linewidth 2 background rgb '#ffffff'\nset output "
		  "'" CHART_THROUGHPUT_CPU ".png'\ndot = 2\nreplot\n",
		  2 * layout->width, 2 * layout->height, CHART_FONT_PX);
}
