/* Source side of the ssh transport: one libssh2 session to the study's private sshd, with one exec
 * channel. libssh2 never blocks here: every wait observes a deadline and cancel. One thread. */
#ifndef LINEFILL_TRANSPORTS_SSH_SESSION_H
#define LINEFILL_TRANSPORTS_SSH_SESSION_H

#include "harness/api/xfer.h"
#include "transports/channel.h"
#include "transports/gate.h"

struct ssh_session;

/* Where to connect, as whom, and with which algorithms. */
struct ssh_target {
	const struct service *service;
	const char *cipher,
		*mac; /* preference lists separated by commas; "" leaves it to libssh2 */
	const struct socket_options *socket;
};

/* UNSUPPORTED when this libssh2 has none of the ciphers or MACs in the list ("" is fine). */
int ssh_session_check(const char *cipher, const char *mac, struct error *err) MUST_CHECK;

/* Connects, checks the server's key and that the cipher and MAC are among those asked for, logs in.
 * Call ssh_session_close even on failure; *session is NULL if there is none. */
int ssh_session_open(struct ssh_session **session, const struct ssh_target *target,
		     const struct io_limit *limit, struct error *err) MUST_CHECK;
/* Cipher and MAC in the direction of the data. */
void ssh_session_methods(const struct ssh_session *session, struct xfer_report *report);
/* Starts a command of the remote user's shell; its input and output become channel, which is good
 * until close. */
int ssh_session_exec(struct ssh_session *session, const char *command, struct channel *channel,
		     struct error *err) MUST_CHECK;
/* If the command said something on its standard error, that is added to the message. */
void ssh_session_explain(struct ssh_session *session, struct error *err);
void ssh_session_close(struct ssh_session *session);

#endif
