#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "results/grid.h"
#include "results/summary.h"
#include "results/verdict.h"

void summary_coverage_text(const struct summary *summary, struct text *out)
{
	double low = 1;
	double high = 0;
	for (size_t i = 0; i < summary->count; i++) {
		if (summary->cases[i].spread != SPREAD_INTERVAL)
			continue;
		low = fmin(low, summary->cases[i].coverage);
		high = fmax(high, summary->cases[i].coverage);
	}
	if (high <= 0)
		return;
	if (high - low >= 0.0005)
		text_addf(out, "%.1f to ", 100 * low);
	text_addf(out, "%.1f %%", 100 * high);
}

/* The columns of summary.csv that are numbers: medians, and the spread. */
static const struct {
	const char *name;
	size_t offset; /* of a double in struct summary_case */
} columns[] = {
	{ "goodput_median_bps", offsetof(struct summary_case, median.goodput_bps) },
	{ "goodput_low_bps", offsetof(struct summary_case, goodput_low_bps) },
	{ "goodput_high_bps", offsetof(struct summary_case, goodput_high_bps) },
	{ "coverage", offsetof(struct summary_case, coverage) },
	{ "total_median_s", offsetof(struct summary_case, median.total_s) },
	{ "setup_median_s", offsetof(struct summary_case, median.setup_s) },
	{ "cpu_source_median_s", offsetof(struct summary_case, median.cpu_source_s) },
	{ "cpu_sink_median_s", offsetof(struct summary_case, median.cpu_sink_s) },
	{ "cpu_source_s_per_gib", offsetof(struct summary_case, median.cpu_source_s_per_gib) },
	{ "cpu_sink_s_per_gib", offsetof(struct summary_case, median.cpu_sink_s_per_gib) },
	{ "cpu_source_host_pct", offsetof(struct summary_case, median.cpu_source_host_pct) },
	{ "cpu_sink_host_pct", offsetof(struct summary_case, median.cpu_sink_host_pct) },
	{ "sd_source_us_per_kib", offsetof(struct summary_case, median.sd_source_us_per_kib) },
	{ "sd_sink_us_per_kib", offsetof(struct summary_case, median.sd_sink_us_per_kib) },
};

static void csv_add_count(struct text *out, size_t count)
{
	char text[SUMMARY_NUMBER_SIZE];
	snprintf(text, sizeof(text), "%zu", count);
	csv_add_field(out, text);
}

static void csv_add_number(struct text *out, double number)
{
	char text[SUMMARY_NUMBER_SIZE] = "";
	if (isfinite(number))
		snprintf(text, sizeof(text), fabs(number) >= 1e6 ? "%.0f" : "%.9g", number);
	csv_add_field(out, text);
}

static const char *const pair_columns[] = { "against",   "common_rounds", "ratio",
					    "ratio_low", "ratio_high",    "verdict" };

static void add_csv_header(struct text *out)
{
	static const char *const first[] = {
		"case", "label",    "transport", "options", "kind",
		"rank", "verified", "spread",    "runs",    "counted"
	};
	for (size_t i = 0; i < ARRAY_SIZE(first); i++)
		csv_add_field(out, first[i]);
	for (size_t i = 0; i < STATUS_COUNT; i++)
		csv_add_field(out, result_status_names[i]);
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		csv_add_field(out, columns[i].name);
	csv_add_field(out, "missing");
	csv_add_field(out, "far");
	for (size_t i = 0; i < ARRAY_SIZE(pair_columns); i++)
		csv_add_field(out, pair_columns[i]);
	csv_add_field(out, "error");
	csv_end_record(out);
}

