#include "transports/wire/pretouch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"

#define ZEROS_BYTES (256u << 10)
/* Descriptors for all else that a worker opens. */
#define SPARE_FDS 64u

static bool is_large(const struct manifest_entry *entry)
{
	return entry->type == MANIFEST_FILE && entry->size_bytes >= PRETOUCH_LEAST_BYTES &&
	       entry->hole_bytes == 0;
}

static size_t count_large(const struct manifest *files)
{
	size_t count = 0;
	for (size_t i = 0; i < files->count; i++)
		count += is_large(&files->entries[i]);
	return count;
}

/* Every file stays open until it gets its name. */
static int raise_limit(size_t count, struct error *err)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return error_system(err, "getrlimit");
	if (count > PRETOUCH_FILES_MAX || count + SPARE_FDS > limit.rlim_max)
		return error_set(err, ERROR_UNSUPPORTED, 0,
				 "pretouch: %zu files of 1 MiB and more are too many", count);
	if (limit.rlim_cur >= count + SPARE_FDS)
		return 0;
	limit.rlim_cur = count + SPARE_FDS;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		return error_system(err, "setrlimit");
	return 0;
}

static int stopped(const struct xfer *xfer, struct error *err)
{
	if (cancel_requested(xfer->cancel))
		return error_set(err, ERROR_CANCELLED, 0, "stopped on request");
	if (clock_poll_ms(xfer->deadline_ns) == 0)
		return error_set(err, ERROR_TIMEOUT, 0, "the deadline passed");
	return 0;
}

static int fill_file(const struct xfer *xfer, int fd, uint64_t size, const void *zeros,
		     struct error *err)
{
	for (uint64_t done = 0; done < size;) {
		size_t wanted = size - done < ZEROS_BYTES ? (size_t)(size - done) : ZEROS_BYTES;
		ssize_t n = pwrite(fd, zeros, wanted, (off_t)done);
		if (stopped(xfer, err) < 0)
			return -1;
		if (n < 0 && errno != EINTR)
			return error_system(err, "pretouch");
		done += n > 0 ? (uint64_t)n : 0;
	}
	return 0;
}

static int make_file(struct pretouch *pretouch, const struct xfer *xfer,
		     const struct manifest_entry *entry, const void *zeros, struct error *err)
{
	mode_t mode = xfer->preserve >= PRESERVE_MODE ? 0600 : 0666;
	int fd = open(xfer->root, O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
		return error_set(err, ERROR_UNSUPPORTED, errno,
				 "pretouch: the sink's file system has no O_TMPFILE");
	if (fd < 0)
		return error_system(err, "pretouch in %s", xfer->root);
	pretouch->files[pretouch->count++] =
		(struct pretouch_file){ .path = entry->path, .fd = fd };
	return fill_file(xfer, fd, entry->size_bytes, zeros, err);
}

int pretouch_make(struct pretouch *pretouch, const struct xfer *xfer, struct error *err)
{
	size_t count = count_large(xfer->files);
	AUTO_FREE void *zeros = calloc(1, ZEROS_BYTES);
	*pretouch = (struct pretouch){ .files = calloc(count + 1, sizeof(*pretouch->files)) };
	if (!zeros || !pretouch->files)
		abort();
	if (raise_limit(count, err) < 0)
		return -1;
	for (size_t i = 0; i < xfer->files->count; i++) {
		const struct manifest_entry *entry = &xfer->files->entries[i];
		if (is_large(entry) && make_file(pretouch, xfer, entry, zeros, err) < 0)
			return -1;
	}
	return 0;
}

int pretouch_take(struct pretouch *pretouch, const char *path, int folder, const char *name,
		  int *fd)
{
	char self[40];
	if (pretouch->next >= pretouch->count ||
	    strcmp(pretouch->files[pretouch->next].path, path) != 0)
		return 0;
	struct pretouch_file *file = &pretouch->files[pretouch->next];
	/* The way that needs no capability, see open(2) on O_TMPFILE. */
	snprintf(self, sizeof(self), "/proc/self/fd/%d", file->fd);
	if (linkat(AT_FDCWD, self, folder, name, AT_SYMLINK_FOLLOW) < 0)
		return -1;
	pretouch->next++;
	*fd = take_fd(&file->fd);
	return 1;
}

void pretouch_free(struct pretouch *pretouch)
{
	for (size_t i = 0; i < pretouch->count; i++)
		if (pretouch->files[i].fd >= 0)
			close(pretouch->files[i].fd);
	free(pretouch->files);
	*pretouch = (struct pretouch){ 0 };
}
