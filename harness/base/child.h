/* Child processes: started from an argv array (never a shell), each in a process group of its own,
 * killed as a group, always waited for. A child dies with the thread that started it. */
#ifndef LINEFILL_BASE_CHILD_H
#define LINEFILL_BASE_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "harness/base/error.h"
#include "harness/base/io.h"
#include "harness/base/text.h"

struct child_spec {
	const char *const
		*argv; /* argv[0] is searched in PATH unless it has a slash; ends with NULL */
	const char *const *env;   /* ends with NULL; NULL inherits ours */
	const char *folder;       /* working folder, or NULL */
	int input, output, error; /* descriptors for 0, 1, 2; -1 is /dev/null */
	bool outlives_parent;     /* it notices by itself, by end of file, and cleans up */
};

struct child {
	pid_t pid;
	int fd; /* a pidfd, readable once the child ended */
};

#define CHILD_NONE ((struct child){ .pid = -1, .fd = -1 })

/* UNAVAILABLE when the program is not there or not executable, SYSTEM otherwise. */
int child_start(const struct child_spec *spec, struct child *child, struct error *err) MUST_CHECK;
/* fork(2) without exec: 1 in the parent, with child filled; 0 in the child, which leads a group of
 * its own and dies with the thread that forked it; -1 on error. The child must end with _exit. */
int child_fork(struct child *child, struct error *err) MUST_CHECK;
/* Waits and reaps. *status is as from waitpid(2). On TIMEOUT or CANCELLED the child still runs. */
int child_wait(struct child *child, const struct io_limit *limit, int *status,
	       struct error *err) MUST_CHECK;
/* SIGKILL to the whole group, then reaps the child. Safe on CHILD_NONE and on one that was waited
 * for. */
void child_end(struct child *child);
/* Starts, waits, and collects standard output and error together (the first limit bytes; the rest
 * is read and dropped). The child is gone when it returns. */
int child_capture(const struct child_spec *spec, const struct io_limit *limit, size_t bytes,
		  struct text *output, int *status, struct error *err) MUST_CHECK;
/* The folders that programs of ours are searched in, and that they get as their PATH: the absolute
 * ones of PATH, then the sbin folders that an ordinary user's lacks. The caller frees. */
char *child_search_path(void);
/* The first executable file of that name in these folders, or NULL; the caller frees. */
char *child_find_in(const char *path, const char *name);
/* The absolute path of a program: searched in PATH, then in the sbin folders that an ordinary
 * user's PATH lacks. The caller frees; UNAVAILABLE when it is nowhere. */
char *child_find_program(const char *name, struct error *err) MUST_CHECK;
/* The binary that this process runs, absolute; the caller frees. */
char *child_own_program(struct error *err) MUST_CHECK;
/* What a program is called in messages: its path without folders. */
const char *child_program_name(const char *path);
/* "SIGKILL"; "signal 34" where it has no name. */
const char *child_signal_name(int signal, char *name, size_t size);
/* "exit status 3", "killed by SIGKILL". */
const char *child_status_text(int status, char *text, size_t size);
/* This process adopts orphans of its descendants from now on, so that they can be found, counted
 * and ended. */
int child_adopt_orphans(struct error *err) MUST_CHECK;
/* Kills and reaps every child of this process that is not in keep, adopted orphans included. */
void child_end_strays(const pid_t *keep, size_t count);

#endif