/* This case against the one that is held against each other. */
static void csv_add_pair(struct text *out, const struct summary *summary,
			 const struct summary_case *one)
{
	const struct summary_case *reference = summary_reference(summary);
	if (!reference || one == reference || !one->seat) {
		for (size_t i = 0; i < ARRAY_SIZE(pair_columns); i++)
			csv_add_field(out, "");
		return;
	}
	struct comparison pair = summary_pair(summary, one, reference);
	csv_add_field(out, reference->row->case_name);
	csv_add_count(out, pair.rounds);
	csv_add_number(out, pair.ratio);
	csv_add_number(out, pair.interval.low);
	csv_add_number(out, pair.interval.high);
	csv_add_field(out, compare_verdict_names[compare_verdict(&pair)]);
}

static const char *first_error(const struct summary_case *one)
{
	for (size_t i = 0; i < STATUS_COUNT; i++)
		if (one->first_of[i] && *one->first_of[i]->error)
			return one->first_of[i]->error;
	return "";
}

static const char *verified_text(const struct summary_case *one)
{
	if (one->kind == CASE_NO_RATE)
		return "no";
	return summary_compared(one) ? "yes" : "count";
}

static void add_csv_case(struct text *out, const struct summary *summary,
			 const struct summary_case *one)
{
	csv_add_field(out, one->row->case_name);
	csv_add_field(out, one->row->label);
	csv_add_field(out, one->row->transport);
	csv_add_field(out, one->row->options);
	csv_add_field(out, case_kind_names[one->kind]);
	if (one->rank)
		csv_add_count(out, one->rank);
	else
		csv_add_field(out, "");
	csv_add_field(out, verified_text(one));
	csv_add_field(out, spread_kind_names[one->spread]);
	csv_add_count(out, one->runs);
	csv_add_count(out, one->counted_size);
	for (size_t i = 0; i < STATUS_COUNT; i++)
		csv_add_count(out, one->by_status[i]);
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		double number;
		memcpy(&number, (const char *)one + columns[i].offset, sizeof(number));
		csv_add_number(out, number);
	}
	if (summary->planned)
		csv_add_count(out, one->missing);
	else
		csv_add_field(out, "");
	csv_add_count(out, one->far_size);
	csv_add_pair(out, summary, one);
	csv_add_field(out, first_error(one));
	csv_end_record(out);
}

int summary_write(const struct summary *summary, const char *path, struct error *err)
{
	AUTO_TEXT out = { 0 };
	add_csv_header(&out);
	for (size_t i = 0; i < summary->count; i++)
		add_csv_case(&out, summary, &summary->cases[i]);
	return file_replace(path, out.data, out.length, 0666, err);
}

static void add_spread(struct grid *grid, const struct summary_case *one)
{
	char low[SUMMARY_NUMBER_SIZE];
	char high[SUMMARY_NUMBER_SIZE];
	if (one->counted_size < 2)
		grid_add(grid, "one run");
	else
		grid_addf(grid, "%s to %s", summary_mbit_text(one->goodput_low_bps, low),
			  summary_mbit_text(one->goodput_high_bps, high));
}

static void add_table_row(struct grid *grid, const struct summary_case *one)
{
	char number[SUMMARY_NUMBER_SIZE];
	const struct case_medians *median = &one->median;
	if (one->rank)
		grid_addf(grid, "%zu", one->rank);
	else
		grid_add(grid, "-");
	grid_add(grid, summary_label(one));
	grid_add(grid, summary_mbit_text(median->goodput_bps, number));
	add_spread(grid, one);
	grid_add(grid, summary_number_text(median->cpu_source_host_pct, 0, number));
	grid_add(grid, summary_number_text(median->cpu_sink_host_pct, 0, number));
	grid_add(grid, summary_number_text(median->cpu_source_s_per_gib, 2, number));
	grid_add(grid, summary_number_text(median->cpu_sink_s_per_gib, 2, number));
	grid_addf(grid, "%s%s", one->kind == CASE_CEILING ? "ceiling" : verified_text(one),
		  one->moved_less ? ", less moved" : "");
	grid_addf(grid, "%zu/%zu", one->counted_size, one->runs);
}

static bool has_spread(const struct summary *summary, enum spread_kind kind)
{
	for (size_t i = 0; i < summary->count; i++)
		if (summary->cases[i].spread == kind)
			return true;
	return false;
}

