#include "results/marks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "results/statistics.h"

#define GIB 1073741824.0

const char *const mark_measure_names[] = { "rate", "cpu", NULL };

static const char *const mark_columns[] = { "study", "ours", "against", "measure", "required" };

int mark_read_header(struct csv_reader *reader, struct error *err)
{
	int found = csv_reader_next(reader, err);
	if (found < 0)
		return -1;
	bool fine = found == 1 && reader->fields == ARRAY_SIZE(mark_columns);
	for (size_t i = 0; fine && i < reader->fields; i++)
		fine = strcmp(csv_reader_field(reader, i), mark_columns[i]) == 0;
	return fine ? 0
		    : error_set(err, ERROR_CONFIG, 0,
				"%s: the header must be study,ours,against,measure,required",
				reader->name);
}

int mark_read(struct csv_reader *reader, struct mark *mark, struct error *err)
{
	int found = csv_reader_next(reader, err);
	if (found <= 0)
		return found;
	*mark = (struct mark){ .required = (double)NAN };
	if (reader->fields != ARRAY_SIZE(mark_columns))
		return error_set(err, ERROR_CONFIG, 0, "%s:%zu: 5 fields are expected",
				 reader->name, reader->line);
	text_copy(mark->study, sizeof(mark->study), csv_reader_field(reader, 0));
	text_copy(mark->ours, sizeof(mark->ours), csv_reader_field(reader, 1));
	text_copy(mark->against, sizeof(mark->against), csv_reader_field(reader, 2));
	const char *measure = csv_reader_field(reader, 3);
	mark->measure = strcmp(measure, "cpu") == 0 ? MARK_CPU : MARK_RATE;
	if (strcmp(measure, mark_measure_names[mark->measure]) != 0)
		return error_set(err, ERROR_CONFIG, 0, "%s:%zu: measure %.20s: rate or cpu",
				 reader->name, reader->line, measure);
	const char *required = csv_reader_field(reader, 4);
	if (required[0] && !text_to_double(required, &mark->required))
		return error_set(err, ERROR_CONFIG, 0, "%s:%zu: required %.20s: a number",
				 reader->name, reader->line, required);
	return 1;
}

static const struct result *find(const struct results *results, const char *name, int64_t round)
{
	for (size_t i = 0; i < results->count; i++) {
		const struct result *row = &results->rows[i];
		if (row->status == STATUS_OK && row->round == round &&
		    strcmp(row->case_name, name) == 0)
			return row;
	}
	return NULL;
}

static double cpu_s_per_gib(const struct result *row)
{
	return (row->cpu_source_s + row->cpu_sink_s) / ((double)row->payload_bytes / GIB);
}

/* What is not finite is left out: a median of unknowns is unknown. */
static double median(double *values, size_t count)
{
	size_t known = 0;
	for (size_t i = 0; i < count; i++)
		if (isfinite(values[i]))
			values[known++] = values[i];
	return statistics_median(values, known);
}

/* One value a round, side by side. */
struct columns {
	double *ours_bps, *against_bps, *ours_cpu, *against_cpu, *ratio;
	size_t count;
};

static void add_round(const struct mark *mark, const struct result *a, const struct result *b,
		      struct columns *columns)
{
	size_t i = columns->count++;
	columns->ours_bps[i] = a->goodput_bps;
	columns->against_bps[i] = b->goodput_bps;
	columns->ours_cpu[i] = cpu_s_per_gib(a);
	columns->against_cpu[i] = cpu_s_per_gib(b);
	columns->ratio[i] = mark->measure == MARK_RATE ? a->goodput_bps / b->goodput_bps
						       : cpu_s_per_gib(a) / cpu_s_per_gib(b);
}

void mark_measure(const struct mark *mark, const struct results *results,
		  struct mark_figures *figures)
{
	size_t room = results->count + 1;
	AUTO_FREE double *all = calloc(5 * room, sizeof(*all));
	if (!all)
		abort();
	struct columns columns = { all, all + room, all + 2 * room, all + 3 * room, all + 4 * room,
				   0 };
	for (size_t i = 0; i < results->count; i++) {
		const struct result *row = &results->rows[i];
		const struct result *other = find(results, mark->against, row->round);
		if (other && row == find(results, mark->ours, row->round))
			add_round(mark, row, other, &columns);
	}
	*figures = (struct mark_figures){
		.rounds = columns.count,
		.ours_bps = median(columns.ours_bps, columns.count),
		.against_bps = median(columns.against_bps, columns.count),
		.ours_cpu_s_per_gib = median(columns.ours_cpu, columns.count),
		.against_cpu_s_per_gib = median(columns.against_cpu, columns.count),
		.ratio = median(columns.ratio, columns.count),
	};
	statistics_range(columns.ratio, columns.count, &figures->ratio_low, &figures->ratio_high);
}

const char *mark_verdict(const struct mark *mark, const struct mark_figures *figures)
{
	if (isnan(mark->required))
		return "";
	if (!isfinite(figures->ratio))
		return "unknown";
	bool met = mark->measure == MARK_RATE ? figures->ratio >= mark->required
					      : figures->ratio <= mark->required;
	return met ? "yes" : "no";
}

void mark_header(struct text *csv)
{
	text_add(csv, "study,ours,against,measure,rounds,ours_bps,against_bps,ours_cpu_s_per_gib,"
		      "against_cpu_s_per_gib,ratio,ratio_low,ratio_high,required,met\n");
}

static void add_real(struct text *csv, double value, int decimals)
{
	char shown[64] = "";
	if (isfinite(value))
		snprintf(shown, sizeof(shown), "%.*f", decimals, value);
	csv_add_field(csv, shown);
}

void mark_row(const struct mark *mark, const struct mark_figures *figures, struct text *csv)
{
	AUTO_TEXT record = { 0 };
	char rounds[32];
	snprintf(rounds, sizeof(rounds), "%zu", figures->rounds);
	csv_add_field(&record, mark->study);
	csv_add_field(&record, mark->ours);
	csv_add_field(&record, mark->against);
	csv_add_field(&record, mark_measure_names[mark->measure]);
	csv_add_field(&record, rounds);
	add_real(&record, figures->ours_bps, 0);
	add_real(&record, figures->against_bps, 0);
	add_real(&record, figures->ours_cpu_s_per_gib, 3);
	add_real(&record, figures->against_cpu_s_per_gib, 3);
	add_real(&record, figures->ratio, 3);
	add_real(&record, figures->ratio_low, 3);
	add_real(&record, figures->ratio_high, 3);
	add_real(&record, mark->required, 2);
	csv_add_field(&record, mark_verdict(mark, figures));
	csv_end_record(&record);
	text_add(csv, text_string(&record));
}
