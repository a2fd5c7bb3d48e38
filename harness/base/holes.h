/* Finding what a sparse file really holds. */
#ifndef LINEFILL_BASE_HOLES_H
#define LINEFILL_BASE_HOLES_H

#include <sys/types.h>

/* The next stretch of data at or after at (at < size): [*start, *end). [at, *start) is a hole. A
 * hole up to the end gives *start == *end == size. Where the file system knows no holes, all is
 * data. */
void holes_next_data(int fd, off_t at, off_t size, off_t *start, off_t *end);

#endif
