/* How one stream that fails ends the others. */
#include <pthread.h>
#include <sys/socket.h>

#include "transports/multi/multi.h"

/* Wakes every thread that waits for a peer, but leaves stream 0 to say and hear why: the source's
 * ends with ABORT, the sink's answer follows, and it reads no further. */
static void stop_streams(const struct multi *multi)
{
	if (multi->xfer->side == XFER_SINK && multi->streams[0].fd >= 0)
		shutdown(multi->streams[0].fd, SHUT_RD);
	for (uint32_t i = 1; i < multi->count; i++)
		if (multi->streams[i].fd >= 0)
			shutdown(multi->streams[i].fd, SHUT_RDWR);
}

void multi_fail(struct multi *multi, const struct error *why)
{
	pthread_mutex_lock(&multi->mutex);
	if (!multi->failed || (multi->error.kind == ERROR_PEER && why->kind != ERROR_PEER))
		multi->error = *why;
	if (!multi->failed)
		stop_streams(multi);
	multi->failed = true;
	pthread_cond_broadcast(&multi->changed);
	pthread_mutex_unlock(&multi->mutex);
}

int multi_check(struct multi *multi, struct error *err)
{
	pthread_mutex_lock(&multi->mutex);
	bool failed = multi->failed;
	if (failed)
		*err = multi->error;
	pthread_mutex_unlock(&multi->mutex);
	return failed ? -1 : 0;
}
