/* What a program printed, as a message may show it. */
#ifndef LINEFILL_BASE_SAID_H
#define LINEFILL_BASE_SAID_H

#include <stdbool.h>

#include "harness/base/text.h"

/* ": first line ... last line" of what a program printed, escaped and shortened for an error
 * message; nothing when it printed nothing. With cut, output does not start at the beginning of the
 * first line, which is not shown. Where neither line has one of the system's reasons ("No space
 * left on device") and another one does, that takes the first one's place. */
void said_add(const char *output, bool cut, struct text *to);
/* Puts "[secret]" in the place of each secret, which must be longer than that; NULL is none. */
void said_mask(char *text, const char *secret);

#endif
