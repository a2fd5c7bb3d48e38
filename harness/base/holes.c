#include "harness/base/holes.h"

#include <errno.h>
#include <unistd.h>

void holes_next_data(int fd, off_t at, off_t size, off_t *start, off_t *end)
{
	*start = lseek(fd, at, SEEK_DATA);
	if (*start < 0)
		*start = errno == ENXIO ? size : at;
	if (*start > size)
		*start = size;
	*end = *start < size ? lseek(fd, *start, SEEK_HOLE) : size;
	if (*end <= *start || *end > size)
		*end = size;
}
