#include "transports/tool/tool_count.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/said.h"
#include "harness/base/text.h"
#include "transports/tool/tool_process.h"

#define LOG_BYTES_MAX (16u << 20)

/* The group's text as a number; NAN when it is none. */
static double amount_of(const regex_t *pattern, const char *said)
{
	regmatch_t match[2];
	char text[64];
	double amount = NAN;
	if (regexec(pattern, said, 2, match, 0) != 0 || match[1].rm_so < 0)
		return NAN;
	size_t length = (size_t)(match[1].rm_eo - match[1].rm_so);
	if (length >= sizeof(text))
		return NAN;
	memcpy(text, said + match[1].rm_so, length);
	text[length] = '\0';
	return text_to_double(text, &amount) ? amount : NAN;
}

int tool_count(const struct tool *tool, const struct xfer *xfer, const char *said,
	       struct error *err)
{
	double bytes = amount_of(&tool->counted, said) * tool->file->counted_unit;
	if (!(bytes >= 0 && bytes < 1e18)) {
		AUTO_TEXT shown = { 0 };
		said_add(said, false, &shown);
		return error_set(err, ERROR_TOOL, 0, "%s does not say how much arrived%s",
				 xfer->transport->name, text_string(&shown));
	}
	if (xfer->report)
		xfer->report->counted_bytes = (uint64_t)(bytes + 0.5);
	if (xfer->files && bytes + 0.5 < (double)xfer->files->bytes)
		return error_set(err, ERROR_INTEGRITY, 0,
				 "%.0f bytes arrived, and %llu were to be sent", bytes,
				 (unsigned long long)xfer->files->bytes);
	return 0;
}

int tool_count_log(const struct tool *tool, const struct xfer *xfer, const char *path,
		   struct error *err)
{
	AUTO_FREE char *said = NULL;
	if (file_read_all(path, LOG_BYTES_MAX, &said, NULL, err) < 0)
		return -1;
	return tool_count(tool, xfer, said, err);
}
