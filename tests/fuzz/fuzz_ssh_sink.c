/* Any bytes on the standard input of the receiver that sshd starts. The first byte says how they
 * begin: as they are, or behind a hello that is right, so that the fuzzer need not guess a token.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz_stream.h"
#include "transports/ssh/ssh_receive.h"
#include "transports/wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	static uint8_t input[WIRE_HELLO_BYTES + FUZZ_STREAM_MAX];
	static const struct token token = { .bytes = { 1, 2, 3 } };
	struct fuzz_stream stream;
	struct error err = { 0 };
	if (count < 1 || count > FUZZ_STREAM_MAX)
		return 0;
	const bool introduced = bytes[0] & 1;
	const size_t hello = introduced ? WIRE_HELLO_BYTES : 0;
	if (introduced)
		wire_hello_encode(input, &token, 0, 1);
	memcpy(input + hello, bytes + 1, count - 1);
	fuzz_stream_open(&stream, input, hello + count - 1);
	stream.xfer.token = &token;
	/* What it answers goes nowhere. */
	stream.channel.out = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (stream.channel.out < 0)
		abort();
	/* Refusing is as good as taking. */
	if (ssh_receive_stream(&stream.xfer, &stream.channel, &err) < 0 && err.kind == ERROR_NONE)
		abort();
	close(stream.channel.out);
	fuzz_stream_close(&stream);
	return 0;
}
