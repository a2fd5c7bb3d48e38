#include "harness/agent/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/api/manifest_walk.h"
#include "harness/base/cleanup.h"

/* The tool may have put anything where the copy's folder was. */
static int no_root(const char *root, struct error *err)
{
	int code = errno;
	struct stat status;
	if (code == ELOOP || (lstat(root, &status) == 0 && S_ISLNK(status.st_mode)))
		return error_set(err, ERROR_INTEGRITY, code,
				 "not a copy: its folder is now a symbolic link");
	if (code == EXDEV)
		return error_set(err, ERROR_INTEGRITY, code,
				 "not a copy: something is mounted on its folder");
	errno = code;
	manifest_cannot("open folder", root, err);
	if (err && (code == ENOENT || code == ENOTDIR))
		err->kind = ERROR_INTEGRITY;
	return -1;
}

static int open_root(const struct verify_order *order, const struct manifest_scan_options *options,
		     struct error *err)
{
	AUTO_FD under = -1;
	int fd = -1;
	if (order->under)
		under = open(order->under, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (under >= 0)
		fd = manifest_open_in(under, order->root + strlen(order->under) + 1,
				      O_RDONLY | O_DIRECTORY, options);
	else if (!order->under)
		fd = open(order->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	return order->under ? no_root(order->root, err)
			    : manifest_cannot("open folder", order->root, err);
}

static int verify_in(const struct verify_order *order, struct manifest_found *found,
		     const struct io_limit *limit, struct error *err)
{
	const struct manifest_scan_options options = { .cancel = limit->cancel,
						       .deadline_ns = limit->deadline_ns,
						       .one_mount = order->under != NULL };
	const struct manifest_check check = {
		.wanted = order->wanted,
		.preserve = order->preserve,
		.options = &options,
		.fresh = order->under != NULL,
	};
	char shown[MANIFEST_SHOWN_SIZE];
	AUTO_FD root_fd = open_root(order, &options, err);
	if (root_fd < 0)
		return -1;
	if (manifest_verify(&check, root_fd, found, err) == 0)
		return 0;
	if (err->kind == ERROR_INTEGRITY)
		return -1;
	return error_wrap(err, "in %s", manifest_shown(shown, order->root));
}

int verify_copy(const struct verify_order *order, struct manifest_found *found,
		const struct io_limit *limit, struct error *err)
{
	struct error unwanted;
	err = err ? err : &unwanted;
	*found = (struct manifest_found){ 0 };
	if (verify_in(order, found, limit, err) == 0)
		return 0;
	if (err->kind == ERROR_SYSTEM && err->code == EXDEV)
		error_wrap(err, "not a copy: something is mounted in it");
	/* What may not be read or is neither file, folder nor link is no right copy either. */
	if (err->kind == ERROR_CONFIG ||
	    (err->kind == ERROR_SYSTEM && (err->code == EACCES || err->code == EXDEV)))
		err->kind = ERROR_INTEGRITY;
	return -1;
}
