/* Building HTML: everything that is not our own markup goes through html_add. */
#ifndef LINEFILL_RESULTS_HTML_H
#define LINEFILL_RESULTS_HTML_H

#include "harness/base/text.h"

/* Escaped for text and for quoted attributes. Control bytes and invalid UTF-8 become \xNN. */
void html_add(struct text *out, const char *string);
/* The same with a format; the result is escaped as a whole. */
void html_addf(struct text *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* <tag>escaped</tag>; tag may carry attributes ("td class=\"n\""). */
void html_element(struct text *out, const char *tag, const char *string);
void html_elementf(struct text *out, const char *tag, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* A table in a box that scrolls sideways on a narrow screen, up to its body; heads end with NULL,
 * or are NULL for a table without. A head that starts with '>' is of a column of numbers. */
void html_table_begin(struct text *out, const char *const *heads);
void html_table_end(struct text *out);
/* The head, styles and <body> of a page, and its end. */
void html_page_begin(struct text *out, const char *title);
void html_page_end(struct text *out);

#endif
