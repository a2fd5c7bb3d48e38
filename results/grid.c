#include "results/grid.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"

void grid_init(struct grid *grid, const char *align)
{
	*grid = (struct grid){ .align = align };
}

void grid_free(struct grid *grid)
{
	for (size_t i = 0; i < grid->count; i++)
		free(grid->cells[i]);
	free(grid->cells);
	*grid = (struct grid){ .align = grid->align };
}

void grid_add(struct grid *grid, const char *cell)
{
	if (grid->count == grid->capacity) {
		size_t capacity = grid->capacity ? grid->capacity * 2 : 64;
		char **cells = reallocarray(grid->cells, capacity, sizeof(*cells));
		if (!cells)
			abort();
		grid->cells = cells;
		grid->capacity = capacity;
	}
	grid->cells[grid->count++] = text_shown(cell, SIZE_MAX);
}

void grid_addf(struct grid *grid, const char *format, ...)
{
	AUTO_FREE char *cell = NULL;
	va_list args;
	va_start(args, format);
	int length = vasprintf(&cell, format, args);
	va_end(args);
	if (length < 0)
		abort();
	grid_add(grid, cell);
}

size_t grid_width(const char *string)
{
	size_t width = 0;
	for (const char *s = string; *s; s++)
		width += ((unsigned char)*s & 0xc0) != 0x80;
	return width;
}

static void pad(struct text *out, size_t blanks)
{
	text_addf(out, "%*s", (int)blanks, "");
}

static void trim_end(struct text *out)
{
	while (out->length && out->data[out->length - 1] == ' ')
		out->data[--out->length] = '\0';
}

void grid_print(const struct grid *grid, int indent, struct text *out)
{
	size_t widths[GRID_COLUMNS_MAX] = { 0 };
	size_t columns = strnlen(grid->align, GRID_COLUMNS_MAX);
	for (size_t i = 0; i < grid->count; i++) {
		size_t width = grid_width(grid->cells[i]);
		if (width > widths[i % columns])
			widths[i % columns] = width;
	}
	for (size_t i = 0; i < grid->count; i++) {
		size_t column = i % columns;
		size_t blanks = widths[column] - grid_width(grid->cells[i]);
		pad(out, column == 0 ? (size_t)indent : 2);
		if (grid->align[column] == 'r')
			pad(out, blanks);
		text_add(out, grid->cells[i]);
		if (grid->align[column] != 'r')
			pad(out, blanks);
		if (column + 1 == columns || i + 1 == grid->count) {
			trim_end(out);
			text_add(out, "\n");
		}
	}
}
