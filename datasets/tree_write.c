#include "datasets/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "datasets/fill.h"
#include "harness/base/cleanup.h"
#include "harness/base/parallel.h"

/* One step of making, hashing and writing: small enough to stay in a core's own cache. */
#define STEP_BYTES ((size_t)256 * 1024)
/* A file from here on is made by all threads together. */
#define SHARED_BYTES ((uint64_t)4 * 1024 * 1024)
/* The n-th file was modified n seconds after this time (2020-09-13T12:26:40Z). */
#define MTIME_S INT64_C(1600000000)
/* A file that several threads make: they write its steps in any order and hash them in turn. */
struct shared {
	struct shared *next; /* all of this tree */
	int fd;
	struct manifest_entry *entry;
	struct fill fill;
	XXH3_state_t *state;
	uint64_t claimed; /* bytes handed out to threads */
	uint64_t hashed;  /* bytes hashed: whose step starts here has its turn */
};

struct writer {
	const struct dataset_job *job;
	unsigned compressible_pct;
	int root_fd;
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t turn;
	size_t next;            /* entry to look at next */
	uint64_t file;          /* number of files handed out */
	struct shared *current; /* not yet wholly handed out, or NULL */
	struct shared *all;
	bool stop;
	struct error error;
};

/* One thread's work: a whole file, or a step of a shared one. */
struct step {
	struct manifest_entry *entry;
	struct fill fill;
	struct shared *shared;
	uint64_t offset;
	size_t count;
};

static void fail(struct writer *writer, const struct error *err)
{
	pthread_mutex_lock(&writer->lock);
	if (!writer->stop)
		writer->error = *err;
	writer->stop = true;
	pthread_cond_broadcast(&writer->turn);
	pthread_mutex_unlock(&writer->lock);
}

