/* What the fuzzers of streams share: bytes as a channel, and a folder that shows what got out. */
#ifndef LINEFILL_TESTS_FUZZ_FUZZ_STREAM_H
#define LINEFILL_TESTS_FUZZ_FUZZ_STREAM_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/api/xfer.h"
#include "harness/base/clock.h"
#include "harness/base/files.h"
#include "transports/wire/channel.h"

#define FUZZ_STREAM_MAX 65536

struct fuzz_stream {
	int fd;
	struct channel channel;
	struct xfer_progress *progress;
	struct xfer xfer;
};

static char fuzz_outer[64];

static inline void fuzz_remove_outer(void)
{
	if (rmdir(fuzz_outer) < 0)
		perror(fuzz_outer);
}

/* One folder a process: outer/root is written to, outer must hold nothing else. In RAM: a file may
 * be announced to be huge, which is fine while it is sparse. */
static inline void fuzz_make_outer(void)
{
	if (fuzz_outer[0])
		return;
	snprintf(fuzz_outer, sizeof(fuzz_outer), "/dev/shm/linefill-fuzz-XXXXXX");
	if (!mkdtemp(fuzz_outer) || atexit(fuzz_remove_outer) != 0)
		abort();
}

static inline void fuzz_stream_feed(struct fuzz_stream *stream, const uint8_t *bytes, size_t count)
{
	static const struct io_limit limit = { .deadline_ns = CLOCK_NEVER };
	stream->fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (stream->fd < 0 || write(stream->fd, bytes, count) != (ssize_t)count ||
	    lseek(stream->fd, 0, SEEK_SET) != 0)
		abort();
	stream->channel = channel_on_pipes(stream->fd, stream->fd, &limit);
}

static inline void fuzz_stream_open(struct fuzz_stream *stream, const uint8_t *bytes, size_t count)
{
	static char root[80];
	static struct xfer_progress progress;
	fuzz_make_outer();
	snprintf(root, sizeof(root), "%s/root", fuzz_outer);
	if (mkdir(root, 0700) < 0)
		abort();
	stream->xfer =
		(struct xfer){ .root = root, .preserve = PRESERVE_ALL, .progress = &progress };
	fuzz_stream_feed(stream, bytes, count);
}

static inline void fuzz_stream_close(struct fuzz_stream *stream)
{
	struct error err = { 0 };
	close(stream->fd);
	if (folder_remove(stream->xfer.root, &err) < 0)
		abort();
	bool empty = false;
	if (folder_is_empty(fuzz_outer, &empty, &err) < 0 || !empty)
		abort();
}

#endif