static void add_table_head(struct grid *grid, const struct summary *summary)
{
	bool range = has_spread(summary, SPREAD_RANGE);
	bool interval = has_spread(summary, SPREAD_INTERVAL);
	AUTO_TEXT coverage = { 0 };
	summary_coverage_text(summary, &coverage);
	static const char *const above[] = { "host CPU %", "host CPU %", "CPU s/GiB", "CPU s/GiB",
					     "" };
	static const char *const below[] = { "source", "sink", "source", "sink", "verified" };
	grid_add(grid, "");
	grid_add(grid, "");
	grid_add(grid, "Mbit/s");
	if (range)
		grid_add(grid, interval ? "observed range" : "observed");
	else
		grid_addf(grid, "%s interval", text_string(&coverage));
	for (size_t i = 0; i < ARRAY_SIZE(above); i++)
		grid_add(grid, above[i]);
	grid_add(grid, "runs");
	grid_add(grid, "#");
	grid_add(grid, "case");
	grid_add(grid, "median");
	if (range && interval)
		grid_addf(grid, "or %s interval", text_string(&coverage));
	else
		grid_add(grid, range ? "range" : "of the median");
	for (size_t i = 0; i < ARRAY_SIZE(below); i++)
		grid_add(grid, below[i]);
	grid_add(grid, "ok");
}

/* The case's runs of that status that do not count, with their error. */
static void add_failure(const struct summary_case *one, enum result_status status, const char *what,
			struct text *out)
{
	const struct result *row = one->first_of[status];
	char label[4 * sizeof(row->label)];
	char error[4 * sizeof(row->error)];
	if (!row)
		return;
	text_escape_terminal(label, sizeof(label), summary_label(one));
	text_escape_terminal(error, sizeof(error), row->error);
	text_addf(out, "  %s: ", label);
	if (one->runs > 1)
		text_addf(out, "%zu of %zu runs: ", summary_failed_runs(one, status), one->runs);
	text_addf(out, "%s%s%s\n", what, *error ? ": " : "", error);
}

static void add_failures(const struct summary *summary, struct text *out)
{
	AUTO_TEXT failures = { 0 };
	AUTO_TEXT rateless = { 0 };
	for (size_t i = 0; i < summary->count; i++)
		for (size_t status = 0; status < STATUS_COUNT; status++)
			if (status == STATUS_OK)
				add_failure(&summary->cases[i], STATUS_OK, "no bytes to rate",
					    &rateless);
			else
				add_failure(&summary->cases[i], (enum result_status)status,
					    result_status_names[status], &failures);
	if (rateless.length)
		text_addf(out, "\nOk, but without a rate:\n%s", text_string(&rateless));
	if (failures.length)
		text_addf(out, "\nNot ok:\n%s", text_string(&failures));
}

void summary_table(const struct summary *summary, struct text *out)
{
	struct grid grid;
	grid_init(&grid, "rlrrrrrrlr");
	add_table_head(&grid, summary);
	size_t heads = grid.count;
	for (size_t i = 0; i < summary->ranked_size; i++)
		add_table_row(&grid, &summary->cases[summary->ranked[i]]);
	for (size_t i = 0; i < summary->count; i++)
		if (summary->cases[i].kind == CASE_PART)
			add_table_row(&grid, &summary->cases[i]);
	for (size_t i = 0; i < summary->count; i++)
		if (summary->cases[i].kind == CASE_CEILING)
			add_table_row(&grid, &summary->cases[i]);
	if (grid.count > heads)
		grid_print(&grid, 0, out);
	else
		text_add(out, "No run gave a rate.\n");
	grid_free(&grid);
	verdict_add(summary, out);
	add_failures(summary, out);
	AUTO_TEXT missing = { 0 };
	summary_missing_text(summary, &missing);
	if (missing.length)
		text_addf(out, "\n%s.\n", text_string(&missing));
}
