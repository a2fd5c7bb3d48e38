/* What went wrong, as a value: set where it happens, wrapped at module borders, printed only by
 * harness/cli. */
#ifndef LINEFILL_BASE_ERROR_H
#define LINEFILL_BASE_ERROR_H

enum error_kind {
	ERROR_NONE,
	ERROR_CONFIG,      /* the user's study file, tool file or command line */
	ERROR_SYSTEM,      /* a system call or this machine */
	ERROR_PEER,        /* the other end broke the protocol or went away */
	ERROR_TOOL,        /* a tool that we ran failed */
	ERROR_TIMEOUT,     /* a deadline passed */
	ERROR_CANCELLED,   /* the user asked to stop */
	ERROR_INTEGRITY,   /* the copy differs from the original */
	ERROR_UNSUPPORTED, /* this transport cannot carry this dataset or option */
	ERROR_UNAVAILABLE, /* not installed, or not usable here */
	ERROR_KINDS
};

/* Caller-owned, never allocated; may be copied by assignment. An unused one is all zero. */
struct error {
	enum error_kind kind;
	int code; /* an errno value, an exit status, or 0 */
	char message[512];
};

/* All three return -1, so that a failure is one line: return error_set(err, ...). err may be NULL.
 */
int error_set(struct error *err, enum error_kind kind, int code, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* The kind SYSTEM with errno as it stands; its text is appended to the message. */
int error_system(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Puts "context: " before the message; kind and code stay. */
int error_wrap(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "config", "system" ...; stable, used in messages between agents. */
const char *error_kind_name(enum error_kind kind);
/* The kind of that name, or ERROR_SYSTEM. */
enum error_kind error_kind_from_name(const char *name);

#define MUST_CHECK __attribute__((warn_unused_result))

#endif
