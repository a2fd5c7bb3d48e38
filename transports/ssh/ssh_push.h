/* Source side of ssh and ssh-none with a server that runs no program of ours: folders and files by
 * the old scp protocol, the rest by SFTP on the same session. One thread. */
#ifndef LINEFILL_TRANSPORTS_SSH_SSH_PUSH_H
#define LINEFILL_TRANSPORTS_SSH_SSH_PUSH_H

#include "harness/api/xfer.h"
#include "transports/ssh/scp_stream.h"
#include "transports/ssh/ssh_session.h"

struct ssh_push {
	struct scp_stream scp;
	struct channel channel;
};

int ssh_push_init(struct ssh_push *push, struct error *err) MUST_CHECK;
/* Safe on a zeroed object whose init was never called. */
void ssh_push_free(struct ssh_push *push);
/* All of xfer->files to xfer->sink_root; when it returns the server has written everything. */
int ssh_push_tree(struct ssh_push *push, struct ssh_session *session, const struct xfer *xfer,
		  struct error *err) MUST_CHECK;

#endif
