#include "transports/wire/beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int beneath_open(struct beneath *beneath, const char *root, struct error *err)
{
	*beneath = BENEATH_CLOSED;
	beneath->root = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (beneath->root < 0)
		return error_system(err, "open folder %s", root);
	return 0;
}

void beneath_close(struct beneath *beneath)
{
	if (beneath->folder >= 0)
		close(beneath->folder);
	if (beneath->root >= 0)
		close(beneath->root);
	*beneath = BENEATH_CLOSED;
}

static int open_folder(int from, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	return (int)syscall(SYS_openat2, from, path, &how, sizeof(how));
}

/* Goes to the folder of length bytes at path, from the current one if that lies above it. */
static int change_folder(struct beneath *beneath, const char *path, size_t length,
			 struct error *err)
{
	char copy[BENEATH_PATH_SIZE];
	memcpy(copy, path, length);
	copy[length] = '\0';
	size_t known = beneath->length;
	bool below = known > 0 && known < length && path[known] == '/' &&
		     memcmp(path, beneath->path, known) == 0;
	int fd = below ? open_folder(beneath->folder, copy + known + 1)
		       : open_folder(beneath->root, copy);
	if (fd < 0)
		return error_system(err, "open folder %s", copy);
	if (beneath->folder >= 0)
		close(beneath->folder);
	beneath->folder = fd;
	beneath->length = length;
	memcpy(beneath->path, path, length);
	return 0;
}

int beneath_enter(struct beneath *beneath, const char *path, const char **name, struct error *err)
{
	const char *slash = strrchr(path, '/');
	if (!slash) {
		*name = path;
		return beneath->root;
	}
	*name = slash + 1;
	size_t length = (size_t)(slash - path);
	if (length >= BENEATH_PATH_SIZE)
		return error_set(err, ERROR_SYSTEM, 0, "a path of %zu bytes is too long",
				 strlen(path));
	if (length == beneath->length && memcmp(path, beneath->path, length) == 0)
		return beneath->folder;
	if (change_folder(beneath, path, length, err) < 0)
		return -1;
	return beneath->folder;
}
