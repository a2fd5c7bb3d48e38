/* What the program sees in a test: another user, another file system. All of it lies in a mount
 * namespace of the program's own and goes with it; nothing changes on the machine. */
#ifndef LINEFILL_TESTS_CLI_WORLD_H
#define LINEFILL_TESTS_CLI_WORLD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct world {
	uid_t uid;         /* whom to be: geteuid() for no change; another one needs root */
	bool nameless;     /* that user has no entry in the database */
	const char *home;  /* of that user */
	const char *shell; /* and NULL is /bin/sh */
	const char *tiny;  /* a folder that becomes a file system, when tiny_bytes is not 0 */
	uint64_t tiny_bytes;
};

/* A user id, also a group id, that nobody has. */
uid_t world_free_uid(void);
/* For the calling process, for good. NULL, or what went wrong. */
const char *world_enter(const struct world *world);
/* The same tried in a child, and that the program can be run there. */
const char *world_check(const struct world *world);

#endif
