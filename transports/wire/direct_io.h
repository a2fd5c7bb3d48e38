/* Files that bypass the page cache (O_DIRECT). Both ends' buffers need not be aligned: what is not
 * goes through a bounce buffer. One thread an object. */
#ifndef LINEFILL_TRANSPORTS_WIRE_DIRECT_IO_H
#define LINEFILL_TRANSPORTS_WIRE_DIRECT_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/base/error.h"

/* What offsets, lengths and addresses are aligned to: a multiple of what any disk asks. */
#define DIRECT_IO_ALIGN 4096u

struct direct_io {
	unsigned char *bounce;
	size_t size;
};

/* size: bytes moved at once; rounded up. Touches the buffer. */
int direct_io_init(struct direct_io *direct, size_t size, struct error *err) MUST_CHECK;
/* Safe on a zeroed object. */
void direct_io_free(struct direct_io *direct);

/* Sets O_DIRECT on an open file; UNSUPPORTED where its file system has none. */
int direct_io_begin(int fd, struct error *err) MUST_CHECK;
/* As pread(2), but for EINTR; may read less than count. */
ssize_t direct_io_read(struct direct_io *direct, int fd, void *bytes, size_t count,
		       uint64_t offset);
/* All count bytes. What does not fill a block is written through the page cache. */
int direct_io_write(struct direct_io *direct, int fd, const void *bytes, size_t count,
		    uint64_t offset, struct error *err) MUST_CHECK;

#endif
