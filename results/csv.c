#include "results/csv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/io.h"

static const struct io_limit no_limit = { .deadline_ns = CLOCK_NEVER };

void csv_add_field(struct text *record, const char *string)
{
	AUTO_FREE char *value = text_shown(string, SIZE_MAX);
	bool first = record->length == 0 || record->data[record->length - 1] == '\n';
	if (!first)
		text_add(record, ",");
	/* A first field that is empty would look like no field at all. */
	bool quoted = strpbrk(value, ",\"\r\n") != NULL || (first && *value == '\0');
	if (!quoted) {
		text_add(record, value);
		return;
	}
	text_add(record, "\"");
	for (const char *s = value; *s; s++)
		text_add_bytes(record, *s == '"' ? "\"\"" : s, *s == '"' ? 2 : 1);
	text_add(record, "\"");
}

void csv_end_record(struct text *record)
{
	text_add(record, "\n");
}

static void add_header(struct text *record)
{
	for (size_t i = 0; i < result_fields_count; i++)
		csv_add_field(record, result_fields[i].name);
	csv_end_record(record);
}

static void add_row(struct text *record, const struct result *result)
{
	for (size_t i = 0; i < result_fields_count; i++) {
		AUTO_TEXT value = { 0 };
		result_field_text(&result_fields[i], result, &value);
		csv_add_field(record, text_string(&value));
	}
	csv_end_record(record);
}

/* Appends and syncs; a record that did not fit is taken back, so that no half row stays. */
static int append(const struct csv_writer *writer, const struct text *record, struct error *err)
{
	struct stat before;
	if (fstat(writer->fd, &before) < 0)
		return error_system(err, "%s", writer->path);
	int written = io_write_full(writer->fd, record->data, record->length, &no_limit, err);
	/* Pipes and some file systems cannot sync; that is no reason to lose a study. Others tell
	 * only now that the disk is full. */
	if (written == 0 && fdatasync(writer->fd) < 0 && errno != EINVAL && errno != EROFS)
		written = error_system(err, "flush");
	if (written == 0)
		return 0;
	if (S_ISREG(before.st_mode) && ftruncate(writer->fd, before.st_size) < 0)
		return error_wrap(err, "%s (a half row may be left)", writer->path);
	return error_wrap(err, "%s", writer->path);
}

/* Going on in a file that exists: its header must be ours, and its last line complete. */
static int check_existing(const struct csv_writer *writer, off_t size, const struct text *header,
			  struct error *err)
{
	AUTO_FREE char *start = calloc(1, header->length + 1);
	if (!start)
		abort();
	ssize_t n = pread(writer->fd, start, header->length, 0);
	if (n < 0)
		return error_system(err, "%s", writer->path);
	if ((size_t)n != header->length || memcmp(start, header->data, header->length) != 0)
		return error_set(err, ERROR_CONFIG, 0, "%s exists and has other columns",
				 writer->path);
	char last = 0;
	if (pread(writer->fd, &last, 1, size - 1) != 1 || last != '\n')
		return error_set(err, ERROR_CONFIG, 0, "%s ends in the middle of a row",
				 writer->path);
	return 0;
}

static int start(const struct csv_writer *writer, struct error *err)
{
	struct stat status;
	if (fstat(writer->fd, &status) < 0)
		return error_system(err, "%s", writer->path);
	AUTO_TEXT header = { 0 };
	add_header(&header);
	if (S_ISREG(status.st_mode) && status.st_size > 0)
		return check_existing(writer, status.st_size, &header, err);
	if (append(writer, &header, err) == 0)
		return 0;
	if (S_ISREG(status.st_mode))
		unlink(writer->path); /* there was nothing in it, nor is now */
	return -1;
}

int csv_open(struct csv_writer *writer, const char *path, struct error *err)
{
	*writer = CSV_WRITER_NONE;
	writer->path = strdup(path);
	if (!writer->path)
		abort();
	writer->fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	if (writer->fd < 0)
		error_system(err, "%s", path);
	if (writer->fd < 0 || start(writer, err) < 0) {
		csv_close(writer);
		return -1;
	}
	return 0;
}

int csv_row(struct csv_writer *writer, const struct result *result, struct error *err)
{
	AUTO_TEXT record = { 0 };
	add_row(&record, result);
	return append(writer, &record, err);
}

void csv_close(struct csv_writer *writer)
{
	if (writer->fd >= 0)
		close(writer->fd);
	free(writer->path);
	*writer = CSV_WRITER_NONE;
}
