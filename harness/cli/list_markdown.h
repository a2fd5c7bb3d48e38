/* The table of tools in docs/tools.md: from the tool files alone, so that it is the same on every
 * machine. */
#ifndef LINEFILL_CLI_LIST_MARKDOWN_H
#define LINEFILL_CLI_LIST_MARKDOWN_H

#include "harness/base/text.h"

/* Adds a line for each tool in the catalog, below a head. */
void list_markdown(struct text *out);

#endif
