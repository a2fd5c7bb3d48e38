/* Runs a tool's command, or two connected by a pipe, to the end. */
#ifndef LINEFILL_TRANSPORTS_TOOL_TOOL_PROCESS_H
#define LINEFILL_TRANSPORTS_TOOL_TOOL_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/error.h"
#include "harness/base/io.h"
#include "harness/base/text.h"

/* argv arrays and env end with NULL. */
struct tool_command {
	const char *const *run;
	const char *const *into; /* gets run's output; NULL for none */
	const char *const *env;
	int input;          /* what run reads; 0 or -1: nothing */
	const char *secret; /* what must not be shown of what they print; NULL: nothing */
	struct text *said;  /* gets the end of what the last command printed on standard output, or
			       on standard error where that is nothing; NULL: not wanted */
};

/* Each process is in a group of its own, with an empty input unless one is given; what it prints is
 * read without limit and only its end is kept, for the error. TOOL when a status is not zero, with
 * the last line that the guilty one printed; TIMEOUT and CANCELLED kill both. Ends every other
 * descendant of this process that is left over when the command has ended, so that its CPU time is
 * counted: for worker processes only. */
int tool_process_run(const struct tool_command *command, const struct io_limit *limit,
		     struct error *err) MUST_CHECK;
#endif
