/* Any bytes as a message between agents: they are refused with an error or make an object that
 * goes over the wire again and comes back the same. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "harness/protocol/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	AUTO_MESSAGE message = { 0 };
	struct error err = { 0 };
	if (message_parse(bytes, count, &message, &err) < 0) {
		if (err.kind != ERROR_PEER || message.json || message.bytes)
			__builtin_trap();
		return 0;
	}
	if (!json_is_object(message.json) || (message.bytes == NULL) != (message.bytes_count == 0))
		__builtin_trap();
	if (message_to_error(&message, &err) < 0) {
		struct message again = { .json = message_from_error(&err) };
		struct error same = { 0 };
		if (!again.json || err.kind == ERROR_NONE || message_to_error(&again, &same) == 0 ||
		    same.kind != err.kind)
			__builtin_trap();
		message_free(&again);
	}
	return 0;
}
