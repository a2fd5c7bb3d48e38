#include "harness/base/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "harness/base/clock.h"
#include "harness/base/text.h"

static const char *log_name = "linefill";
static enum log_level log_level = LOG_WARNING;

void log_setup(const char *name, enum log_level level)
{
	log_name = name;
	log_level = level;
}

void log_line(enum log_level level, const char *format, ...)
{
	if (level > log_level)
		return;
	char raw[1024];
	char shown[2048];
	va_list args;
	va_start(args, format);
	vsnprintf(raw, sizeof(raw), format, args);
	va_end(args);
	text_escape_terminal(shown, sizeof(shown), raw);
	char now[CLOCK_UTC_SIZE];
	clock_utc_text(now);
	fprintf(stderr, "%s %s: %s\n", now, log_name, shown);
}
