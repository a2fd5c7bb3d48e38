/* The source's side of a stream: sends units round by round until the sink has them all. */
#include <stdlib.h>
#include <string.h>

#include "transports/multi/multi.h"

/* Units that the sink has not seen, or seen and found bad, are for whoever is free next. */
static int put_back(struct multi_stream *stream, struct part_batch batch, bool bad,
		    struct error *err)
{
	struct part_queue *queue = stream->multi->queue;
	batch.tries += bad;
	if (batch.tries >= MULTI_TRIES_MAX)
		return error_set(err, ERROR_INTEGRITY, 0,
				 "%s: damaged on its way %u times, this line is no good",
				 part_queue_entry(queue, batch.first)->path, batch.tries);
	part_queue_put_back(queue, &batch);
	return 0;
}

/* What the sink says about a stretch of like units. */
enum verdict { GOOD, BAD, MISSING };

static enum verdict judge(const struct wire_state *state, uint64_t number, uint32_t *fault)
{
	while (*fault < state->faults && state->faulty[*fault] < number)
		++*fault;
	if (number >= state->done)
		return MISSING;
	return *fault < state->faults && state->faulty[*fault] == number ? BAD : GOOD;
}

/* Units [from, to) of a batch. */
static struct part_batch slice(const struct multi *multi, const struct part_batch *batch,
			       size_t from, size_t to)
{
	struct part_batch part = *batch;
	if (batch->count == 1)
		return part;
	part.first += from;
	part.count = to - from;
	part.offset = 0;
	part.length = part_queue_entry(multi->queue, part.first)->size_bytes;
	return part;
}

static int settle_slice(struct multi_stream *stream, const struct part_batch *part,
			enum verdict verdict, struct error *err)
{
	if (verdict != GOOD)
		return put_back(stream, *part, verdict == BAD, err);
	const struct part_queue *queue = stream->multi->queue;
	bool ends = part->count > 1 ||
		    part->offset + part->length == part_queue_entry(queue, part->first)->size_bytes;
	stream->bytes += part_queue_bytes(queue, part);
	stream->files += part->count;
	stream->complete += ends ? part->count : 0;
	return 0;
}

static int settle_batch(struct multi_stream *stream, const struct part_batch *batch,
			uint64_t number, const struct wire_state *state, struct error *err)
{
	uint32_t fault = 0;
	for (size_t from = 0; from < batch->count;) {
		enum verdict verdict = judge(state, number + from, &fault);
		size_t to = from + 1;
		while (to < batch->count && judge(state, number + to, &fault) == verdict)
			to++;
		struct part_batch part = slice(stream->multi, batch, from, to);
		if (settle_slice(stream, &part, verdict, err) < 0)
			return -1;
		from = to;
	}
	return 0;
}

/* What did not arrive counts as not sent. */
static void settle_progress(struct multi_stream *stream)
{
	struct xfer_progress *progress = stream->multi->xfer->progress;
	struct tree_writer *writer = &stream->writer;
	atomic_fetch_sub_explicit(&progress->bytes, writer->bytes - stream->bytes,
				  memory_order_relaxed);
	atomic_fetch_sub_explicit(&progress->files, writer->complete - stream->complete,
				  memory_order_relaxed);
	writer->bytes = stream->bytes;
	writer->complete = stream->complete;
}

/* The log is empty afterwards, and the next unit has the number that the sink will give it. */
static int settle(struct multi_stream *stream, const struct wire_state *state, struct error *err)
{
	struct multi_log *log = &stream->log;
	uint64_t number = log->first;
	if (state->done > log->first + log->units)
		return error_set(err, ERROR_PEER, 0, "sink: has more than was sent");
	for (size_t i = 0; i < log->count; i++) {
		if (settle_batch(stream, &log->batches[i], number, state, err) < 0)
			return -1;
		number += log->batches[i].count;
	}
	*log = (struct multi_log){ .batches = log->batches, .first = state->done };
	settle_progress(stream);
	return 0;
}

static int read_state(struct multi_stream *stream, struct error *err)
{
	struct wire_state state = { .faulty = stream->faulty };
	if (wire_state_read(&stream->channel, &state, &stream->told, err) < 0)
		return -1;
	if (settle(stream, &state, err) == 0)
		return 0;
	stream->closing = true; /* no other connection would mend that */
	return -1;
}

