/* Diagnostic lines on standard error (an agent's goes to a file beside the results). Not for
 * results or errors. */
#ifndef LINEFILL_BASE_LOG_H
#define LINEFILL_BASE_LOG_H

enum log_level { LOG_WARNING, LOG_INFO, LOG_DEBUG };

/* Who speaks, shown before each line; the string must outlive all calls. Default level:
 * LOG_WARNING. */
void log_setup(const char *name, enum log_level level);
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
