/* The few operations of SFTP that push what scp cannot: links, odd names, late modes. Paths are
 * absolute, on the server. One thread, on one session that has no channel in use. */
#ifndef LINEFILL_TRANSPORTS_SSH_SSH_SFTP_H
#define LINEFILL_TRANSPORTS_SSH_SSH_SFTP_H

#include "harness/base/error.h"
#include "transports/ssh/ssh_session.h"

struct ssh_sftp;

/* NULL on error. */
struct ssh_sftp *ssh_sftp_open(struct ssh_session *session, struct error *err) MUST_CHECK;
/* Safe on NULL. */
void ssh_sftp_close(struct ssh_sftp *sftp);

int ssh_sftp_folder(struct ssh_sftp *sftp, const char *path, uint32_t mode,
		    struct error *err) MUST_CHECK;
/* Servers differ in which of the two names of a link comes first, and one that took ours the wrong
 * way round would make a link wherever it points. Finds it out inside folder; once, before links.
 */
int ssh_sftp_learn_links(struct ssh_sftp *sftp, const char *folder, struct error *err) MUST_CHECK;
int ssh_sftp_link(struct ssh_sftp *sftp, const char *path, const char *target,
		  struct error *err) MUST_CHECK;
int ssh_sftp_mode(struct ssh_sftp *sftp, const char *path, uint32_t mode,
		  struct error *err) MUST_CHECK;

/* A new file, written from its start; what exists is an error. */
int ssh_sftp_create(struct ssh_sftp *sftp, const char *path, struct error *err) MUST_CHECK;
int ssh_sftp_write(struct ssh_sftp *sftp, const void *bytes, size_t count,
		   struct error *err) MUST_CHECK;
/* mtime_s NULL: as it comes. Closes the file, also on failure. */
int ssh_sftp_finish(struct ssh_sftp *sftp, uint32_t mode, const int64_t *mtime_s,
		    struct error *err) MUST_CHECK;

#endif
