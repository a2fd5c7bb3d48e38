#include "transports/ssh/ssh_sftp.h"

#include <libssh2.h>
#include <libssh2_sftp.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/random.h"
#include "harness/base/text.h"

struct ssh_sftp {
	struct ssh_session *ssh;
	LIBSSH2_SFTP *sftp;
	LIBSSH2_SFTP_HANDLE *file;
	bool target_first; /* in requests for links */
};

static int failed(const struct ssh_sftp *sftp, const char *what, const char *path,
		  struct error *err)
{
	if (libssh2_session_last_errno(ssh_session_library(sftp->ssh)) !=
	    LIBSSH2_ERROR_SFTP_PROTOCOL)
		return ssh_session_failed(sftp->ssh, what, err);
	return error_set(err, ERROR_PEER, 0, "sftp: %s %s: status %lu", what, path,
			 libssh2_sftp_last_error(sftp->sftp));
}

/* Calls again until the library does not say EAGAIN; the result is in code. */
#define UNTIL_DONE(ssh, code, call, err)                  \
	while (((code) = (call)) == LIBSSH2_ERROR_EAGAIN) \
		if (ssh_session_wait(ssh, err) < 0)       \
			return -1;

struct ssh_sftp *ssh_sftp_open(struct ssh_session *session, struct error *err)
{
	struct ssh_sftp *sftp = calloc(1, sizeof(*sftp));
	LIBSSH2_SESSION *library = ssh_session_library(session);
	if (!sftp)
		abort();
	sftp->ssh = session;
	while (!(sftp->sftp = libssh2_sftp_init(library))) {
		bool again = libssh2_session_last_errno(library) == LIBSSH2_ERROR_EAGAIN;
		if (again && ssh_session_wait(session, err) == 0)
			continue;
		if (!again)
			ssh_session_failed(session, "start sftp", err);
		free(sftp);
		return NULL;
	}
	return sftp;
}

void ssh_sftp_close(struct ssh_sftp *sftp)
{
	struct error ignored;
	if (!sftp)
		return;
	if (sftp->file)
		libssh2_sftp_close_handle(sftp->file); /* one try: its failure was told already */
	while (libssh2_sftp_shutdown(sftp->sftp) == LIBSSH2_ERROR_EAGAIN)
		if (ssh_session_wait(sftp->ssh, &ignored) < 0)
			break;
	free(sftp);
}

int ssh_sftp_folder(struct ssh_sftp *sftp, const char *path, uint32_t mode, struct error *err)
{
	int code;
	UNTIL_DONE(sftp->ssh, code,
		   libssh2_sftp_mkdir_ex(sftp->sftp, path, (unsigned)strlen(path), (long)mode), err)
	if (code < 0)
		return failed(sftp, "make folder", path, err);
	/* The server's umask may have cut it. */
	return ssh_sftp_mode(sftp, path, mode, err);
}

static int make_link(struct ssh_sftp *sftp, const char *first, const char *second,
		     struct error *err)
{
	int code;
	/* It takes the second as if it would write to it, but does not. */
	char *name = (char *)(uintptr_t)second;
	UNTIL_DONE(sftp->ssh, code,
		   libssh2_sftp_symlink_ex(sftp->sftp, first, (unsigned)strlen(first), name,
					   (unsigned)strlen(second), LIBSSH2_SFTP_SYMLINK),
		   err)
	return code < 0 ? failed(sftp, "make link", first, err) : 0;
}

static int remove_file(struct ssh_sftp *sftp, const char *path, struct error *err)
{
	int code;
	UNTIL_DONE(sftp->ssh, code,
		   libssh2_sftp_unlink_ex(sftp->sftp, path, (unsigned)strlen(path)), err)
	return code < 0 ? failed(sftp, "remove", path, err) : 0;
}

int ssh_sftp_learn_links(struct ssh_sftp *sftp, const char *folder, struct error *err)
{
	char secret[2 * XFER_TOKEN_BYTES + 1];
	AUTO_TEXT first = { 0 };
	AUTO_TEXT second = { 0 };
	struct error why;
	random_secret_hex(secret, XFER_TOKEN_BYTES);
	text_addf(&first, "%s/.link-%s-1", folder, secret);
	text_addf(&second, "%s/.link-%s-2", folder, secret);
	if (make_link(sftp, text_string(&first), text_string(&second), err) < 0)
		return -1;
	sftp->target_first = false;
	if (remove_file(sftp, text_string(&first), &why) == 0)
		return 0;
	sftp->target_first = true;
	return remove_file(sftp, text_string(&second), err);
}

int ssh_sftp_link(struct ssh_sftp *sftp, const char *path, const char *target, struct error *err)
{
	return sftp->target_first ? make_link(sftp, target, path, err)
				  : make_link(sftp, path, target, err);
}

int ssh_sftp_mode(struct ssh_sftp *sftp, const char *path, uint32_t mode, struct error *err)
{
	LIBSSH2_SFTP_ATTRIBUTES attributes = { .flags = LIBSSH2_SFTP_ATTR_PERMISSIONS,
					       .permissions = mode };
	int code;
	UNTIL_DONE(sftp->ssh, code,
		   libssh2_sftp_stat_ex(sftp->sftp, path, (unsigned)strlen(path),
					LIBSSH2_SFTP_SETSTAT, &attributes),
		   err)
	return code < 0 ? failed(sftp, "set mode of", path, err) : 0;
}

int ssh_sftp_create(struct ssh_sftp *sftp, const char *path, struct error *err)
{
	LIBSSH2_SESSION *library = ssh_session_library(sftp->ssh);
	const unsigned long flags = LIBSSH2_FXF_WRITE | LIBSSH2_FXF_CREAT | LIBSSH2_FXF_EXCL;
	while (!(sftp->file = libssh2_sftp_open_ex(sftp->sftp, path, (unsigned)strlen(path), flags,
						   0600, LIBSSH2_SFTP_OPENFILE))) {
		if (libssh2_session_last_errno(library) != LIBSSH2_ERROR_EAGAIN)
			return failed(sftp, "create", path, err);
		if (ssh_session_wait(sftp->ssh, err) < 0)
			return -1;
	}
	return 0;
}

int ssh_sftp_write(struct ssh_sftp *sftp, const void *bytes, size_t count, struct error *err)
{
	for (size_t done = 0; done < count;) {
		ssize_t n;
		UNTIL_DONE(sftp->ssh, n,
			   libssh2_sftp_write(sftp->file, (const char *)bytes + done, count - done),
			   err)
		if (n < 0)
			return failed(sftp, "write", "a file", err);
		done += (size_t)n;
	}
	return 0;
}

int ssh_sftp_finish(struct ssh_sftp *sftp, uint32_t mode, const int64_t *mtime_s, struct error *err)
{
	LIBSSH2_SFTP_ATTRIBUTES attributes = { .flags = LIBSSH2_SFTP_ATTR_PERMISSIONS,
					       .permissions = mode };
	int code;
	if (mtime_s) {
		attributes.flags |= LIBSSH2_SFTP_ATTR_ACMODTIME;
		attributes.mtime = attributes.atime = (unsigned long)*mtime_s;
	}
	UNTIL_DONE(sftp->ssh, code, libssh2_sftp_fstat_ex(sftp->file, &attributes, 1), err)
	if (code < 0)
		return failed(sftp, "set mode of", "a file", err);
	UNTIL_DONE(sftp->ssh, code, libssh2_sftp_close_handle(sftp->file), err)
	sftp->file = NULL;
	return code < 0 ? failed(sftp, "close", "a file", err) : 0;
}
