/* Scope-bound things: AUTO_FD fd = -1; AUTO_FREE char *text = NULL; released when the scope ends.
 */
#ifndef LINEFILL_BASE_CLEANUP_H
#define LINEFILL_BASE_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_free(void *pointer)
{
	free(*(void **)pointer);
}

static inline void cleanup_file(FILE *const *file)
{
	if (*file)
		fclose(*file);
}

static inline void cleanup_dir(DIR *const *dir)
{
	if (*dir)
		closedir(*dir);
}

#define AUTO_FD   __attribute__((cleanup(cleanup_fd))) int
#define AUTO_FREE __attribute__((cleanup(cleanup_free)))
#define AUTO_FILE __attribute__((cleanup(cleanup_file))) FILE *
#define AUTO_DIR  __attribute__((cleanup(cleanup_dir))) DIR *

/* Hands a scope-bound fd to the caller, who now closes it. */
static inline int take_fd(int *fd)
{
	int taken = *fd;
	*fd = -1;
	return taken;
}

/* Hands a scope-bound pointer to the caller, who now frees it. */
#define TAKE_POINTER(pointer)                           \
	({                                              \
		__typeof__(pointer) taken_ = (pointer); \
		(pointer) = NULL;                       \
		taken_;                                 \
	})

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#endif
