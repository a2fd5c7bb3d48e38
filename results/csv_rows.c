#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "results/csv.h"

/* What a row holds is written with nine digits at least. */
#define GOODPUT_TOLERANCE 1e-5
/* Beyond what a study can have. */
#define ROUND_MOST 1000000

/* Without these nothing can be said; other columns came with time. */
static const char *const essential[] = { "case", "round", "status", "verified", "goodput_bps" };

void results_free(struct results *results)
{
	free(results->rows);
	*results = (struct results){ 0 };
}

void results_add(struct results *results, const struct result *result)
{
	if (results->count == results->capacity) {
		size_t capacity = results->capacity ? results->capacity * 2 : 64;
		struct result *rows = reallocarray(results->rows, capacity, sizeof(*rows));
		if (!rows)
			abort();
		results->rows = rows;
		results->capacity = capacity;
	}
	results->rows[results->count++] = *result;
}

/* Which field each column of the file is; NULL for a column we do not know. */
struct columns {
	const struct result_field *fields[CSV_FIELDS_MAX];
	size_t count;
};

/* Counts from 1; 0: the file has no such column. */
static size_t column_of(const struct columns *columns, const char *name)
{
	for (size_t i = 0; i < columns->count; i++)
		if (columns->fields[i] && strcmp(columns->fields[i]->name, name) == 0)
			return i + 1;
	return 0;
}

static int wrap(const struct csv_reader *reader, size_t column, struct error *err)
{
	return error_wrap(err, "%s: line %zu, column %zu", reader->name, reader->line, column);
}

static int read_header(struct csv_reader *reader, struct columns *columns, struct error *err)
{
	int got = csv_reader_next(reader, err);
	if (got < 0)
		return -1;
	if (got == 0)
		return error_set(err, ERROR_CONFIG, 0, "%s: is empty", reader->name);
	for (size_t i = 0; i < reader->fields; i++) {
		const char *name = csv_reader_field(reader, i);
		const struct result_field *field = result_field_find(name);
		if (field && column_of(columns, name)) {
			error_set(err, ERROR_CONFIG, 0, "'%s' appears twice", name);
			return wrap(reader, i + 1, err);
		}
		columns->fields[columns->count++] = field;
	}
	for (size_t i = 0; i < ARRAY_SIZE(essential); i++)
		if (!column_of(columns, essential[i]))
			return error_set(err, ERROR_CONFIG, 0,
					 "%s: line %zu: there is no column '%s'", reader->name,
					 reader->line, essential[i]);
	return 0;
}

/* A rate that does not follow from the other columns was not measured. Files of before a column was
 * there have nothing to compare with. */
static int check_goodput(const struct csv_reader *reader, const struct columns *columns,
			 const struct result *row, struct error *err)
{
	if (row->status != STATUS_OK || isnan(row->goodput_bps) ||
	    !column_of(columns, "payload_bytes") || !column_of(columns, "total_s"))
		return 0;
	double computed = (double)row->payload_bytes * 8 / row->total_s;
	if (row->payload_bytes >= 0 && isfinite(computed) &&
	    fabs(row->goodput_bps - computed) <= GOODPUT_TOLERANCE * computed)
		return 0;
	error_set(
		err, ERROR_CONFIG, 0,
		"goodput_bps = %.9g, but payload_bytes * 8 / total_s is %.9g: the row is not as it "
		"was measured",
		row->goodput_bps, row->payload_bytes < 0 ? (double)NAN : computed);
	return wrap(reader, column_of(columns, "goodput_bps"), err);
}

static int check_row(const struct csv_reader *reader, const struct columns *columns,
		     const struct result *row, struct error *err)
{
	if (row->schema > RESULT_SCHEMA) {
		error_set(err, ERROR_CONFIG, 0, "written by a newer linefill (schema)");
		return wrap(reader, column_of(columns, "schema"), err);
	}
	if (row->round == 0 || row->round > ROUND_MOST) {
		error_set(err, ERROR_CONFIG, 0, "round = %lld: from 1 to %d is expected",
			  (long long)row->round, ROUND_MOST);
		return wrap(reader, column_of(columns, "round"), err);
	}
	return check_goodput(reader, columns, row, err);
}

static int read_row(const struct csv_reader *reader, const struct columns *columns,
		    struct result *result, struct error *err)
{
	result_init(result);
	if (reader->fields != columns->count)
		return error_set(err, ERROR_CONFIG, 0, "%s: line %zu: %zu fields instead of %zu",
				 reader->name, reader->line, reader->fields, columns->count);
	for (size_t i = 0; i < columns->count; i++) {
		if (!columns->fields[i])
			continue;
		if (result_field_parse(columns->fields[i], result, csv_reader_field(reader, i),
				       err) < 0)
			return wrap(reader, i + 1, err);
	}
	return check_row(reader, columns, result, err);
}

/* A file is one study: rows of others would be ranked with it, and their rounds paired. */
static int check_study(const struct csv_reader *reader, const struct columns *columns,
		       const struct result *first, size_t first_line, const struct result *row,
		       struct error *err)
{
	if (strcmp(first->dataset, row->dataset) != 0) {
		error_set(err, ERROR_CONFIG, 0,
			  "dataset = %.80s, but line %zu has %.80s: rows of different datasets are "
			  "no ranking",
			  row->dataset, first_line, first->dataset);
		return wrap(reader, column_of(columns, "dataset"), err);
	}
	if (strcmp(first->study_id, row->study_id) != 0) {
		error_set(err, ERROR_CONFIG, 0,
			  "study_id = %s, but line %zu has %s: a file holds one study",
			  row->study_id, first_line, first->study_id);
		return wrap(reader, column_of(columns, "study_id"), err);
	}
	return 0;
}

static int read_rows(struct csv_reader *reader, struct results *results, struct error *err)
{
	struct columns columns = { 0 };
	size_t first = results->count;
	size_t first_line = 0;
	if (read_header(reader, &columns, err) < 0)
		return -1;
	for (;;) {
		struct result row;
		int got = csv_reader_next(reader, err);
		if (got <= 0)
			return got;
		if (read_row(reader, &columns, &row, err) < 0)
			return -1;
		if (results->count == first)
			first_line = reader->line;
		else if (check_study(reader, &columns, &results->rows[first], first_line, &row,
				     err) < 0)
			return -1;
		results_add(results, &row);
	}
}

int csv_parse_results(const char *name, const char *bytes, size_t count, struct results *results,
		      struct error *err)
{
	struct csv_reader reader;
	csv_reader_init(&reader, name, bytes, count);
	int status = read_rows(&reader, results, err);
	csv_reader_free(&reader);
	return status;
}

int csv_read_results(const char *path, struct results *results, struct error *err)
{
	AUTO_FREE char *bytes = NULL;
	size_t count = 0;
	if (file_read_all(path, CSV_FILE_MAX, &bytes, &count, err) < 0)
		return -1;
	return csv_parse_results(path, bytes, count, results, err);
}
