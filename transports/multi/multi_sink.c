/* The sink's side of a stream: takes what comes, says after each round what was good, and goes on
 * with another connection when one breaks. */
#include <errno.h>
#include <sys/socket.h>

#include "transports/multi/multi.h"

/* How often a stream that waits looks whether its connection still holds, in s. */
#define LOOK_S 0.05

/* Did the connection end before it brought anything? */
static bool has_ended(const struct multi_stream *stream)
{
	char byte;
	ssize_t n = recv(stream->channel.in, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
	return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

/* Nothing is written before all folders are there. If the connection breaks before the source has
 * seen it, the source waits, too: another one must take its place. */
static int wait_ready(struct multi_stream *stream, struct error *err)
{
	struct multi *multi = stream->multi;
	int result = 0;
	pthread_mutex_lock(&multi->mutex);
	while (result == 0 && !multi->ready) {
		stream->reader.broken = has_ended(stream);
		if (multi->failed) {
			*err = multi->error;
			result = -1;
		} else if (stream->reader.broken) {
			result = error_set(err, ERROR_PEER, 0,
					   "the source closed a connection too early");
		} else {
			multi_wait_change(multi, LOOK_S);
		}
	}
	pthread_mutex_unlock(&multi->mutex);
	return result;
}

static void set_ready(struct multi *multi)
{
	pthread_mutex_lock(&multi->mutex);
	multi->ready = true;
	pthread_cond_broadcast(&multi->changed);
	pthread_mutex_unlock(&multi->mutex);
}

/* The source has nothing more to send on any stream: who still waits for a connection, or on one
 * that broke unnoticed, is done. */
static void set_closed(struct multi *multi)
{
	pthread_mutex_lock(&multi->mutex);
	multi->closed = true;
	for (uint32_t i = 1; i < multi->count; i++)
		if (multi->streams[i].fd >= 0)
			shutdown(multi->streams[i].fd, SHUT_RD);
	pthread_cond_broadcast(&multi->changed);
	pthread_mutex_unlock(&multi->mutex);
}

static int send_state(struct multi_stream *stream, struct error *err)
{
	struct wire_state state = { .done = stream->reader.done };
	unit_coder_faults(stream->coder, &state);
	if (wire_state_send(&stream->channel, &state, err) == 0)
		return 0;
	stream->reader.broken = true;
	return -1;
}

static int end_round(struct multi_stream *stream, struct error *err)
{
	struct tree_reader *reader = &stream->reader;
	if (reader->record.size != reader->done)
		return error_set(err, ERROR_PEER, 0, "the source sent %llu records, %llu came",
				 (unsigned long long)reader->record.size,
				 (unsigned long long)reader->done);
	/* It sends this one only after it has read what we said after the one before. */
	unit_coder_forget(stream->coder, stream->round);
	stream->round = reader->done;
	return send_state(stream, err);
}

static int end_stream(struct multi_stream *stream, struct error *err)
{
	if (tree_reader_check_totals(&stream->reader, err) < 0)
		return -1;
	stream->closing = true;
	if (stream->index != 0)
		return 0;
	if (tree_reader_close_tree(&stream->reader, err) < 0)
		return -1;
	set_closed(stream->multi);
	return 0;
}

/* All that comes on one connection. */
static int receive(struct multi_stream *stream, struct error *err)
{
	if (stream->index != 0 && wait_ready(stream, err) < 0)
		return -1;
	for (;;) {
		int result = 0;
		if (tree_reader_next_stop(&stream->reader, err) < 0)
			return -1;
		if (stream->reader.record.type == WIRE_END)
			return end_stream(stream, err);
		if (stream->reader.record.type == WIRE_ROUND)
			result = end_round(stream, err);
		else if (stream->index == 0)
			set_ready(stream->multi);
		else
			result = error_set(err, ERROR_PEER, 0, "READY came on another stream");
		if (result < 0)
			return -1;
	}
}

int multi_sink_serve(struct multi_stream *stream, struct error *err)
{
	struct multi *multi = stream->multi;
	struct tree_reader *reader = &stream->reader;
	if (tree_reader_start(reader, multi->xfer, &stream->channel, err) < 0)
		return -1;
	reader->splits = multi->splits;
	reader->coder = stream->coder;
	reader->splice = stream->splice.in >= 0 ? &stream->splice : NULL;
	reader->sink.reuse = multi->options->resume;
	for (bool agreed = !stream->again || send_state(stream, err) == 0;;
	     agreed = send_state(stream, err) == 0) {
		if (agreed && receive(stream, err) == 0)
			return 0;
		int revived = reader->broken ? multi_revive(stream, err) : -1;
		if (revived <= 0)
			return revived;
		tree_reader_restart(reader);
	}
}

int multi_sink_close(struct multi *multi, struct error *err)
{
	const struct wire_record *end = &multi->streams[0].reader.record;
	multi->bytes = multi->files = 0;
	for (uint32_t i = 0; i < multi->count; i++) {
		multi->bytes += multi->streams[i].reader.bytes;
		multi->files += multi->streams[i].reader.complete;
	}
	if (split_files_all_complete(multi->splits, err) < 0)
		return -1;
	if (end->size == multi->bytes && end->extra == multi->files)
		return 0;
	return error_set(err, ERROR_PEER, 0,
			 "the source sent %llu bytes in %llu files, %llu in %llu came",
			 (unsigned long long)end->size, (unsigned long long)end->extra,
			 (unsigned long long)multi->bytes, (unsigned long long)multi->files);
}
