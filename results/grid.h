/* Aligned columns for a terminal. Cells are escaped, so that no name can drive the terminal. */
#ifndef LINEFILL_RESULTS_GRID_H
#define LINEFILL_RESULTS_GRID_H

#include <stddef.h>

#include "harness/base/text.h"

#define GRID_COLUMNS_MAX 16

struct grid {
	const char *align; /* one letter a column: 'l' or 'r' */
	char **cells;      /* row by row */
	size_t count, capacity;
};
/* Starts a grid with as many columns as align has letters, at most GRID_COLUMNS_MAX. */
void grid_init(struct grid *grid, const char *align);
void grid_free(struct grid *grid);
/* Adds the next cell; rows fill from the left. */
void grid_add(struct grid *grid, const char *cell);
void grid_addf(struct grid *grid, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Lines without trailing blanks, two blanks between columns, indent blanks before. */
void grid_print(const struct grid *grid, int indent, struct text *out);

/* Columns that a UTF-8 string takes, one a code point. */
size_t grid_width(const char *string);

#endif
