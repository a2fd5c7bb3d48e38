#include "transports/wire/split_files.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* More than streams, so that two files seldom share one. */
#define TURNS 256u

/* Few files are incomplete at a time: a plain list is short enough to search. */
struct split_file {
	struct split_file *next;
	uint64_t size, missing;
	char path[];
};

struct split_files {
	pthread_mutex_t mutex;
	pthread_mutex_t turns[TURNS]; /* by the hash of the path: they outlive the files */
	struct split_file *first;
	size_t count;
};

struct split_files *split_files_new(void)
{
	struct split_files *files = calloc(1, sizeof(*files));
	if (!files)
		abort();
	pthread_mutex_init(&files->mutex, NULL);
	for (size_t i = 0; i < TURNS; i++)
		pthread_mutex_init(&files->turns[i], NULL);
	return files;
}

void split_files_free(struct split_files *files)
{
	if (!files)
		return;
	while (files->first) {
		struct split_file *gone = files->first;
		files->first = gone->next;
		free(gone);
	}
	for (size_t i = 0; i < TURNS; i++)
		pthread_mutex_destroy(&files->turns[i]);
	pthread_mutex_destroy(&files->mutex);
	free(files);
}

/* The pointer that leads to the file of that path, or to NULL at the end. */
static struct split_file **find(struct split_files *files, const char *path)
{
	struct split_file **link = &files->first;
	while (*link && strcmp((*link)->path, path) != 0)
		link = &(*link)->next;
	return link;
}

static void append(struct split_files *files, struct split_file **link,
		   const struct split_part *part)
{
	size_t length = strlen(part->path) + 1;
	struct split_file *file = malloc(sizeof(*file) + length);
	if (!file)
		abort();
	file->next = NULL;
	file->size = file->missing = part->file_size;
	memcpy(file->path, part->path, length);
	*link = file;
	files->count++;
}

static int open_locked(struct split_files *files, struct tree_sink *sink,
		       const struct split_part *part, int *fd, struct error *err)
{
	struct split_file **link = find(files, part->path);
	if (*link && (*link)->size != part->file_size)
		return error_set(err, ERROR_PEER, 0, "%s: its parts disagree about its size",
				 part->path);
	if (*link)
		return tree_sink_reopen(sink, part->path, fd, err);
	if (files->count >= SPLIT_FILES_MAX)
		return error_set(err, ERROR_PEER, 0, "%s: too many files are incomplete",
				 part->path);
	int made = sink->reuse ? tree_sink_reuse(sink, part->path, part->file_size, fd, err)
			       : tree_sink_file(sink, part->path, fd, err);
	if (made < 0)
		return -1;
	append(files, link, part);
	return 0;
}

int split_files_open(struct split_files *files, struct tree_sink *sink,
		     const struct split_part *part, int *fd, struct error *err)
{
	pthread_mutex_lock(&files->mutex);
	int result = open_locked(files, sink, part, fd, err);
	pthread_mutex_unlock(&files->mutex);
	return result;
}

pthread_mutex_t *split_files_turn(struct split_files *files, const char *path)
{
	return &files->turns[XXH3_64bits(path, strlen(path)) % TURNS];
}

static int written_locked(struct split_files *files, const struct split_part *part, bool *complete,
			  struct error *err)
{
	struct split_file **link = find(files, part->path);
	if (!*link || (*link)->missing < part->length)
		return error_set(err, ERROR_PEER, 0, "%s: its parts overlap", part->path);
	(*link)->missing -= part->length;
	*complete = (*link)->missing == 0;
	if (*complete) {
		struct split_file *gone = *link;
		*link = gone->next;
		free(gone);
		files->count--;
	}
	return 0;
}

int split_files_written(struct split_files *files, const struct split_part *part, bool *complete,
			struct error *err)
{
	pthread_mutex_lock(&files->mutex);
	int result = written_locked(files, part, complete, err);
	pthread_mutex_unlock(&files->mutex);
	return result;
}

int split_files_all_complete(struct split_files *files, struct error *err)
{
	int result = 0;
	pthread_mutex_lock(&files->mutex);
	if (files->first)
		result = error_set(err, ERROR_PEER, 0, "%s is incomplete: %llu bytes never came",
				   files->first->path, (unsigned long long)files->first->missing);
	pthread_mutex_unlock(&files->mutex);
	return result;
}
