/* Any bytes as a message between controller and agents: they are refused with an error or make an
 * object that comes back the same when it is escaped for the wire again, and that is held to the
 * table of requests. */
#include <arpa/inet.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/protocol/escape.h"
#include "harness/protocol/message.h"
#include "harness/protocol/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void check_wire(const json_t *json)
{
	json_t *escaped = escape_json(json);
	char *text = json_dumps(escaped, JSON_COMPACT);
	json_t *parsed = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
	json_t *back = parsed ? unescape_json(parsed, NULL) : NULL;
	if (!back || !json_equal(back, json))
		__builtin_trap();
	json_decref(escaped);
	json_decref(parsed);
	json_decref(back);
	free(text);
}

static void check_table(const json_t *json)
{
	struct error err = { 0 };
	enum request request;
	if (request_check_question(json, &request, &err) < 0 && err.kind != ERROR_PEER)
		__builtin_trap();
	for (int i = 0; i < REQUESTS; i++)
		if (request_check_answer((enum request)i, json, &err) < 0 && err.kind != ERROR_PEER)
			__builtin_trap();
}

/* A message whose lengths add up, with the bytes as its JSON: what a fuzzer changes seldom does. */
static void try_json(const uint8_t *bytes, size_t count)
{
	AUTO_MESSAGE message = { 0 };
	struct error err = { 0 };
	const uint32_t sizes[2] = { htonl((uint32_t)count), 0 };
	uint8_t *wire = malloc(count + 12);
	memcpy(wire, "LF2\n", 4);
	memcpy(wire + 4, sizes, sizeof(sizes));
	memcpy(wire + 12, bytes, count);
	if (message_parse(wire, count + 12, &message, &err) == 0) {
		check_wire(message.json);
		check_table(message.json);
	}
	free(wire);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	AUTO_MESSAGE message = { 0 };
	struct error err = { 0 };
	try_json(bytes, count);
	if (message_parse(bytes, count, &message, &err) < 0) {
		if (err.kind != ERROR_PEER || message.json || message.bytes)
			__builtin_trap();
		return 0;
	}
	if (!json_is_object(message.json) || (message.bytes == NULL) != (message.bytes_count == 0))
		__builtin_trap();
	check_wire(message.json);
	check_table(message.json);
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
