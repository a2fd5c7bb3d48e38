/* CSV as RFC 4180 has it: one header line, comma, '.', quotes doubled. Lines end with LF. */
#ifndef LINEFILL_RESULTS_CSV_H
#define LINEFILL_RESULTS_CSV_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/api/result.h"
#include "harness/base/error.h"
#include "harness/base/text.h"

/* Appends a field to a record in the making: a comma unless it is the record's first, and quotes
 * where needed. As everywhere, control characters and bytes that are not UTF-8 become \xNN: a
 * record is one line. */
void csv_add_field(struct text *record, const char *string);
void csv_end_record(struct text *record);

/* Writes runs.csv row by row; what was written survives the writer's death and a power cut. */
struct csv_writer {
	int fd;
	char *path;
};
#define CSV_WRITER_NONE ((struct csv_writer){ .fd = -1 })

/* Creates the file with its header line, or goes on in one that has the same header (else CONFIG).
 */
int csv_open(struct csv_writer *writer, const char *path, struct error *err) MUST_CHECK;
/* One record in one write(2) at the end of the file, then fdatasync. When it fails (a full disk),
 * the file is as before. */
int csv_row(struct csv_writer *writer, const struct result *result, struct error *err) MUST_CHECK;
/* Safe on CSV_WRITER_NONE and twice. */
void csv_close(struct csv_writer *writer);

/* A growing array of rows. Starts as { 0 }; results_free releases it. */
struct results {
	struct result *rows;
	size_t count, capacity;
};
void results_free(struct results *results);
void results_add(struct results *results, const struct result *result);
#define AUTO_RESULTS __attribute__((cleanup(results_free))) struct results

/* Appends the rows of a file, all of one study. Columns may come in any order; unknown ones are
 * ignored. case, round, status, verified and goodput_bps must be there; other missing ones stay
 * unknown. goodput_bps is computed again where the file has what it takes. Errors: CONFIG with
 * file, line and column, SYSTEM. */
int csv_read_results(const char *path, struct results *results, struct error *err) MUST_CHECK;
/* The same from memory (fuzzed); name is what errors call it. */
int csv_parse_results(const char *name, const char *bytes, size_t count, struct results *results,
		      struct error *err) MUST_CHECK;

#define CSV_FIELDS_MAX 512
#define CSV_FIELD_MAX  65536
#define CSV_FILE_MAX   ((size_t)256 << 20)

/* One record at a time, from memory. bytes must outlive the reader. */
struct csv_reader {
	const char *name; /* what errors call it */
	const char *at, *end;
	size_t line;      /* where the record that was read last began, from 1 */
	size_t next_line; /* where the next one begins */
	struct text bytes;
	size_t starts[CSV_FIELDS_MAX];
	size_t fields;
};
void csv_reader_init(struct csv_reader *reader, const char *name, const char *bytes, size_t count);
void csv_reader_free(struct csv_reader *reader);
/* 1: a record was read; 0: no more; -1: malformed. LF and CRLF end a record; blank lines are
 * skipped. */
int csv_reader_next(struct csv_reader *reader, struct error *err) MUST_CHECK;
/* The i-th field of the record that was read last, i < reader->fields. */
const char *csv_reader_field(const struct csv_reader *reader, size_t i);

#endif