/* Stream 0: everything that has no contents, from where the sink is. */
static int send_frame(struct multi_stream *stream, struct error *err)
{
	const struct manifest *files = stream->multi->xfer->files;
	uint64_t there = stream->log.first;
	uint64_t number = 0;
	if (there < files->count - files->files)
		stream->log.first = files->count - files->files;
	for (size_t i = 0; i < files->count; i++) {
		if (files->entries[i].type == MANIFEST_FILE || number++ < there)
			continue;
		if (tree_writer_entry(&stream->writer, &files->entries[i], err) < 0)
			return -1;
	}
	return tree_writer_ready(&stream->writer, err);
}

static int send_batch(struct multi_stream *stream, const struct part_batch *batch,
		      struct error *err)
{
	bool offer = stream->multi->options->resume && batch->tries == 0;
	for (size_t i = 0; i < batch->count; i++) {
		const struct manifest_entry *entry =
			part_queue_entry(stream->multi->queue, batch->first + i);
		struct tree_part part = { .entry = entry, .length = entry->size_bytes };
		if (batch->count == 1) {
			part.offset = batch->offset;
			part.length = batch->length;
		}
		int result = offer ? tree_writer_offer(&stream->writer, &part, err)
				   : tree_writer_part(&stream->writer, &part, err);
		if (result < 0)
			return -1;
	}
	return 0;
}

static bool take(struct multi_stream *stream, struct part_batch *batch)
{
	struct multi_log *log = &stream->log;
	if (log->units + PART_BATCH_MAX > WIRE_ROUND_MAX ||
	    !part_queue_take(stream->multi->queue, batch))
		return false;
	/* Written down first: of what breaks off in the middle the sink says how much came. */
	log->batches[log->count++] = *batch;
	log->units += batch->count;
	return true;
}

/* Until nothing is left to take, and the sink has all that was taken. */
static int send_rounds(struct multi_stream *stream, struct error *err)
{
	struct multi_log *log = &stream->log;
	struct part_batch batch;
	for (;;) {
		while (take(stream, &batch))
			if (multi_check(stream->multi, err) < 0 ||
			    send_batch(stream, &batch, err) < 0)
				return -1;
		if (multi_check(stream->multi, err) < 0)
			return -1;
		if (log->count == 0)
			return 0;
		if (tree_writer_round(&stream->writer, log->first + log->units, err) < 0 ||
		    read_state(stream, err) < 0)
			return -1;
	}
}

static int send_all(struct multi_stream *stream, struct error *err)
{
	if (stream->index == 0 && send_frame(stream, err) < 0)
		return -1;
	if (send_rounds(stream, err) < 0)
		return -1;
	return tree_writer_end_with(&stream->writer, stream->bytes, stream->files, err);
}

int multi_source_serve(struct multi_stream *stream, struct error *err)
{
	const struct xfer *xfer = stream->multi->xfer;
	struct tree_writer *writer = &stream->writer;
	if (tree_writer_start(writer, xfer->root, &stream->channel, xfer->progress, err) < 0)
		return -1;
	writer->coder = stream->coder;
	for (bool agreed = !stream->again || read_state(stream, err) == 0;;
	     agreed = read_state(stream, err) == 0) {
		if (agreed && send_all(stream, err) == 0)
			return 0;
		/* The sink's own words are better than that the connection is gone. */
		if (writer->broken && wire_answer_explain(&stream->channel, err))
			stream->told = true;
		if (multi_revive(stream, err) < 0)
			return -1;
		tree_writer_restart(writer);
	}
}

int multi_source_close(struct multi *multi, struct error *err)
{
	const struct xfer *xfer = multi->xfer;
	struct tree_writer *first = &multi->streams[0].writer;
	multi->bytes = multi->files = 0;
	for (uint32_t i = 0; i < multi->count; i++)
		multi->bytes += multi->streams[i].bytes;
	multi->files = xfer->files->files;
	if (multi->bytes != xfer->files->bytes)
		error_set(err, ERROR_SYSTEM, 0, "%llu bytes of %llu were sent",
			  (unsigned long long)multi->bytes, (unsigned long long)xfer->files->bytes);
	else if (tree_writer_modes(first, xfer->files, xfer->preserve, err) == 0 &&
		 tree_writer_end_with(first, multi->bytes, multi->files, err) == 0)
		return 0;
	tree_writer_fail(first, err);
	return -1;
}
