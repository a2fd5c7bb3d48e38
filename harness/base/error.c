#include "harness/base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const kind_names[ERROR_KINDS] = {
	[ERROR_NONE] = "none",
	[ERROR_CONFIG] = "config",
	[ERROR_SYSTEM] = "system",
	[ERROR_PEER] = "peer",
	[ERROR_TOOL] = "tool",
	[ERROR_TIMEOUT] = "timeout",
	[ERROR_CANCELLED] = "cancelled",
	[ERROR_INTEGRITY] = "integrity",
	[ERROR_UNSUPPORTED] = "unsupported",
	[ERROR_UNAVAILABLE] = "unavailable",
};

int error_set(struct error *err, enum error_kind kind, int code, const char *format, ...)
{
	if (!err)
		return -1;
	err->kind = kind;
	err->code = code;
	va_list args;
	va_start(args, format);
	vsnprintf(err->message, sizeof(err->message), format, args);
	va_end(args);
	return -1;
}

int error_system(struct error *err, const char *format, ...)
{
	int code = errno;
	if (!err)
		return -1;
	err->kind = ERROR_SYSTEM;
	err->code = code;
	va_list args;
	va_start(args, format);
	vsnprintf(err->message, sizeof(err->message), format, args);
	va_end(args);
	size_t used = strlen(err->message);
	snprintf(err->message + used, sizeof(err->message) - used, ": %s", strerror(code));
	return -1;
}

int error_wrap(struct error *err, const char *format, ...)
{
	if (!err)
		return -1;
	char inner[sizeof(err->message)];
	memcpy(inner, err->message, sizeof(inner));
	va_list args;
	va_start(args, format);
	vsnprintf(err->message, sizeof(err->message), format, args);
	va_end(args);
	const char *const pieces[] = { ": ", inner };
	size_t used = strlen(err->message);
	for (size_t i = 0; i < 2; i++) {
		size_t length = strnlen(pieces[i], sizeof(err->message) - 1 - used);
		memcpy(err->message + used, pieces[i], length);
		used += length;
	}
	err->message[used] = '\0';
	return -1;
}

const char *error_kind_name(enum error_kind kind)
{
	return kind < ERROR_KINDS ? kind_names[kind] : "unknown";
}

enum error_kind error_kind_from_name(const char *name)
{
	for (int kind = 0; kind < ERROR_KINDS; kind++)
		if (strcmp(kind_names[kind], name) == 0)
			return (enum error_kind)kind;
	return ERROR_SYSTEM;
}
