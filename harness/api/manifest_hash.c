#include "harness/api/manifest_hash.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "harness/api/manifest_walk.h"
#include "harness/base/cleanup.h"
#include "harness/base/extents.h"
#include "harness/base/holes.h"
#include "harness/base/parallel.h"

/* One read; small enough to stay in a core's own cache until it is hashed. */
#define BUFFER_BYTES ((size_t)256 * 1024)

/* Shared by the threads: the next entry to take, and why to stop. */
struct hashing {
	const struct manifest_hash *order;
	atomic_size_t next;
	atomic_bool stop;
	pthread_mutex_t lock;
	size_t failed; /* the entry that error belongs to; the least one wins */
	struct error error;
};

/* What one thread keeps from file to file. */
struct hasher {
	struct hashing *hashing;
	XXH3_state_t *state;
	unsigned char *buffer;
};

static int hash_data(struct hasher *hasher, int fd, off_t from, off_t to, struct error *err)
{
	while (from < to) {
		size_t want =
			(size_t)(to - from) < BUFFER_BYTES ? (size_t)(to - from) : BUFFER_BYTES;
		if (manifest_stopped(hasher->hashing->order->options, err) < 0)
			return -1;
		ssize_t n = pread(fd, hasher->buffer, want, from);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_system(err, "read");
		if (n == 0)
			return error_set(err, ERROR_SYSTEM, 0,
					 "it became shorter while it was read");
		XXH3_128bits_update(hasher->state, hasher->buffer, (size_t)n);
		from += n;
	}
	return 0;
}

static int hash_hole(struct hasher *hasher, off_t from, off_t to, struct error *err)
{
	static const unsigned char zeros[64 * 1024];
	while (from < to) {
		size_t count =
			(size_t)(to - from) < sizeof(zeros) ? (size_t)(to - from) : sizeof(zeros);
		if (manifest_stopped(hasher->hashing->order->options, err) < 0)
			return -1;
		XXH3_128bits_update(hasher->state, zeros, count);
		from += (off_t)count;
	}
	return 0;
}

static int hash_contents(struct hasher *hasher, int fd, struct manifest_entry *entry,
			 struct error *err)
{
	off_t size = (off_t)entry->size_bytes;
	for (off_t at = 0, start, end; at < size; at = end) {
		holes_next_data(fd, at, size, &start, &end);
		entry->hole_bytes += (uint64_t)(start - at);
		if (hash_hole(hasher, at, start, err) < 0 ||
		    hash_data(hasher, fd, start, end, err) < 0)
			return -1;
	}
	return 0;
}

/* entry: its path; the rest becomes what the file is now. */
static int hash_file(struct hasher *hasher, struct manifest_entry *entry, bool *shared,
		     struct error *err)
{
	const struct manifest_hash *order = hasher->hashing->order;
	struct stat status;
	/* O_NONBLOCK: what became a fifo since it was listed must not hang us. */
	AUTO_FD fd = manifest_open_in(order->root_fd, entry->path, O_RDONLY | O_NONBLOCK | O_NOCTTY,
				      order->options);
	if (fd < 0 || fstat(fd, &status) < 0)
		return error_system(err, "open");
	if (!S_ISREG(status.st_mode))
		return error_set(err, ERROR_SYSTEM, 0, "it is no longer a file");
	entry->size_bytes = (uint64_t)status.st_size;
	entry->mode = status.st_mode & 07777;
	entry->mtime_s = status.st_mtim.tv_sec;
	entry->hole_bytes = 0;
	XXH3_128bits_reset(hasher->state);
	if (hash_contents(hasher, fd, entry, err) < 0)
		return -1;
	if (fstat(fd, &status) < 0)
		return error_system(err, "stat");
	if ((uint64_t)status.st_size != entry->size_bytes)
		return error_set(err, ERROR_SYSTEM, 0, "its size changed while it was read");
	*shared = order->look_shared && extents_shared(fd);
	XXH128_hash_t hash = XXH3_128bits_digest(hasher->state);
	entry->digest = (struct manifest_digest){ .low = hash.low64, .high = hash.high64 };
	return 0;
}

static void hashing_fail(struct hashing *hashing, size_t i, const struct error *err)
{
	pthread_mutex_lock(&hashing->lock);
	if (hashing->error.kind == ERROR_NONE || i < hashing->failed) {
		hashing->error = *err;
		hashing->failed = i;
	}
	pthread_mutex_unlock(&hashing->lock);
	atomic_store(&hashing->stop, true);
}

static bool is_chosen(const struct manifest_hash *order, size_t i)
{
	return order->manifest->entries[i].type == MANIFEST_FILE &&
	       (!order->chosen || order->chosen[i]);
}

static void hash_some(struct hasher *hasher)
{
	struct hashing *hashing = hasher->hashing;
	const struct manifest_hash *order = hashing->order;
	while (!atomic_load(&hashing->stop)) {
		size_t i = atomic_fetch_add(&hashing->next, 1);
		if (i >= order->manifest->count)
			return;
		if (!is_chosen(order, i))
			continue;
		struct manifest_entry entry = order->manifest->entries[i];
		struct error error = { 0 };
		char shown[MANIFEST_SHOWN_SIZE];
		bool shared = false;
		if (manifest_stopped(order->options, &error) == 0 &&
		    hash_file(hasher, &entry, &shared, &error) == 0) {
			order->hashed(order->context, i, &entry, shared);
			continue;
		}
		if (error.kind == ERROR_SYSTEM)
			error_wrap(&error, "'%s'", manifest_shown(shown, entry.path));
		hashing_fail(hashing, i, &error);
	}
}

static void hash_work(void *context)
{
	struct hasher hasher = { .hashing = context };
	hasher.state = XXH3_createState();
	hasher.buffer = malloc(BUFFER_BYTES);
	if (hasher.state && hasher.buffer) {
		hash_some(&hasher);
	} else {
		struct error error = { 0 };
		error_set(&error, ERROR_SYSTEM, ENOMEM, "out of memory");
		hashing_fail(hasher.hashing, 0, &error);
	}
	free(hasher.buffer);
	XXH3_freeState(hasher.state);
}

int manifest_hash_files(const struct manifest_hash *order, struct error *err)
{
	struct hashing hashing = { .order = order };
	size_t count = order->manifest->count;
	unsigned threads = order->options->threads ? order->options->threads : parallel_cpus();
	if (threads > count)
		threads = count ? (unsigned)count : 1;
	pthread_mutex_init(&hashing.lock, NULL);
	parallel_run(threads, hash_work, &hashing);
	pthread_mutex_destroy(&hashing.lock);
	if (hashing.error.kind == ERROR_NONE)
		return 0;
	if (err)
		*err = hashing.error;
	return -1;
}
