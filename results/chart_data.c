#include "results/chart_script.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "results/csv.h"
#include "results/grid.h"

#define LABEL_MAX    32  /* letters of a label that are drawn */
#define LETTER_PX    7.8 /* mean width of a letter at CHART_FONT_PX */
#define LINES_MAX    3
#define GROUPS_LEAST 4 /* fewer cases than this leave room at the sides, not fatter bars */

void chart_safe(const char *string, struct text *out)
{
	char shown[4 * 512];
	text_escape_terminal(shown, sizeof(shown), string);
	for (const char *s = shown; *s; s++) {
		if (*s == '"')
			text_add(out, "'");
		else if (*s == '\\')
			text_add(out, "\\\\");
		else
			text_add_bytes(out, s, 1);
	}
}

/* The label cut to LABEL_MAX letters; a cut one ends in an ellipsis. */
static void short_label(const struct summary_case *one, struct text *out)
{
	char shown[4 * sizeof(one->row->label)];
	text_escape_terminal(shown, sizeof(shown), summary_label(one));
	if (grid_width(shown) > LABEL_MAX) {
		char *end = shown;
		for (int letters = 0; letters < LABEL_MAX - 1; letters++)
			do
				end++;
			while (((unsigned char)*end & 0xc0) == 0x80);
		*end = '\0';
		strcat(shown, "\xe2\x80\xa6");
	}
	text_add(out, text_trim(shown));
	text_add(out, one->moved_less ? " (less moved)" : "");
}

/* Breaks at blanks so that no line is longer than wrap letters; returns the lines, or 0 when a word
 * is too long. out gets the lines joined by '\n'. */
static size_t wrap_label(const char *label, size_t wrap, struct text *out)
{
	size_t lines = 1;
	size_t used = 0;
	for (const char *s = label; *s;) {
		size_t bytes = strcspn(s, " ");
		char word[4 * LABEL_MAX + 8];
		text_copy(word, bytes + 1 < sizeof(word) ? bytes + 1 : sizeof(word), s);
		size_t width = grid_width(word);
		if (width > wrap)
			return 0;
		if (used && used + 1 + width > wrap) {
			text_add(out, "\n");
			lines++;
			used = 0;
		}
		text_addf(out, "%s%s", used ? " " : "", word);
		used += (used ? 1 : 0) + width;
		s += bytes;
		s += strspn(s, " ");
	}
	return lines;
}

/* The end of an axis of five equal, round steps that holds value. */
static double round_axis(double value)
{
	static const double steps[] = { 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10 };
	if (!(value > 0))
		return 5;
	double power = pow(10, floor(log10(value / 5)));
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		if (5 * steps[i] * power >= value)
			return 5 * steps[i] * power;
	return 50 * power;
}

static double highest_mbit(const struct summary_case *one)
{
	double high = one->median.goodput_bps;
	for (size_t i = 0; i < one->counted_size; i++)
		high = fmax(high, one->counted[i]->goodput_bps);
	return high / 1e6;
}

static size_t longest_wrap(const struct summary *summary, size_t wrap)
{
	size_t most = 1;
	for (size_t i = 0; i < summary->count; i++) {
		AUTO_TEXT label = { 0 };
		AUTO_TEXT wrapped = { 0 };
		short_label(&summary->cases[i], &label);
		size_t lines = wrap_label(text_string(&label), wrap, &wrapped);
		if (lines == 0 || lines > LINES_MAX)
			return 0;
		most = lines > most ? lines : most;
	}
	return most;
}

/* Rotated labels reach down, and those of the first groups to the left of the axis. */
static void fit_rotated(const struct summary *summary, struct chart_layout *layout)
{
	double turn = CHART_ROTATE_DEG * M_PI / 180;
	double group = (layout->width - layout->left - layout->right) / (double)layout->groups;
	double down = 0;
	double left = layout->left;
	for (size_t i = 0; i < summary->count; i++) {
		AUTO_TEXT label = { 0 };
		short_label(&summary->cases[i], &label);
		double length = LETTER_PX * (double)grid_width(text_string(&label));
		down = fmax(down, length * sin(turn));
		left = fmax(left, length * cos(turn) + 12 - group * ((double)i + 0.5));
	}
	layout->wrap = 0;
	layout->bottom = (int)down + 34;
	layout->left = (int)left;
}

struct chart_layout chart_layout(const struct summary *summary)
{
	struct chart_layout layout = { .left = 92, .right = 84, .top = 112 };
	layout.groups = summary->count > GROUPS_LEAST ? summary->count : GROUPS_LEAST;
	double wanted = 260 + 92 * (double)layout.groups;
	layout.width = (int)fmin(fmax(wanted, 920), 1400);
	double group = (layout.width - layout.left - layout.right) / (double)layout.groups;
	layout.wrap = (size_t)(group * 0.94 / LETTER_PX);
	size_t lines = longest_wrap(summary, layout.wrap);
	if (lines == 0)
		fit_rotated(summary, &layout);
	else
		layout.bottom = 20 + 20 * (int)lines;
	layout.height = layout.top + 380 + layout.bottom;
	double high = 0;
	for (size_t i = 0; i < summary->count; i++)
		high = fmax(high, highest_mbit(&summary->cases[i]));
	/* Room for the number above the highest bar. */
	layout.top_mbit = round_axis(high * 1.1);
	return layout;
}

