/* Small files, paths and folders, all without a shell. Not the data path. */
#ifndef LINEFILL_BASE_FILES_H
#define LINEFILL_BASE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/base/error.h"

/* "a/b" from "a" and "b"; the caller frees. */
char *path_join(const char *folder, const char *name);
/* The whole file, NUL-terminated for convenience; the caller frees *bytes. A file over limit bytes
 * is an error. */
int file_read_all(const char *path, size_t limit, char **bytes, size_t *count,
		  struct error *err) MUST_CHECK;
/* Creates or replaces the file with that mode; bytes are on the file system's side (not flushed)
 * when it returns. */
int file_write_all(const char *path, const void *bytes, size_t count, mode_t mode,
		   struct error *err) MUST_CHECK;
/* The same for a file that others read: it appears whole, in the place of an older one, or not at
 * all. Meanwhile the bytes lie beside it, in .NAME.new. */
int file_replace(const char *path, const void *bytes, size_t count, mode_t mode,
		 struct error *err) MUST_CHECK;
/* Like mkdir -p: every missing folder with mode 0777 less the umask. */
int folder_make_all(const char *path, struct error *err) MUST_CHECK;
/* Removes a folder and all in it without following links or leaving its file system, mending modes
 * that forbid it. A folder that is not there is no error. */
int folder_remove(const char *path, struct error *err) MUST_CHECK;
/* Removes what is in it and keeps the folder. */
int folder_clear(const char *path, struct error *err) MUST_CHECK;
int folder_is_empty(const char *path, bool *empty, struct error *err) MUST_CHECK;
/* Bytes an ordinary user may still write on the path's file system. */
int folder_free_bytes(const char *path, uint64_t *bytes, struct error *err) MUST_CHECK;
/* The same, but of a file system in memory no more than this machine has available. */
int folder_room_bytes(const char *path, uint64_t *bytes, struct error *err) MUST_CHECK;
/* True if the path consists only of bytes that no shell, ssh or rsync treats specially:
 * [A-Za-z0-9._/@%+=,-]. */
bool path_is_plain(const char *path);

#endif
