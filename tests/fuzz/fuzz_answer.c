/* Any bytes as what a sink says to a source: its answer, its reason to stop, and, for multi, its
 * state. What is taken for a state must be one that the source can work with. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz_stream.h"
#include "transports/wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static struct channel feed(const uint8_t *bytes, size_t count)
{
	struct fuzz_stream stream;
	fuzz_stream_feed(&stream, bytes, count);
	return stream.channel;
}

static void read_answer(const struct channel *channel)
{
	struct error err = { 0 };
	if (wire_answer_read(channel, 5, 1, &err) < 0 && err.kind == ERROR_NONE)
		abort();
}

static void explain(const struct channel *channel)
{
	struct error err = { .kind = ERROR_PEER };
	if (wire_answer_explain(channel, &err) && err.message[0] == '\0')
		abort();
}

static void read_state(const struct channel *channel)
{
	static uint64_t faulty[WIRE_FAULTS_MAX];
	struct wire_state state = { .faulty = faulty };
	struct error err = { 0 };
	bool told = false;
	if (wire_state_read(channel, &state, &told, &err) < 0) {
		if (err.kind == ERROR_NONE)
			abort();
		return;
	}
	if (told || state.faults > WIRE_FAULTS_MAX)
		abort();
	for (uint32_t i = 0; i < state.faults; i++)
		if (faulty[i] >= state.done || (i > 0 && faulty[i] <= faulty[i - 1]))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	static void (*const readers[])(const struct channel *) = { read_answer, explain,
								   read_state };
	if (count > FUZZ_STREAM_MAX)
		return 0;
	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
		struct channel channel = feed(bytes, count);
		readers[i](&channel);
		close(channel.in);
	}
	return 0;
}
