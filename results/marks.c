#include "results/marks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "results/statistics.h"

#define GIB 1073741824.0

const char *const mark_measure_names[] = { "rate", "cpu", "spread", "cpu-sink-spread", NULL };

/* Cases of a sum. */
#define SUM_MAX 4

static const char *const mark_columns[] = { "study", "ours", "against", "measure", "required" };

static bool is_spread(const struct mark *mark)
{
	return mark->measure == MARK_SPREAD || mark->measure == MARK_CPU_SINK_SPREAD;
}

bool mark_is_least(const struct mark *mark)
{
	return mark->measure == MARK_RATE;
}

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

static int read_measure(const struct csv_reader *reader, struct mark *mark, struct error *err)
{
	const char *measure = csv_reader_field(reader, 3);
	int i = 0;
	while (mark_measure_names[i] && strcmp(measure, mark_measure_names[i]) != 0)
		i++;
	if (!mark_measure_names[i])
		return error_set(err, ERROR_CONFIG, 0,
				 "%s:%zu: measure %.20s: rate, cpu, spread or cpu-sink-spread",
				 reader->name, reader->line, measure);
	mark->measure = (enum mark_measure)i;
	if ((mark->against[0] == '\0') != is_spread(mark))
		return error_set(err, ERROR_CONFIG, 0,
				 "%s:%zu: a spread is held against no other case, all else is",
				 reader->name, reader->line);
	if (strchr(mark->against, '+') && mark->measure != MARK_CPU)
		return error_set(err, ERROR_CONFIG, 0, "%s:%zu: only CPU can be a sum",
				 reader->name, reader->line);
	return 0;
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
	if (read_measure(reader, mark, err) < 0)
		return -1;
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

/* The rows of all cases that ours is held against in that round; 0 when one has none. */
static size_t find_all(const struct results *results, const char *against, int64_t round,
		       const struct result *rows[SUM_MAX])
{
	char names[sizeof(((struct mark *)0)->against)];
	size_t count = 0;
	text_copy(names, sizeof(names), against);
	for (char *save = NULL, *name = strtok_r(names, "+", &save); name;
	     name = strtok_r(NULL, "+", &save)) {
		const struct result *row = count < SUM_MAX ? find(results, name, round) : NULL;
		if (!row)
			return 0;
		rows[count++] = row;
	}
	return count;
}

static void add_round(const struct mark *mark, const struct result *ours,
		      const struct result *const *others, size_t count, struct columns *columns)
{
	double cpu = 0;
	for (size_t other = 0; other < count; other++)
		cpu += cpu_s_per_gib(others[other]);
	size_t i = columns->count++;
	columns->ours_bps[i] = ours->goodput_bps;
	columns->against_bps[i] = count == 1 ? others[0]->goodput_bps : (double)NAN;
	columns->ours_cpu[i] = cpu_s_per_gib(ours);
	columns->against_cpu[i] = cpu;
	columns->ratio[i] = mark->measure == MARK_RATE
				    ? columns->ours_bps[i] / columns->against_bps[i]
				    : columns->ours_cpu[i] / cpu;
}

static bool is_missing(const struct results *results, const char *name, size_t length)
{
	for (size_t i = 0; i < results->count; i++)
		if (results->rows[i].status == STATUS_UNAVAILABLE &&
		    strlen(results->rows[i].case_name) == length &&
		    strncmp(results->rows[i].case_name, name, length) == 0)
			return true;
	return false;
}

static bool some_missing(const struct mark *mark, const struct results *results)
{
	bool missing = is_missing(results, mark->ours, strlen(mark->ours));
	for (const char *name = mark->against; *name;) {
		size_t length = strcspn(name, "+");
		missing |= is_missing(results, name, length);
		name += length + (name[length] == '+');
	}
	return missing;
}

/* How far the runs of one case are from each other. */
static void measure_spread(const struct mark *mark, const struct results *results, double *values,
			   struct mark_figures *figures)
{
	size_t count = 0;
	double low = NAN, high = NAN;
	for (size_t i = 0; i < results->count; i++) {
		const struct result *row = &results->rows[i];
		if (row != find(results, mark->ours, row->round))
			continue;
		values[count++] = mark->measure == MARK_SPREAD
					  ? row->goodput_bps
					  : row->cpu_sink_s / ((double)row->payload_bytes / GIB);
	}
	double middle = median(values, count);
	statistics_range(values, count, &low, &high);
	figures->rounds = count;
	*(mark->measure == MARK_SPREAD ? &figures->ours_bps : &figures->ours_cpu_s_per_gib) =
		middle;
	figures->ratio_low = low / middle;
	figures->ratio_high = high / middle;
	figures->ratio = mark->measure == MARK_SPREAD
				 ? fmax(1 - figures->ratio_low, figures->ratio_high - 1)
				 : high / low;
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
	*figures = (struct mark_figures){
		.missing = some_missing(mark, results),
		.ours_bps = (double)NAN,
		.against_bps = (double)NAN,
		.ours_cpu_s_per_gib = (double)NAN,
		.against_cpu_s_per_gib = (double)NAN,
	};
	if (is_spread(mark)) {
		measure_spread(mark, results, all, figures);
		return;
	}
	for (size_t i = 0; i < results->count; i++) {
		const struct result *others[SUM_MAX];
		const struct result *row = &results->rows[i];
		if (row != find(results, mark->ours, row->round))
			continue;
		size_t count = find_all(results, mark->against, row->round, others);
		if (count > 0)
			add_round(mark, row, others, count, &columns);
	}
	figures->rounds = columns.count;
	figures->ours_bps = median(columns.ours_bps, columns.count);
	figures->against_bps = median(columns.against_bps, columns.count);
	figures->ours_cpu_s_per_gib = median(columns.ours_cpu, columns.count);
	figures->against_cpu_s_per_gib = median(columns.against_cpu, columns.count);
	figures->ratio = median(columns.ratio, columns.count);
	statistics_range(columns.ratio, columns.count, &figures->ratio_low, &figures->ratio_high);
}

const char *mark_verdict(const struct mark *mark, const struct mark_figures *figures)
{
	if (isnan(mark->required))
		return "";
	if (!isfinite(figures->ratio))
		return figures->missing ? "skipped" : "unknown";
	bool met = mark_is_least(mark) ? figures->ratio >= mark->required
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
