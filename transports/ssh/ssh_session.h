/* Source side of ssh and ssh-none: one libssh2 session to the study's private server, with one exec
 * channel at a time. libssh2 never blocks here: every wait observes a deadline and cancel. One
 * thread. */
#ifndef LINEFILL_TRANSPORTS_SSH_SSH_SESSION_H
#define LINEFILL_TRANSPORTS_SSH_SSH_SESSION_H

#include <libssh2.h>
#include <stdbool.h>

#include "harness/api/xfer.h"
#include "transports/wire/channel.h"
#include "transports/wire/gate.h"

struct ssh_session;

/* Where to connect, as whom, and with which algorithms. */
struct ssh_target {
	const struct service *service;
	const char *cipher,
		*mac; /* preference lists separated by commas; "" leaves it to libssh2 */
	bool compress;
	const struct socket_options *socket;
};

/* Is it the library that scripts/build-libssh2 makes, with transports/ssh/libssh2.patch? */
bool ssh_session_is_own_library(void);
/* Name and version of the library. */
void ssh_session_version(char *text, size_t size);
/* When this libssh2 has none of the ciphers or MACs in the list ("" is fine): UNSUPPORTED, or for
 * none itself UNAVAILABLE, since another build has it. */
int ssh_session_check(const char *cipher, const char *mac, struct error *err) MUST_CHECK;

/* Connects, checks the server's key and that cipher, MAC and compression are as asked for, logs in.
 * Call ssh_session_close even on failure; *session is NULL if there is none. */
int ssh_session_open(struct ssh_session **session, const struct ssh_target *target,
		     const struct io_limit *limit, struct error *err) MUST_CHECK;
/* Cipher and MAC in the direction of the data. */
void ssh_session_methods(const struct ssh_session *session, struct xfer_report *report);
/* Starts a command of the remote user's shell; its input and output become channel, which is good
 * until close. */
int ssh_session_exec(struct ssh_session *session, const char *command, struct channel *channel,
		     struct error *err) MUST_CHECK;
/* Tells the command that nothing more comes, and waits until the server has closed the channel. */
int ssh_session_end_channel(struct ssh_session *session, struct error *err) MUST_CHECK;
/* If the command said something on its standard error, that is added to the message. */
void ssh_session_explain(struct ssh_session *session, struct error *err);
void ssh_session_close(struct ssh_session *session);

/* For other operations on the session: the library's own object; a wait after EAGAIN; the error
 * that the library gives for its last call, always -1. */
LIBSSH2_SESSION *ssh_session_library(struct ssh_session *session);
int ssh_session_wait(struct ssh_session *session, struct error *err) MUST_CHECK;
int ssh_session_failed(const struct ssh_session *session, const char *what, struct error *err);

#endif