static void add_number(struct text *out, double number)
{
	char field[SUMMARY_NUMBER_SIZE] = "";
	if (isfinite(number))
		snprintf(field, sizeof(field), "%.6g", number);
	csv_add_field(out, field);
}

static void add_quoted(struct text *out, const char *safe)
{
	text_addf(out, ",\"%s\"", safe);
}

/* What stands above a bar, or in the empty place of a case without one. */
static void add_note(const struct summary_case *one, struct text *out)
{
	char number[SUMMARY_NUMBER_SIZE];
	if (one->kind == CASE_NO_RATE) {
		for (size_t status = STATUS_COUNT; status-- > 0;)
			if (one->first_of[status]) {
				text_add(out, status == STATUS_OK ? "no rate"
								  : result_status_names[status]);
				return;
			}
		return;
	}
	text_add(out, summary_mbit_text(one->median.goodput_bps, number));
}

static void add_label(const struct summary_case *one, const struct chart_layout *layout,
		      struct text *out)
{
	AUTO_TEXT label = { 0 };
	AUTO_TEXT wrapped = { 0 };
	short_label(one, &label);
	if (label.length == 0)
		return;
	char *rest = NULL;

	if (layout->wrap)
		wrap_label(text_string(&label), layout->wrap, &wrapped);
	else
		text_add(&wrapped, text_string(&label));
	for (char *line = strtok_r(wrapped.data, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		text_add(out, out->length ? "\\n" : "");
		chart_safe(line, out);
	}
}

static void add_case(const struct summary_case *one, double x, const struct chart_layout *layout,
		     struct text *out)
{
	static const char *const items[] = { "copy", "ceiling", "copy", "none" };
	AUTO_TEXT name = { 0 };
	AUTO_TEXT label = { 0 };
	AUTO_TEXT note = { 0 };
	chart_safe(one->row->case_name, &name);
	add_label(one, layout, &label);
	add_note(one, &note);
	csv_add_field(out, items[one->kind]);
	add_number(out, x);
	add_quoted(out, text_string(&name));
	add_quoted(out, text_string(&label));
	add_quoted(out, text_string(&note));
	if (one->counted_size && one->counted_size < one->runs)
		text_addf(out, ",\"%zu of %zu ok\"", one->counted_size, one->runs);
	else
		text_add(out, ",");
	add_number(out, one->median.goodput_bps / 1e6);
	bool spread = one->counted_size > 1;
	add_number(out, spread ? one->goodput_low_bps / 1e6 : (double)NAN);
	add_number(out, spread ? one->goodput_high_bps / 1e6 : (double)NAN);
	add_number(out, highest_mbit(one));
	add_number(out, one->median.cpu_source_host_pct);
	add_number(out, one->median.cpu_sink_host_pct);
	csv_end_record(out);
}

/* Dots lie left and right of the whisker in turn, the same in every drawing: steps of the golden
 * ratio spread any number of them. */
static void add_runs(const struct summary_case *one, double x, struct text *out)
{
	AUTO_TEXT name = { 0 };
	chart_safe(one->row->case_name, &name);
	for (size_t i = 0; i < one->counted_size; i++) {
		double depth = fmod(0.5 + 0.6180339887 * (double)(i / 2), 1);
		double place = (i % 2 ? 1 : -1) * (0.12 + 0.34 * depth);
		const struct result *row = one->counted[i];
		csv_add_field(out, "run");
		add_number(out, x + CHART_BAR_AT + place * CHART_BAR_WIDTH);
		add_quoted(out, text_string(&name));
		text_add(out, one->far[i] ? ",,\"far\"," : ",,,");
		add_number(out, row->goodput_bps / 1e6);
		text_add(out, ",,,");
		add_number(out, row->cpu_source_host_pct);
		add_number(out, row->cpu_sink_host_pct);
		csv_end_record(out);
	}
}

void chart_data(const struct summary *summary, const struct chart_layout *layout, struct text *out)
{
	text_add(out, "item,x,case,label,note,partial,mbit_s,low_mbit_s,high_mbit_s,top_mbit_s,"
		      "source_host_cpu_pct,sink_host_cpu_pct\n");
	for (size_t i = 0; i < summary->count; i++)
		add_case(&summary->cases[i], (double)i + 1, layout, out);
	for (size_t i = 0; i < summary->count; i++)
		add_runs(&summary->cases[i], (double)i + 1, out);
}