static int create(struct writer *writer, const char *path, struct error *err)
{
	int fd = openat(writer->root_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return fd < 0 ? error_system(err, "create %s", path) : fd;
}

/* Mode and time last: no umask and no later write changes them. */
static int settle_file(int fd, struct manifest_entry *entry, XXH3_state_t *state, struct error *err)
{
	struct timespec times[2] = { { .tv_sec = entry->mtime_s }, { .tv_sec = entry->mtime_s } };
	if (fchmod(fd, entry->mode) < 0 || futimens(fd, times) < 0)
		return error_system(err, "set mode and time of %s", entry->path);
	XXH128_hash_t hash = XXH3_128bits_digest(state);
	entry->digest = (struct manifest_digest){ .low = hash.low64, .high = hash.high64 };
	return 0;
}

static int write_at(int fd, const struct step *step, const unsigned char *bytes, struct error *err)
{
	for (size_t done = 0; done < step->count;) {
		ssize_t n =
			pwrite(fd, bytes + done, step->count - done, (off_t)(step->offset + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_system(err, "write %s", step->entry->path);
		done += (size_t)n;
	}
	return 0;
}

static int write_whole(struct writer *writer, struct step *step, unsigned char *buffer,
		       XXH3_state_t *state, struct error *err)
{
	AUTO_FD fd = create(writer, step->entry->path, err);
	if (fd < 0)
		return -1;
	XXH3_128bits_reset(state);
	for (uint64_t size = step->entry->size_bytes; step->offset < size;
	     step->offset += step->count) {
		uint64_t left = size - step->offset;
		step->count = left < STEP_BYTES ? (size_t)left : STEP_BYTES;
		fill_bytes(&step->fill, step->offset, buffer, step->count);
		XXH3_128bits_update(state, buffer, step->count);
		if (write_at(fd, step, buffer, err) < 0)
			return -1;
	}
	return settle_file(fd, step->entry, state, err);
}

/* False when another thread failed and the turn will never come. */
static bool wait_turn(struct writer *writer, const struct step *step)
{
	pthread_mutex_lock(&writer->lock);
	while (step->shared->hashed != step->offset && !writer->stop)
		pthread_cond_wait(&writer->turn, &writer->lock);
	bool going = !writer->stop;
	pthread_mutex_unlock(&writer->lock);
	return going;
}

static int write_step(struct writer *writer, struct step *step, unsigned char *buffer,
		      struct error *err)
{
	struct shared *shared = step->shared;
	fill_bytes(&step->fill, step->offset, buffer, step->count);
	if (write_at(shared->fd, step, buffer, err) < 0)
		return -1;
	if (!wait_turn(writer, step))
		return 0;
	XXH3_128bits_update(shared->state, buffer, step->count);
	bool last = step->offset + step->count == step->entry->size_bytes;
	/* In turn means that all earlier steps are written, too. */
	if (last && settle_file(shared->fd, step->entry, shared->state, err) < 0)
		return -1;
	if (last)
		close(take_fd(&shared->fd));
	pthread_mutex_lock(&writer->lock);
	shared->hashed += step->count;
	pthread_cond_broadcast(&writer->turn);
	pthread_mutex_unlock(&writer->lock);
	return 0;
}

static int start_shared(struct writer *writer, struct manifest_entry *entry, struct error *err)
{
	struct shared *shared = calloc(1, sizeof(*shared));
	if (!shared)
		return error_set(err, ERROR_SYSTEM, ENOMEM, "out of memory");
	shared->fd = -1;
	shared->next = writer->all;
	writer->all = shared;
	shared->entry = entry;
	shared->state = XXH3_createState();
	shared->fd = create(writer, entry->path, err);
	if (shared->fd < 0 || !shared->state)
		return shared->state ? -1 : error_set(err, ERROR_SYSTEM, ENOMEM, "out of memory");
	XXH3_128bits_reset(shared->state);
	writer->current = shared;
	return 0;
}

static void claim_shared(struct writer *writer, struct step *step)
{
	struct shared *shared = writer->current;
	uint64_t left = shared->entry->size_bytes - shared->claimed;
	*step = (struct step){
		.entry = shared->entry,
		.fill = shared->fill,
		.shared = shared,
		.offset = shared->claimed,
		.count = left < STEP_BYTES ? (size_t)left : STEP_BYTES,
	};
	shared->claimed += step->count;
	if (shared->claimed == shared->entry->size_bytes)
		writer->current = NULL;
}

/* 1 with the next step, 0 when all is handed out. Steps are handed out in order, so whoever waits
 * for a turn waits for a thread that works. */
static int claim(struct writer *writer, struct step *step, struct error *err)
{
	struct manifest *manifest = writer->job->manifest;
	struct manifest_entry *entry = NULL;
	if (writer->stop)
		return 0;
	while (!writer->current && writer->next < manifest->count) {
		entry = &manifest->entries[writer->next++];
		if (entry->type == MANIFEST_FILE)
			break;
		entry = NULL;
	}
	if (entry) {
		struct fill fill =
			fill_for(writer->job->seed, writer->file, writer->compressible_pct);
		entry->mtime_s = MTIME_S + (int64_t)writer->file++;
		*step = (struct step){ .entry = entry, .fill = fill };
		if (entry->size_bytes < SHARED_BYTES)
			return 1;
		if (start_shared(writer, entry, err) < 0)
			return -1;
		writer->current->fill = fill;
	}
	if (!writer->current)
		return 0;
	claim_shared(writer, step);
	return 1;
}

static int write_some(struct writer *writer, unsigned char *buffer, XXH3_state_t *state,
		      struct error *err)
{
	for (;;) {
		struct step step;
		if (tree_stopped(writer->job, err) < 0)
			return -1;
		pthread_mutex_lock(&writer->lock);
		int got = claim(writer, &step, err);
		pthread_mutex_unlock(&writer->lock);
		if (got <= 0)
			return got;
		int written = step.shared ? write_step(writer, &step, buffer, err)
					  : write_whole(writer, &step, buffer, state, err);
		if (written < 0)
			return -1;
	}
}

static void write_work(void *context)
{
	struct writer *writer = context;
	struct error error = { 0 };
	unsigned char *buffer = malloc(STEP_BYTES);
	XXH3_state_t *state = XXH3_createState();
	if (!buffer || !state) {
		error_set(&error, ERROR_SYSTEM, ENOMEM, "out of memory");
		fail(writer, &error);
	} else if (write_some(writer, buffer, state, &error) < 0) {
		fail(writer, &error);
	}
	XXH3_freeState(state);
	free(buffer);
}

static int make_folders(const struct writer *writer, struct error *err)
{
	const struct manifest *manifest = writer->job->manifest;
	for (size_t i = 0; i < manifest->count; i++) {
		const struct manifest_entry *entry = &manifest->entries[i];
		if (entry->type != MANIFEST_FOLDER)
			continue;
		if (mkdirat(writer->root_fd, entry->path, 0700) < 0 ||
		    fchmodat(writer->root_fd, entry->path, entry->mode, 0) < 0)
			return error_system(err, "make folder %s", entry->path);
	}
	return 0;
}

static int settle_folders(const struct writer *writer, struct error *err)
{
	static const struct timespec times[2] = { { .tv_sec = MTIME_S }, { .tv_sec = MTIME_S } };
	const struct manifest *manifest = writer->job->manifest;
	for (size_t i = 0; i < manifest->count; i++) {
		const struct manifest_entry *entry = &manifest->entries[i];
		if (entry->type == MANIFEST_FOLDER &&
		    utimensat(writer->root_fd, entry->path, times, 0) < 0)
			return error_system(err, "set time of folder %s", entry->path);
	}
	return 0;
}

static int make_files(struct writer *writer, unsigned threads, struct error *err)
{
	pthread_mutex_init(&writer->lock, NULL);
	pthread_cond_init(&writer->turn, NULL);
	parallel_run(threads, write_work, writer);
	pthread_cond_destroy(&writer->turn);
	pthread_mutex_destroy(&writer->lock);
	for (struct shared *shared = writer->all; shared;) {
		struct shared *next = shared->next;
		cleanup_fd(&shared->fd);
		XXH3_freeState(shared->state);
		free(shared);
		shared = next;
	}
	if (!writer->stop)
		return 0;
	if (err)
		*err = writer->error;
	return -1;
}

int tree_write_threads(const struct dataset_job *job, uint64_t compressible_pct, unsigned threads,
		       struct error *err)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < job->manifest->count; i++)
		bytes += job->manifest->entries[i].size_bytes;
	if (tree_check_room(job->root, bytes, job->manifest->count, err) < 0)
		return -1;
	AUTO_FD root_fd = open(job->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat status;
	if (root_fd < 0 || fstat(root_fd, &status) < 0)
		return error_system(err, "open %s", job->root);
	job->manifest->root_mode = status.st_mode;
	struct writer writer = {
		.job = job,
		.compressible_pct = (unsigned)compressible_pct,
		.root_fd = root_fd,
	};
	if (make_folders(&writer, err) < 0 || make_files(&writer, threads, err) < 0 ||
	    settle_folders(&writer, err) < 0)
		return error_wrap(err, "in %s", job->root);
	return manifest_finish(job->manifest, err);
}

int tree_write(const struct dataset_job *job, uint64_t compressible_pct, struct error *err)
{
	return tree_write_threads(job, compressible_pct, 0, err);
}
