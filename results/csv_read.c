#include "results/csv.h"

#include <string.h>

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
