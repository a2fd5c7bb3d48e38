#include "datasets/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "datasets/tree.h"
#include "harness/base/cleanup.h"
#include "harness/base/holes.h"
#include "harness/base/io.h"
#include "harness/base/parallel.h"

#define BUFFER_BYTES ((size_t)256 * 1024)

struct stage {
	const struct dataset_job *job;
	const struct manifest *list;
	int from_fd, to_fd; /* the roots */
	bool hard_links;    /* instead of copies */
	atomic_size_t next;
	atomic_bool stop;
	pthread_mutex_t lock; /* guards error */
	struct error error;
};

/* One file on its way. */
struct transit {
	const struct stage *stage;
	unsigned char *buffer;
	int from, to;
};

static int cannot(const char *what, const char *path, struct error *err)
{
	char shown[MANIFEST_SHOWN_SIZE];
	return error_system(err, "%s '%s'", what, manifest_shown(shown, path));
}

static int sum_disk_bytes(int from_fd, const struct manifest *list, uint64_t *bytes,
			  struct error *err)
{
	*bytes = 0;
	for (size_t i = 0; i < list->count; i++) {
		const struct manifest_entry *entry = &list->entries[i];
		struct stat status;
		if (entry->type != MANIFEST_FILE)
			continue;
		if (fstatat(from_fd, entry->path, &status, AT_SYMLINK_NOFOLLOW) < 0)
			return cannot("look at", entry->path, err);
		uint64_t taken = (uint64_t)status.st_blocks * 512; /* stat(2)'s unit */
		*bytes += taken < entry->size_bytes ? taken : entry->size_bytes;
	}
	return 0;
}

