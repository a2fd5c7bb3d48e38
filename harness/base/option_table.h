/* Is a table of options what option.h says it must be? For tables that modules bring. */
#ifndef LINEFILL_BASE_OPTION_TABLE_H
#define LINEFILL_BASE_OPTION_TABLE_H

#include "harness/base/option.h"

/* Every row has a name of its own, a help line, a default that can be set, and lies within a struct
 * of size bytes. The error (CONFIG) says what is wrong with which row. NULL is a table of no rows.
 */
int option_table_check(const struct option_def *defs, size_t size, struct error *err) MUST_CHECK;

#endif
