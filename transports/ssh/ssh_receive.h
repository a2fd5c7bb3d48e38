/* Sink side of the ssh transport: the program that sshd starts (`linefill receive ID`), and the
 * worker that prepares for it and hears from it. Both run on the same host, from the same binary,
 * and meet in the server's private folder: receive-ID is what to do, receive-ID.progress is mapped
 * by both, receive-ID.status is a FIFO on which the receiver says how it ended. */
#ifndef LINEFILL_TRANSPORTS_SSH_SSH_RECEIVE_H
#define LINEFILL_TRANSPORTS_SSH_SSH_RECEIVE_H

#include "harness/api/xfer.h"
#include "transports/wire/channel.h"

#define SSH_RECEIVE_ID_SIZE 17

/* The ID that both ends derive from a worker's token: its first half in hexadecimal. The other half
 * stays secret; a command line can be seen by anyone. */
void ssh_receive_id(const struct token *token, char id[SSH_RECEIVE_ID_SIZE]);

/* The receiver: takes a tree from standard input and answers on standard output. scratch is the
 * server's private folder. The error was sent to the source and the worker already; it is for the
 * exit status. */
int ssh_receive(const char *scratch, const char *id, struct error *err) MUST_CHECK;

/* All of it that the peer can see: the hello with the token, the tree, and our answer. Of *xfer it
 * takes root, token, preserve and progress. */
int ssh_receive_stream(const struct xfer *xfer, const struct channel *channel,
		       struct error *err) MUST_CHECK;

/* The worker's side of it. */
struct ssh_receiver {
	char *folder;
	char id[SSH_RECEIVE_ID_SIZE];
	int status; /* the FIFO's reading end */
	struct xfer_progress *progress;
};

/* Makes the three files in xfer->service->scratch. Call ssh_receiver_close even on failure. */
int ssh_receiver_open(struct ssh_receiver *receiver, const struct xfer *xfer,
		      struct error *err) MUST_CHECK;
/* Until the receiver has ended; its error becomes ours. Keeps xfer->progress up to date. */
int ssh_receiver_wait(struct ssh_receiver *receiver, const struct xfer *xfer,
		      struct error *err) MUST_CHECK;
/* Removes the files. */
void ssh_receiver_close(struct ssh_receiver *receiver);

#endif
