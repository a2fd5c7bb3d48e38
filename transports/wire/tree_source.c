#include "transports/wire/tree_source.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int changed(const struct source_file *file, uint64_t size, struct error *err)
{
	return error_set(err, ERROR_SYSTEM, 0,
			 "source file %s changed: it should have %llu bytes and has %llu%s",
			 file->entry->path, (unsigned long long)file->entry->size_bytes,
			 (unsigned long long)size,
			 size > file->entry->size_bytes ? " or more" : "");
}

static int check_size(const struct source_file *file, struct stat *status, struct error *err)
{
	if (fstat(file->fd, status) < 0)
		return error_system(err, "stat source file %s", file->entry->path);
	if (!S_ISREG(status->st_mode))
		return error_set(err, ERROR_SYSTEM, 0, "source file %s is no longer a file",
				 file->entry->path);
	if ((uint64_t)status->st_size != file->entry->size_bytes)
		return changed(file, (uint64_t)status->st_size, err);
	return 0;
}

int tree_source_open_file(struct beneath *source, const struct manifest_entry *entry,
			  uint64_t offset, uint64_t length, struct source_file *file,
			  struct error *err)
{
	const char *name;
	*file = (struct source_file){ .entry = entry, .fd = -1, .at = offset };
	file->end = offset + length;
	int folder = beneath_enter(source, entry->path, &name, err);
	if (folder < 0)
		return error_wrap(err, "source file %s", entry->path);
	/* O_NONBLOCK: a FIFO put in its place must not hold us up. */
	file->fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (file->fd < 0)
		return error_system(err, "open source file %s", entry->path);
	struct stat status;
	if (check_size(file, &status, err) < 0) {
		tree_source_close_file(file);
		return -1;
	}
	file->sparse = (uint64_t)status.st_blocks * 512 < entry->size_bytes;
	file->data_end = file->sparse ? offset : file->end;
	return 0;
}

/* Looks for data at or after file->at; what lies before it is a hole. */
static int find_data(struct source_file *file, uint64_t *hole_bytes, struct error *err)
{
	struct stat status;
	*hole_bytes = 0;
	off_t data = lseek(file->fd, (off_t)file->at, SEEK_DATA);
	if (data < 0 && errno == ENXIO) {
		*hole_bytes = file->end - file->at;
		return check_size(file, &status, err);
	}
	off_t hole = data < 0 ? -1 : lseek(file->fd, data, SEEK_HOLE);
	if (hole < 0) {
		/* No such search here, or it changed under us: read it all. */
		file->data_end = file->end;
		return 0;
	}
	uint64_t next = (uint64_t)data < file->end ? (uint64_t)data : file->end;
	*hole_bytes = next - file->at;
	file->data_end = (uint64_t)hole < file->end ? (uint64_t)hole : file->end;
	return 0;
}

int tree_source_direct(struct source_file *file, struct direct_io *direct, struct error *err)
{
	if (direct_io_begin(file->fd, err) < 0)
		return error_wrap(err, "source file %s", file->entry->path);
	file->direct = direct;
	return 0;
}

static ssize_t read_some(const struct source_file *file, void *buffer, size_t count)
{
	if (file->direct)
		return direct_io_read(file->direct, file->fd, buffer, count, file->at);
	ssize_t n;
	do
		n = pread(file->fd, buffer, count, (off_t)file->at);
	while (n < 0 && errno == EINTR);
	return n;
}

int tree_source_read(struct source_file *file, void *buffer, size_t room,
		     struct source_extent *extent, struct error *err)
{
	*extent = (struct source_extent){ 0 };
	if (file->at >= file->data_end) {
		if (find_data(file, &extent->hole_bytes, err) < 0)
			return -1;
		file->at += extent->hole_bytes;
		if (extent->hole_bytes > 0)
			return 0;
	}
	uint64_t left = file->data_end - file->at;
	size_t wanted = left < room ? (size_t)left : room;
	bool last = file->at + wanted == file->entry->size_bytes;
	ssize_t n = read_some(file, buffer, wanted + last);
	if (n < 0)
		return error_system(err, "read source file %s", file->entry->path);
	if (n == 0 || (size_t)n > wanted)
		return changed(file, file->at + (uint64_t)n, err);
	file->at += (uint64_t)n;
	extent->data_bytes = (size_t)n;
	return 0;
}

void tree_source_close_file(struct source_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}
