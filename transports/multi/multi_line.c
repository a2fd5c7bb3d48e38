/* The connections of multi: how they are opened, and how one that broke is replaced. The end that
 * connected does so again, with the same token and number; at the other end a thread lets such
 * connections in for as long as the run lasts. The sink then says how far it got. */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "transports/multi/multi.h"

#define RETRY_S 0.1

static bool connects(const struct multi *multi)
{
	return multi->xfer->transport->driver == multi->xfer->side;
}

static struct gate_call call_of(const struct multi *multi)
{
	return (struct gate_call){
		.listener = multi->listener,
		.options = &multi->options->socket,
		.token = multi->xfer->token,
		.limit = xfer_limit(multi->xfer),
	};
}

void multi_use(struct multi_stream *stream, int fd)
{
	struct multi *multi = stream->multi;
	struct io_limit limit = xfer_limit(multi->xfer);
	pthread_mutex_lock(&multi->mutex);
	if (stream->fd >= 0)
		close(stream->fd);
	stream->fd = fd;
	pthread_mutex_unlock(&multi->mutex);
	stream->channel = channel_on_socket(fd, &limit);
	stream->channel.io_calls = &stream->io_calls;
	if (multi->rate)
		rate_limit_apply(multi->rate, &stream->channel);
}

/* The old connection may look fine at this end for a long time: who knows the token and comes again
 * is believed. */
static void hand_over(struct multi_stream *stream, int fd)
{
	struct multi *multi = stream->multi;
	pthread_mutex_lock(&multi->mutex);
	if (stream->spare >= 0)
		close(stream->spare);
	stream->spare = fd;
	if (stream->fd >= 0)
		shutdown(stream->fd, SHUT_RDWR);
	pthread_cond_broadcast(&multi->changed);
	pthread_mutex_unlock(&multi->mutex);
}

static void *keep_gate(void *argument)
{
	struct multi *multi = argument;
	struct gate_call call = call_of(multi);
	struct error ignored;
	uint32_t stream;
	int fd;
	call.limit.cancel = &multi->gate_stop;
	struct gate *gate = gate_open(&call, multi->count);
	while (gate_next(gate, &stream, &fd, &ignored) == 0)
		hand_over(&multi->streams[stream], fd);
	gate_close(gate);
	return NULL;
}

static int start_gate(struct multi *multi, struct error *err)
{
	if (cancel_open(&multi->gate_stop, err) < 0)
		return -1;
	int code = pthread_create(&multi->gate, NULL, keep_gate, multi);
	if (code != 0)
		return error_set(err, ERROR_SYSTEM, code, "cannot start a thread");
	multi->gate_running = true;
	return 0;
}

int multi_open_lines(struct multi *multi, struct error *err)
{
	struct gate_call call = call_of(multi);
	int fds[MULTI_STREAMS_MAX];
	uint64_t again = 0;
	call.again = &again;
	int result = connects(multi) ? gate_connect(&call, &multi->endpoint, fds, multi->count, err)
				     : gate_accept(&call, fds, multi->count, err);
	if (result < 0)
		return -1;
	for (uint32_t i = 0; i < multi->count; i++) {
		multi_use(&multi->streams[i], fds[i]);
		multi->streams[i].again = again >> i & 1;
	}
	return connects(multi) || multi->options->memory ? 0 : start_gate(multi, err);
}

void multi_close_lines(struct multi *multi)
{
	if (multi->gate_running) {
		cancel_request(&multi->gate_stop);
		pthread_join(multi->gate, NULL);
	}
	multi->gate_running = false;
	cancel_close(&multi->gate_stop);
	if (multi->listener >= 0)
		close(multi->listener);
	multi->listener = -1;
	for (uint32_t i = 0; i < multi->count; i++) {
		struct multi_stream *stream = &multi->streams[i];
		if (stream->fd >= 0)
			close(stream->fd);
		if (stream->spare >= 0)
			close(stream->spare);
		stream->fd = stream->spare = -1;
	}
}

