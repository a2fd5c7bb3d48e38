/* Any bytes as what a source sends over two connections at once, with parts of files, rounds, sums,
 * packed contents and questions about what is there: the first byte says where the second stream's
 * begin, the second which of these the sink expects. What the sink would say to the source is a
 * state that the source must understand. */
#include <stdint.h>
#include <stdlib.h>

#include "tests/fuzz/fuzz_stream.h"
#include "transports/wire/tree_reader.h"

#define BLOCK_BYTES 4096
#define UNIT_BYTES  65536

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

/* What both streams work on. */
struct fuzz_sink {
	struct split_files *splits;
	struct unit_coder_options options;
};

/* As the peer reads it: all numbers rise and lie below those that are done. */
static void check_state(struct unit_coder *coder, uint64_t done)
{
	static uint64_t faulty[WIRE_FAULTS_MAX];
	const struct io_limit limit = { .deadline_ns = CLOCK_NEVER };
	struct wire_state state = { .done = done };
	struct wire_state read_back = { .faulty = faulty };
	struct error err = { 0 };
	bool told = false;
	int fd = memfd_create("state", MFD_CLOEXEC);
	struct channel channel = channel_on_pipes(fd, fd, &limit);
	unit_coder_faults(coder, &state);
	if (fd < 0 || wire_state_send(&channel, &state, &err) < 0 || lseek(fd, 0, SEEK_SET) != 0 ||
	    wire_state_read(&channel, &read_back, &told, &err) < 0 || told ||
	    read_back.done != done || read_back.faults != state.faults)
		abort();
	close(fd);
}

/* Rounds until the stream ends, or is refused. */
static int run_rounds(struct tree_reader *reader, struct unit_coder *coder, struct error *err)
{
	uint64_t round = 0;
	for (;;) {
		if (tree_reader_next_stop(reader, err) < 0)
			return -1;
		if (reader->record.type == WIRE_END)
			return tree_reader_check_totals(reader, err);
		if (reader->record.type == WIRE_READY)
			continue;
		unit_coder_forget(coder, round);
		round = reader->done;
		check_state(coder, reader->done);
	}
}

/* One stream after the other: the shared table of parts does not know the difference. */
static void run_stream(const struct fuzz_stream *stream, const struct fuzz_sink *sink, bool first)
{
	struct tree_reader reader;
	struct error err = { 0 };
	struct unit_coder *coder = unit_coder_new(&sink->options, XFER_SINK);
	if (tree_reader_init(&reader, BLOCK_BYTES, &err) < 0 ||
	    tree_reader_start(&reader, &stream->xfer, &stream->channel, &err) < 0)
		abort();
	reader.splits = sink->splits;
	reader.coder = coder;
	reader.sink.reuse = sink->options.resume;
	int result = run_rounds(&reader, coder, &err);
	if (result == 0 && first)
		result = tree_reader_close_tree(&reader, &err);
	if (result < 0 && err.kind == ERROR_NONE)
		abort();
	check_state(coder, reader.done);
	tree_reader_free(&reader);
	unit_coder_free(coder);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	struct fuzz_stream first, second;
	struct error err = { 0 };
	if (count < 2 || count > FUZZ_STREAM_MAX)
		return 0;
	size_t cut = 2 + (count - 2) * bytes[0] / 255;
	struct fuzz_sink sink = {
		.splits = split_files_new(),
		.options = { .checksum = bytes[1] & 1,
			     .compress = bytes[1] & 2 ? 1 : 0,
			     .resume = bytes[1] & 4,
			     .block = BLOCK_BYTES,
			     .unit = UNIT_BYTES },
	};
	fuzz_stream_open(&first, bytes + 2, cut - 2);
	second = first;
	fuzz_stream_feed(&second, bytes + cut, count - cut);
	run_stream(&second, &sink, false);
	run_stream(&first, &sink, true);
	if (split_files_all_complete(sink.splits, &err) < 0 && err.kind == ERROR_NONE)
		abort();
	split_files_free(sink.splits);
	close(second.fd);
	fuzz_stream_close(&first);
	return 0;
}
