#include "results/csv.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"

void csv_reader_init(struct csv_reader *reader, const char *name, const char *bytes, size_t count)
{
	memset(reader, 0, sizeof(*reader));
	reader->name = name;
	reader->at = bytes;
	reader->end = bytes + count;
	reader->next_line = 1;
}

void csv_reader_free(struct csv_reader *reader)
{
	text_free(&reader->bytes);
}

const char *csv_reader_field(const struct csv_reader *reader, size_t i)
{
	return reader->bytes.data + reader->starts[i];
}

static int malformed(const struct csv_reader *reader, const char *what, struct error *err)
{
	return error_set(err, ERROR_CONFIG, 0, "%s: line %zu: %s", reader->name, reader->line,
			 what);
}

static bool at_line_end(const struct csv_reader *reader)
{
	const char *at = reader->at;
	return at < reader->end &&
	       (*at == '\n' || (*at == '\r' && at + 1 < reader->end && at[1] == '\n'));
}

static void skip_line_end(struct csv_reader *reader)
{
	reader->at += *reader->at == '\r' ? 2 : 1;
	reader->next_line++;
}

/* After the opening quote, up to and including the closing one. */
static int read_quoted(struct csv_reader *reader, struct error *err)
{
	size_t start = reader->bytes.length;
	while (reader->at < reader->end) {
		char byte = *reader->at++;
		if (byte == '"') {
			if (reader->at == reader->end || *reader->at != '"')
				return 0;
			reader->at++;
		}
		if (byte == '\n')
			reader->next_line++;
		if (byte == '\0')
			return malformed(reader, "a NUL byte", err);
		if (reader->bytes.length - start >= CSV_FIELD_MAX)
			return malformed(reader, "a field is too long", err);
		text_add_bytes(&reader->bytes, &byte, 1);
	}
	return malformed(reader, "a quote is not closed", err);
}

static int read_plain(struct csv_reader *reader, struct error *err)
{
	const char *start = reader->at;
	while (reader->at < reader->end && *reader->at != ',' && !at_line_end(reader)) {
		if (*reader->at == '"')
			return malformed(reader, "a quote inside a field without quotes", err);
		if (*reader->at == '\0')
			return malformed(reader, "a NUL byte", err);
		reader->at++;
	}
	if (reader->at - start > CSV_FIELD_MAX)
		return malformed(reader, "a field is too long", err);
	text_add_bytes(&reader->bytes, start, (size_t)(reader->at - start));
	return 0;
}

static int read_field(struct csv_reader *reader, struct error *err)
{
	if (reader->fields == CSV_FIELDS_MAX)
		return malformed(reader, "too many fields", err);
	reader->starts[reader->fields++] = reader->bytes.length;
	int status;
	if (reader->at < reader->end && *reader->at == '"') {
		reader->at++;
		status = read_quoted(reader, err);
	} else {
		status = read_plain(reader, err);
	}
	text_add_bytes(&reader->bytes, "", 1);
	return status;
}

int csv_reader_next(struct csv_reader *reader, struct error *err)
{
	while (at_line_end(reader))
		skip_line_end(reader);
	reader->line = reader->next_line;
	reader->fields = 0;
	reader->bytes.length = 0;
	if (reader->at == reader->end)
		return 0;
	for (;;) {
		if (read_field(reader, err) < 0)
			return -1;
		if (reader->at == reader->end)
			return 1;
		if (at_line_end(reader)) {
			skip_line_end(reader);
			return 1;
		}
		if (*reader->at != ',')
			return malformed(reader, "something after a closing quote", err);
		reader->at++;
	}
}

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

static int read_header(struct csv_reader *reader, struct columns *columns, struct error *err)
{
	int got = csv_reader_next(reader, err);
	if (got < 0)
		return -1;
	if (got == 0)
		return error_set(err, ERROR_CONFIG, 0, "%s: is empty", reader->name);
	bool has_case = false;
	columns->count = reader->fields;
	for (size_t i = 0; i < reader->fields; i++) {
		columns->fields[i] = result_field_find(csv_reader_field(reader, i));
		for (size_t j = 0; j < i && columns->fields[i]; j++)
			if (columns->fields[j] == columns->fields[i])
				return malformed(reader, "a column appears twice", err);
		if (columns->fields[i] && strcmp(columns->fields[i]->name, "case") == 0)
			has_case = true;
	}
	return has_case ? 0 : malformed(reader, "there is no column 'case'", err);
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
			return error_wrap(err, "%s: line %zu", reader->name, reader->line);
	}
	if (result->schema > RESULT_SCHEMA)
		return malformed(reader, "written by a newer linefill (schema)", err);
	return 0;
}

static int read_rows(struct csv_reader *reader, struct results *results, struct error *err)
{
	struct columns columns = { 0 };
	if (read_header(reader, &columns, err) < 0)
		return -1;
	for (;;) {
		struct result result;
		int got = csv_reader_next(reader, err);
		if (got <= 0)
			return got;
		if (read_row(reader, &columns, &result, err) < 0)
			return -1;
		results_add(results, &result);
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
