/* Any bytes as what a source sends over one connection: the sink refuses them or writes beneath its
 * folder, and nowhere else. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/files.h"
#include "tests/fuzz/fuzz_stream.h"
#include "transports/wire/tree_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	struct fuzz_stream stream;
	struct error err = { 0 };
	if (count > FUZZ_STREAM_MAX)
		return 0;
	fuzz_stream_open(&stream, bytes, count);
	struct tree_reader reader;
	if (tree_reader_init(&reader, 4096, &err) < 0 ||
	    tree_reader_start(&reader, &stream.xfer, &stream.channel, &err) < 0)
		abort();
	/* Refusing is as good as taking. */
	if (tree_reader_run(&reader, WIRE_END, &err) < 0 && err.kind == ERROR_NONE)
		abort();
	tree_reader_free(&reader);
	fuzz_stream_close(&stream);
	return 0;
}
