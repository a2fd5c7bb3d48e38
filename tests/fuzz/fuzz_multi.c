/* Any bytes as what a source sends over two connections at once, with parts of files: the first
 * byte says where the second stream's begin. */
#include <stdint.h>
#include <stdlib.h>

#include "tests/fuzz/fuzz_stream.h"
#include "transports/tree_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

/* One stream after the other: the shared table of parts does not know the difference. */
static int run_stream(const struct fuzz_stream *stream, struct split_files *splits,
		      enum wire_type first, enum wire_type last)
{
	struct tree_reader reader;
	struct error err = { 0 };
	if (tree_reader_init(&reader, 4096, &err) < 0 ||
	    tree_reader_start(&reader, &stream->xfer, &stream->channel, &err) < 0)
		abort();
	reader.splits = splits;
	int result = tree_reader_run(&reader, first, &err);
	if (result == 0 && last != first)
		result = tree_reader_run(&reader, last, &err);
	if (result == 0 && last != first)
		result = tree_reader_close_tree(&reader, &err);
	if (result < 0 && err.kind == ERROR_NONE)
		abort();
	tree_reader_free(&reader);
	return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	struct fuzz_stream first, second;
	struct error err = { 0 };
	if (count < 1 || count > FUZZ_STREAM_MAX)
		return 0;
	size_t cut = 1 + (count - 1) * bytes[0] / 255;
	struct split_files *splits = split_files_new();
	fuzz_stream_open(&first, bytes + 1, cut - 1);
	second = first;
	fuzz_stream_feed(&second, bytes + cut, count - cut);
	run_stream(&second, splits, WIRE_END, WIRE_END);
	run_stream(&first, splits, WIRE_READY, WIRE_END);
	if (split_files_all_complete(splits, &err) < 0 && err.kind == ERROR_NONE)
		abort();
	split_files_free(splits);
	close(second.fd);
	fuzz_stream_close(&first);
	return 0;
}
