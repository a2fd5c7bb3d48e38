/* What a session of a private SSH server finds: the PATH that the server is told to set, as the
 * user's login shell leaves it. The same for the server's configuration and for the probes of tools
 * that need programs there. */
#ifndef LINEFILL_API_SESSION_H
#define LINEFILL_API_SESSION_H

#include "harness/base/error.h"
#include "harness/base/io.h"
#include "harness/base/text.h"

/* As sshd sets it by itself, for root and for others; nothing of the caller's. */
const char *session_path(void);
/* The PATH that a command finds: asks the login shell, as sshd starts it. UNAVAILABLE when that
 * runs no commands. */
int session_find_path(const struct io_limit *limit, struct text *path,
		      struct error *err) MUST_CHECK;

#endif
