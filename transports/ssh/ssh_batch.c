#include "transports/ssh/ssh_batch.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Several packets of 32 KiB, yet small enough for a core's cache. */
#define BATCH_BYTES (256u << 10)
/* A larger packet is worth a write of its own, and is spared the copy. */
#define LARGE_BYTES (128u << 10)

/* What the socket takes now; 0 or the negative error, as libssh2 wants it. */
static int send_some(struct ssh_batch *batch)
{
	while (batch->start < batch->end) {
		ssize_t n = send(batch->fd, batch->bytes + batch->start, batch->end - batch->start,
				 MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		batch->start += (size_t)n;
	}
	batch->start = batch->end = 0;
	return 0;
}

/* As libssh2 wants a failure: negative, and an interruption as a reason to try again. */
static ssize_t failure(int code)
{
	return code == EINTR ? -EAGAIN : -code;
}

static ssize_t pass_on(const struct ssh_batch *batch, const void *bytes, size_t count)
{
	ssize_t n = send(batch->fd, bytes, count, MSG_NOSIGNAL);
	return n < 0 ? failure(errno) : n;
}

static ssize_t batch_send(libssh2_socket_t socket, const void *bytes, size_t count, int flags,
			  void **abstract)
{
	struct ssh_batch *batch = *abstract;
	(void)socket;
	(void)flags;
	bool large = count > LARGE_BYTES;
	if (batch->on && (large || batch->end + count > BATCH_BYTES)) {
		int sent = send_some(batch);
		if (sent < 0)
			return sent;
	}
	if (!batch->on || large)
		return pass_on(batch, bytes, count);
	memcpy(batch->bytes + batch->end, bytes, count);
	batch->end += count;
	return (ssize_t)count;
}

static ssize_t batch_receive(libssh2_socket_t socket, void *bytes, size_t count, int flags,
			     void **abstract)
{
	struct ssh_batch *batch = *abstract;
	(void)socket;
	(void)flags;
	if (batch->on && batch->quiet)
		return -EAGAIN;
	ssize_t n = recv(batch->fd, bytes, count, 0);
	if (n >= 0)
		return n;
	batch->quiet = errno == EAGAIN;
	return failure(errno);
}

void ssh_batch_attach(struct ssh_batch *batch, LIBSSH2_SESSION *session)
{
	*batch = (struct ssh_batch){ .fd = -1, .bytes = malloc(BATCH_BYTES) };
	if (!batch->bytes)
		abort();
	/* Touched now: page faults are not part of the transfer. */
	memset(batch->bytes, 0, BATCH_BYTES);
	libssh2_session_callback_set(session, LIBSSH2_CALLBACK_SEND, (void *)batch_send);
	libssh2_session_callback_set(session, LIBSSH2_CALLBACK_RECV, (void *)batch_receive);
}

void ssh_batch_free(struct ssh_batch *batch)
{
	free(batch->bytes);
	batch->bytes = NULL;
}

void ssh_batch_begin(struct ssh_batch *batch)
{
	batch->on = true;
	batch->quiet = false;
}

static int gone(int code, struct error *err)
{
	if (code == ECONNRESET || code == EPIPE)
		return error_set(err, ERROR_PEER, code, "ssh: the server closed the connection");
	errno = code;
	return error_system(err, "ssh: send");
}

int ssh_batch_wait(struct ssh_batch *batch, short events, const struct io_limit *limit,
		   struct error *err)
{
	int sent = send_some(batch);
	if (sent < 0 && sent != -EAGAIN)
		return gone(-sent, err);
	batch->quiet = false;
	/* A server that waits for our bytes has no answer yet. */
	if (sent == -EAGAIN)
		events |= POLLOUT;
	return io_wait(batch->fd, events, limit, err);
}

int ssh_batch_end(struct ssh_batch *batch, const struct io_limit *limit, struct error *err)
{
	int sent;
	while ((sent = send_some(batch)) == -EAGAIN)
		if (io_wait(batch->fd, POLLOUT, limit, err) < 0)
			break;
	batch->on = false;
	batch->quiet = false;
	if (sent == 0)
		return 0;
	return sent == -EAGAIN ? -1 : gone(-sent, err);
}