void multi_wait_change(struct multi *multi, double seconds)
{
	int64_t end = clock_deadline_ns(seconds);
	struct timespec until = { .tv_sec = end / NS_PER_S, .tv_nsec = end % NS_PER_S };
	pthread_cond_clockwait(&multi->changed, &multi->mutex, CLOCK_MONOTONIC, &until);
}

/* Source: stream 0 has ended, and yet the sink speaks on it: it has failed. */
static bool has_spoken(const struct multi *multi)
{
	char byte;
	return multi->rests && recv(multi->streams[0].fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

static int over(const struct multi *multi, int64_t end_ns, const struct error *why,
		struct error *err)
{
	if (multi->failed)
		*err = multi->error;
	else if (cancel_requested(multi->xfer->cancel))
		error_set(err, ERROR_CANCELLED, 0, "stopped on request");
	else if (clock_now_ns() >= multi->xfer->deadline_ns)
		error_set(err, ERROR_TIMEOUT, 0, "the deadline passed");
	else if (clock_now_ns() >= end_ns || has_spoken(multi))
		*err = *why;
	else
		return 0;
	return -1;
}

/* *fd stays -1 when nothing is left to come. */
static int accept_again(struct multi_stream *stream, int *fd, struct error *err)
{
	struct multi *multi = stream->multi;
	const struct error why = *err;
	int64_t end_ns = clock_deadline_ns(MULTI_ACCEPT_AGAIN_S);
	int result = 0;
	pthread_mutex_lock(&multi->mutex);
	while (stream->spare < 0 && !multi->closed) {
		result = over(multi, end_ns, &why, err);
		if (result < 0)
			break;
		multi_wait_change(multi, RETRY_S);
	}
	*fd = stream->spare;
	stream->spare = -1;
	pthread_mutex_unlock(&multi->mutex);
	return result;
}

static int connect_again(struct multi_stream *stream, int *fd, struct error *err)
{
	struct multi *multi = stream->multi;
	struct gate_call call = call_of(multi);
	const struct error why = *err;
	int64_t end_ns = clock_deadline_ns(MULTI_CONNECT_AGAIN_S);
	struct error ignored;
	if (end_ns < call.limit.deadline_ns)
		call.limit.deadline_ns = end_ns;
	for (;;) {
		pthread_mutex_lock(&multi->mutex);
		bool closed = multi->closed;
		int result = over(multi, end_ns, &why, err);
		pthread_mutex_unlock(&multi->mutex);
		if (result < 0 || closed)
			return result;
		if (gate_connect_again(&call, &multi->endpoint, stream->index, multi->count, fd,
				       &ignored) == 0)
			return 0;
		pthread_mutex_lock(&multi->mutex);
		multi_wait_change(multi, RETRY_S);
		pthread_mutex_unlock(&multi->mutex);
	}
}

/* What the other end still has to say on the old connection is lost: it must not go on there. When
 * the run has failed the connection only looks broken (see stop_streams), and carries the reason.
 */
static int drop_line(struct multi_stream *stream, struct error *err)
{
	struct multi *multi = stream->multi;
	pthread_mutex_lock(&multi->mutex);
	bool failed = multi->failed;
	if (failed)
		*err = multi->error;
	else if (stream->fd >= 0)
		close(take_fd(&stream->fd));
	pthread_mutex_unlock(&multi->mutex);
	if (failed)
		return -1;
	stream->channel.in = stream->channel.out = -1;
	return 0;
}

int multi_revive(struct multi_stream *stream, struct error *err)
{
	struct multi *multi = stream->multi;
	int fd = -1;
	if (err->kind != ERROR_PEER || stream->told || stream->closing ||
	    stream->revivals >= MULTI_REVIVALS_MAX)
		return -1;
	stream->revivals++;
	if (drop_line(stream, err) < 0)
		return -1;
	int result =
		connects(multi) ? connect_again(stream, &fd, err) : accept_again(stream, &fd, err);
	if (fd < 0)
		return result;
	multi_use(stream, fd);
	return 1;
}
