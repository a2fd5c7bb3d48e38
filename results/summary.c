#include "results/summary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"

/* A run that is nearer to its case's median than this is never called far from it. */
#define FAR_FACTOR 1.1

const char *const case_kind_names[] = { "ranked", "ceiling", "part", "none", NULL };
const char *const spread_kind_names[] = { "none", "range", "interval", NULL };

static void *new_array(size_t count, size_t size)
{
	void *array = calloc(count ? count : 1, size);
	if (!array)
		abort();
	return array;
}

const char *summary_label(const struct summary_case *one)
{
	return *one->row->label ? one->row->label : one->row->case_name;
}

bool summary_row_counts(const struct result *row)
{
	return row->status == STATUS_OK && row->verified > VERIFIED_NO && row->goodput_bps > 0 &&
	       isfinite(row->goodput_bps);
}

size_t summary_failed_runs(const struct summary_case *one, enum result_status status)
{
	return one->by_status[status] - (status == STATUS_OK ? one->counted_size : 0);
}

void summary_failed_text(const struct summary_case *one, struct text *out)
{
	size_t start = out->length;
	for (size_t status = 0; status < STATUS_COUNT; status++) {
		size_t runs = summary_failed_runs(one, (enum result_status)status);
		if (runs == 0)
			continue;
		const char *name =
			status == STATUS_OK ? "without a rate" : result_status_names[status];
		text_add(out, out->length > start ? ", " : "");
		if (one->runs > 1)
			text_addf(out, "%zu ", runs);
		text_add(out, name);
	}
}

static struct summary_case *find_case(struct summary *summary, const char *name)
{
	for (size_t i = 0; i < summary->count; i++)
		if (strcmp(summary->cases[i].row->case_name, name) == 0)
			return &summary->cases[i];
	return NULL;
}

/* Doubles the room whenever it is full, which is at powers of two. */
static void add_counted(struct summary_case *one, const struct result *row)
{
	size_t size = one->counted_size;
	if ((size & (size - 1)) == 0) {
		one->counted = reallocarray(one->counted, size ? 2 * size : 1, sizeof(row));
		if (!one->counted)
			abort();
	}
	one->counted[one->counted_size++] = row;
}

static void add_row(struct summary *summary, const struct result *row)
{
	struct summary_case *one = find_case(summary, row->case_name);
	if (!one) {
		one = &summary->cases[summary->count++];
		one->row = row;
	}
	if (row->round > 0 && (size_t)row->round > summary->rounds)
		summary->rounds = (size_t)row->round;
	size_t status = row->status >= 0 && row->status < STATUS_COUNT ? (size_t)row->status
								       : STATUS_FAILED;
	one->runs++;
	one->by_status[status]++;
	if (summary_row_counts(row)) {
		if (one->counted_size == 0)
			one->row = row;
		add_counted(one, row);
	} else if (!one->first_of[status]) {
		one->first_of[status] = row;
	}
}

static double per_gib(const struct result *row, double cpu_s)
{
	return row->payload_bytes > 0 ? cpu_s / ((double)row->payload_bytes / 0x1p30) : (double)NAN;
}

static double source_per_gib(const struct result *row)
{
	return per_gib(row, row->cpu_source_s);
}

static double sink_per_gib(const struct result *row)
{
	return per_gib(row, row->cpu_sink_s);
}

/* Where each median comes from: a member of the row, or something computed from it. */
static const struct {
	size_t to, from;
	double (*compute)(const struct result *row);
} medians[] = {
#define MEDIAN(member)                                                                       \
	{                                                                                    \
		offsetof(struct case_medians, member), offsetof(struct result, member), NULL \
	}
	MEDIAN(goodput_bps),
	MEDIAN(total_s),
	MEDIAN(setup_s),
	MEDIAN(cpu_source_s),
	MEDIAN(cpu_sink_s),
	MEDIAN(cpu_source_host_pct),
	MEDIAN(cpu_sink_host_pct),
	MEDIAN(sd_source_us_per_kib),
	MEDIAN(sd_sink_us_per_kib),
	{ offsetof(struct case_medians, cpu_source_s_per_gib), 0, source_per_gib },
	{ offsetof(struct case_medians, cpu_sink_s_per_gib), 0, sink_per_gib },
#undef MEDIAN
};

