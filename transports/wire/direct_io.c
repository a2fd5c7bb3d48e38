#include "transports/wire/direct_io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/io.h"

static size_t aligned_part(uint64_t bytes)
{
	return (size_t)(bytes - bytes % DIRECT_IO_ALIGN);
}

int direct_io_init(struct direct_io *direct, size_t size, struct error *err)
{
	/* One block more: a read that starts amid a block. */
	direct->size = aligned_part(size + 2 * DIRECT_IO_ALIGN - 1);
	direct->bounce = aligned_alloc(DIRECT_IO_ALIGN, direct->size);
	if (!direct->bounce)
		return error_set(err, ERROR_SYSTEM, 0, "no memory for a block of %zu bytes", size);
	memset(direct->bounce, 0, direct->size);
	return 0;
}

void direct_io_free(struct direct_io *direct)
{
	free(direct->bounce);
	direct->bounce = NULL;
}

static int set_direct(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0)
		return -1;
	return fcntl(fd, F_SETFL, on ? flags | O_DIRECT : flags & ~O_DIRECT);
}

int direct_io_begin(int fd, struct error *err)
{
	if (set_direct(fd, true) == 0)
		return 0;
	if (errno == EINVAL || errno == EOPNOTSUPP)
		return error_set(err, ERROR_UNSUPPORTED, errno,
				 "this file system has no direct I/O");
	return error_system(err, "set direct I/O");
}

ssize_t direct_io_read(struct direct_io *direct, int fd, void *bytes, size_t count, uint64_t offset)
{
	size_t before = (size_t)(offset % DIRECT_IO_ALIGN);
	size_t wanted = aligned_part(before + count + DIRECT_IO_ALIGN - 1);
	if (wanted > direct->size)
		wanted = direct->size;
	ssize_t n;
	do
		n = pread(fd, direct->bounce, wanted, (off_t)(offset - before));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -1;
	size_t got = (size_t)n > before ? (size_t)n - before : 0;
	if (got > count)
		got = count;
	memcpy(bytes, direct->bounce + before, got);
	return (ssize_t)got;
}

static int write_blocks(int fd, const unsigned char *bytes, size_t count, uint64_t offset,
			struct error *err)
{
	struct error why = { 0 };
	if (io_write_at(fd, bytes, count, offset, &why) == 0)
		return 0;
	if (why.code == EINVAL)
		return error_set(err, ERROR_UNSUPPORTED, EINVAL,
				 "this file system refuses direct writes of %u bytes",
				 DIRECT_IO_ALIGN);
	*err = why;
	return -1;
}

/* Through the page cache. */
static int write_rest(int fd, const unsigned char *bytes, size_t count, uint64_t offset,
		      struct error *err)
{
	if (set_direct(fd, false) < 0)
		return error_system(err, "end direct I/O");
	int result = write_blocks(fd, bytes, count, offset, err);
	if (result == 0 && set_direct(fd, true) < 0)
		return error_system(err, "set direct I/O");
	return result;
}

int direct_io_write(struct direct_io *direct, int fd, const void *bytes, size_t count,
		    uint64_t offset, struct error *err)
{
	const unsigned char *from = bytes;
	while (count > 0) {
		size_t now = count < direct->size ? count : direct->size;
		size_t whole = offset % DIRECT_IO_ALIGN ? 0 : aligned_part(now);
		if (whole == 0) {
			/* Up to the end of the block, or of the file. */
			size_t room = DIRECT_IO_ALIGN - (size_t)(offset % DIRECT_IO_ALIGN);
			now = count < room ? count : room;
			if (write_rest(fd, from, now, offset, err) < 0)
				return -1;
		} else {
			const unsigned char *aligned = from;
			now = whole;
			if ((uintptr_t)from % DIRECT_IO_ALIGN) {
				memcpy(direct->bounce, from, now);
				aligned = direct->bounce;
			}
			if (write_blocks(fd, aligned, now, offset, err) < 0)
				return -1;
		}
		from += now;
		offset += now;
		count -= now;
	}
	return 0;
}
