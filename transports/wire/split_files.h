/* Sink: the files that arrive in parts over several streams, and what is still missing of each. Any
 * thread. */
#ifndef LINEFILL_TRANSPORTS_WIRE_SPLIT_FILES_H
#define LINEFILL_TRANSPORTS_WIRE_SPLIT_FILES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "transports/wire/tree_sink.h"

/* Bound on files that are incomplete at the same time, and so on memory: 4 KiB each at most. An
 * honest source cannot have more of them than there are blocks on their way. */
#define SPLIT_FILES_MAX 4096u

struct split_files;

/* A part of a file that is written by whoever received it. */
struct split_part {
	const char *path;
	uint64_t file_size; /* of the whole file */
	uint64_t offset, length;
};

struct split_files *split_files_new(void);
void split_files_free(struct split_files *files);

/* Opens the part's file: the first part to come makes it. The caller closes *fd. */
int split_files_open(struct split_files *files, struct tree_sink *sink,
		     const struct split_part *part, int *fd, struct error *err) MUST_CHECK;
/* To be held while the file's contents are written. The kernel lets one thread at a time write a
 * file anyway, but those that wait there keep a CPU busy. Files may share one. */
pthread_mutex_t *split_files_turn(struct split_files *files, const char *path);
/* The part is written; *complete when nothing of its file is missing any more. */
int split_files_written(struct split_files *files, const struct split_part *part, bool *complete,
			struct error *err) MUST_CHECK;
/* A PEER error that names one when any file is incomplete. */
int split_files_all_complete(struct split_files *files, struct error *err) MUST_CHECK;

#endif