static double value_of(const struct result *row, size_t which)
{
	if (medians[which].compute)
		return medians[which].compute(row);
	double value;
	memcpy(&value, (const char *)row + medians[which].from, sizeof(value));
	return value;
}

static void compute_medians(struct summary_case *one, double *values)
{
	for (size_t which = 0; which < ARRAY_SIZE(medians); which++) {
		size_t known = 0;
		for (size_t i = 0; i < one->counted_size; i++) {
			double value = value_of(one->counted[i], which);
			if (isfinite(value))
				values[known++] = value;
		}
		double median = statistics_median(values, known);
		memcpy((char *)&one->median + medians[which].to, &median, sizeof(median));
	}
}

static void compute_spread(struct summary_case *one, double *values)
{
	struct interval interval;
	for (size_t i = 0; i < one->counted_size; i++)
		values[i] = one->counted[i]->goodput_bps;
	if (statistics_median_interval(values, one->counted_size, &interval)) {
		one->spread = SPREAD_INTERVAL;
		one->coverage = interval.coverage;
		one->goodput_low_bps = interval.low;
		one->goodput_high_bps = interval.high;
		return;
	}
	one->coverage = (double)NAN;
	one->spread = one->counted_size ? SPREAD_RANGE : SPREAD_NONE;
	statistics_range(values, one->counted_size, &one->goodput_low_bps, &one->goodput_high_bps);
}

/* Far is what a factor is: logarithms. values has the goodputs; it is used up. */
static void mark_far(struct summary_case *one, double *values)
{
	one->far = new_array(one->counted_size, sizeof(*one->far));
	for (size_t i = 0; i < one->counted_size; i++)
		values[i] = log(values[i]);
	one->far_size = statistics_mark_far(values, one->counted_size, log(FAR_FACTOR), one->far);
}

bool summary_compared(const struct summary_case *one)
{
	for (size_t i = 0; i < one->counted_size; i++)
		if (one->counted[i]->verified != VERIFIED_YES)
			return false;
	return one->counted_size > 0;
}

/* A case is a copy only if every run that counts was compared: one that was merely counted makes it
 * a ceiling. So does a transport that sends nothing over a line. */
static enum case_kind kind_of(const struct summary_case *one)
{
	if (one->counted_size == 0)
		return CASE_NO_RATE;
	if (one->row->ceiling)
		return CASE_CEILING;
	return summary_compared(one) ? CASE_RANKED : CASE_CEILING;
}

void summary_make(const struct results *results, struct summary *summary)
{
	*summary = (struct summary){ 0 };
	summary->cases = new_array(results->count, sizeof(*summary->cases));
	for (size_t i = 0; i < results->count; i++)
		add_row(summary, &results->rows[i]);
	AUTO_FREE double *values = new_array(results->count, sizeof(*values));
	for (size_t i = 0; i < summary->count; i++) {
		struct summary_case *one = &summary->cases[i];
		compute_medians(one, values);
		compute_spread(one, values);
		mark_far(one, values);
		one->kind = kind_of(one);
	}
	summary_set_apart(summary);
	summary_choose_pairs(summary, NULL, false);
}

void summary_free(struct summary *summary)
{
	for (size_t i = 0; i < summary->count; i++) {
		free(summary->cases[i].counted);
		free(summary->cases[i].far);
	}
	contest_free(&summary->contest);
	free(summary->seats);
	free(summary->cases);
	free(summary->ranked);
	*summary = (struct summary){ 0 };
}