int stage_disk_bytes(const char *source, const struct manifest *list, uint64_t *bytes,
		     struct error *err)
{
	AUTO_FD from = open(source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (from < 0)
		return cannot("open folder", source, err);
	return sum_disk_bytes(from, list, bytes, err);
}

static int check_room(const struct stage *stage, struct error *err)
{
	uint64_t need = 0;
	if (!stage->hard_links && sum_disk_bytes(stage->from_fd, stage->list, &need, err) < 0)
		return -1;
	return tree_check_room(stage->job->root, need, stage->list->count, err);
}

static int copy_stretch(const struct transit *transit, off_t at, off_t end, struct error *err)
{
	while (at < end) {
		size_t want = (size_t)(end - at) < BUFFER_BYTES ? (size_t)(end - at) : BUFFER_BYTES;
		if (tree_stopped(transit->stage->job, err) < 0)
			return -1;
		ssize_t n = pread(transit->from, transit->buffer, want, at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_system(err, "read");
		if (n == 0)
			return error_set(err, ERROR_SYSTEM, 0,
					 "it became shorter while it was copied");
		if (io_write_at(transit->to, transit->buffer, (size_t)n, (uint64_t)at, err) < 0)
			return -1;
		at += n;
	}
	return 0;
}

static int copy_contents(const struct transit *transit, off_t size, struct error *err)
{
	for (off_t at = 0, start, end; at < size; at = end) {
		holes_next_data(transit->from, at, size, &start, &end);
		if (copy_stretch(transit, start, end, err) < 0)
			return -1;
	}
	if (ftruncate(transit->to, size) < 0) /* a hole at the end */
		return error_system(err, "set size");
	return 0;
}

static int copy_file(const struct stage *stage, const char *path, unsigned char *buffer,
		     struct error *err)
{
	struct stat status;
	AUTO_FD from = manifest_open(stage->from_fd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (from < 0 || fstat(from, &status) < 0)
		return error_system(err, "open");
	if (!S_ISREG(status.st_mode))
		return error_set(err, ERROR_SYSTEM, 0, "it is no longer a file");
	AUTO_FD to = openat(stage->to_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (to < 0)
		return error_system(err, "create");
	const struct transit transit = { .stage = stage, .buffer = buffer, .from = from, .to = to };
	if (copy_contents(&transit, status.st_size, err) < 0)
		return -1;
	const struct timespec times[2] = { status.st_atim, status.st_mtim };
	if (fchmod(to, status.st_mode & 0777) < 0 || futimens(to, times) < 0)
		return error_system(err, "set mode and time");
	return 0;
}

static int link_file(const struct stage *stage, const char *path, struct error *err)
{
	return linkat(stage->from_fd, path, stage->to_fd, path, 0) == 0
		       ? 0
		       : error_system(err, "make a hard link");
}

static void stage_fail(struct stage *stage, const struct error *err)
{
	pthread_mutex_lock(&stage->lock);
	if (!atomic_exchange(&stage->stop, true))
		stage->error = *err;
	pthread_mutex_unlock(&stage->lock);
}

static void copy_some(struct stage *stage, unsigned char *buffer)
{
	while (!atomic_load(&stage->stop)) {
		size_t i = atomic_fetch_add(&stage->next, 1);
		if (i >= stage->list->count)
			return;
		const struct manifest_entry *entry = &stage->list->entries[i];
		struct error error = { 0 };
		char shown[MANIFEST_SHOWN_SIZE];
		if (entry->type != MANIFEST_FILE)
			continue;
		if (tree_stopped(stage->job, &error) == 0 &&
		    (stage->hard_links ? link_file(stage, entry->path, &error)
				       : copy_file(stage, entry->path, buffer, &error)) == 0)
			continue;
		if (error.kind == ERROR_SYSTEM)
			error_wrap(&error, "'%s'", manifest_shown(shown, entry->path));
		stage_fail(stage, &error);
	}
}

static void copy_work(void *context)
{
	struct stage *stage = context;
	AUTO_FREE unsigned char *buffer = malloc(BUFFER_BYTES);
	if (buffer) {
		copy_some(stage, buffer);
		return;
	}
	struct error error = { 0 };
	error_set(&error, ERROR_SYSTEM, ENOMEM, "out of memory");
	stage_fail(stage, &error);
}

static int copy_files(struct stage *stage, struct error *err)
{
	pthread_mutex_init(&stage->lock, NULL);
	parallel_run(0, copy_work, stage);
	pthread_mutex_destroy(&stage->lock);
	if (!atomic_load(&stage->stop))
		return 0;
	if (err)
		*err = stage->error;
	return -1;
}

/* Folders are writable until all is in them. */
static int make_folders_and_links(const struct stage *stage, struct error *err)
{
	for (size_t i = 0; i < stage->list->count; i++) {
		const struct manifest_entry *entry = &stage->list->entries[i];
		if (entry->type == MANIFEST_FOLDER && mkdirat(stage->to_fd, entry->path, 0700) < 0)
			return cannot("make folder", entry->path, err);
		if (entry->type == MANIFEST_LINK &&
		    symlinkat(entry->target, stage->to_fd, entry->path) < 0)
			return cannot("make link", entry->path, err);
	}
	return 0;
}

/* From the last to the first: a folder may stop being searchable only after what is in it. */
static int settle_folders(const struct stage *stage, struct error *err)
{
	for (size_t i = stage->list->count; i > 0; i--) {
		const struct manifest_entry *entry = &stage->list->entries[i - 1];
		struct stat status;
		if (entry->type != MANIFEST_FOLDER)
			continue;
		if (fstatat(stage->from_fd, entry->path, &status, AT_SYMLINK_NOFOLLOW) < 0)
			return cannot("look at", entry->path, err);
		const struct timespec times[2] = { status.st_atim, status.st_mtim };
		if (utimensat(stage->to_fd, entry->path, times, 0) < 0 ||
		    fchmodat(stage->to_fd, entry->path, entry->mode & 0777, 0) < 0)
			return cannot("set mode and time of", entry->path, err);
	}
	struct stat root;
	if (fstat(stage->from_fd, &root) < 0 || fchmod(stage->to_fd, root.st_mode & 0777) < 0)
		return cannot("set mode of", ".", err);
	return 0;
}

static int stage(const struct dataset_job *job, const char *source, const struct manifest *list,
		 bool hard_links, struct error *err)
{
	AUTO_FD from = open(source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (from < 0)
		return cannot("open folder", source, err);
	AUTO_FD to = open(job->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (to < 0)
		return cannot("open folder", job->root, err);
	struct stage work = {
		.job = job, .list = list, .from_fd = from, .to_fd = to, .hard_links = hard_links
	};
	if (check_room(&work, err) < 0 || make_folders_and_links(&work, err) < 0 ||
	    copy_files(&work, err) < 0)
		return -1;
	return settle_folders(&work, err);
}

int stage_tree(const struct dataset_job *job, const char *source, const struct manifest *list,
	       struct error *err)
{
	return stage(job, source, list, false, err);
}

int stage_hard_links(const struct dataset_job *job, const char *source, const struct manifest *list,
		     struct error *err)
{
	return stage(job, source, list, true, err);
}
