#include "harness/protocol/message.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/text.h"

#define HEADER_BYTES 12
static const char magic[4] = { 'L', 'F', '1', '\n' };

struct header {
	uint32_t json, bytes;
};

void message_free(struct message *message)
{
	json_decref(message->json);
	free(message->bytes);
	*message = (struct message){ 0 };
}

int message_send(int fd, const struct message *message, const struct io_limit *limit,
		 struct error *err)
{
	AUTO_FREE char *json = json_dumps(message->json, JSON_COMPACT);
	if (!json)
		return error_set(err, ERROR_SYSTEM, 0, "a message holds text that is not UTF-8");
	size_t length = strlen(json);
	if (length > MESSAGE_JSON_MAX || message->bytes_count > MESSAGE_BYTES_MAX)
		return error_set(err, ERROR_SYSTEM, 0, "a message is too long: %zu and %zu bytes",
				 length, message->bytes_count);
	char header[HEADER_BYTES];
	uint32_t sizes[2] = { htonl((uint32_t)length), htonl((uint32_t)message->bytes_count) };
	memcpy(header, magic, sizeof(magic));
	memcpy(header + sizeof(magic), sizes, sizeof(sizes));
	if (io_write_full(fd, header, sizeof(header), limit, err) < 0 ||
	    io_write_full(fd, json, length, limit, err) < 0)
		return -1;
	if (message->bytes_count == 0)
		return 0;
	return io_write_full(fd, message->bytes, message->bytes_count, limit, err);
}

static int header_parse(const char bytes[HEADER_BYTES], struct header *header, struct error *err)
{
	if (memcmp(bytes, magic, sizeof(magic)) != 0)
		return error_set(err, ERROR_PEER, 0,
				 "the other end does not speak this protocol (is something printed "
				 "when it starts?)");
	uint32_t sizes[2];
	memcpy(sizes, bytes + sizeof(magic), sizeof(sizes));
	header->json = ntohl(sizes[0]);
	header->bytes = ntohl(sizes[1]);
	if (header->json > MESSAGE_JSON_MAX || header->bytes > MESSAGE_BYTES_MAX)
		return error_set(err, ERROR_PEER, 0, "a message is too long: %u and %u bytes",
				 header->json, header->bytes);
	return 0;
}

static int json_parse(const char *text, size_t length, struct message *message, struct error *err)
{
	json_error_t problem;
	message->json = json_loadb(text, length, JSON_REJECT_DUPLICATES, &problem);
	if (!message->json)
		return error_set(err, ERROR_PEER, 0, "a message is not JSON: %s", problem.text);
	if (!json_is_object(message->json)) {
		message_free(message);
		return error_set(err, ERROR_PEER, 0, "a message is not a JSON object");
	}
	return 0;
}

static void *allocate(size_t count)
{
	void *bytes = malloc(count + 1);
	if (!bytes)
		abort();
	return bytes;
}

int message_receive(int fd, struct message *message, const struct io_limit *limit,
		    struct error *err)
{
	char raw[HEADER_BYTES];
	struct header header;
	*message = (struct message){ 0 };
	ssize_t n = io_read_some(fd, raw, sizeof(raw), limit, err);
	if (n <= 0)
		return (int)n;
	if (io_read_full(fd, raw + n, sizeof(raw) - (size_t)n, limit, err) < 0 ||
	    header_parse(raw, &header, err) < 0)
		return -1;
	AUTO_FREE char *json = allocate(header.json);
	AUTO_FREE void *bytes = header.bytes ? allocate(header.bytes) : NULL;
	if (io_read_full(fd, json, header.json, limit, err) < 0)
		return -1;
	if (bytes && io_read_full(fd, bytes, header.bytes, limit, err) < 0)
		return -1;
	if (json_parse(json, header.json, message, err) < 0)
		return -1;
	message->bytes = TAKE_POINTER(bytes);
	message->bytes_count = header.bytes;
	return 1;
}

int message_parse(const void *bytes, size_t count, struct message *message, struct error *err)
{
	struct header header;
	*message = (struct message){ 0 };
	if (count < HEADER_BYTES)
		return error_set(err, ERROR_PEER, 0, "a message is cut short");
	if (header_parse(bytes, &header, err) < 0)
		return -1;
	if (count != (size_t)HEADER_BYTES + header.json + header.bytes)
		return error_set(err, ERROR_PEER, 0, "a message's lengths do not add up");
	const char *json = (const char *)bytes + HEADER_BYTES;
	if (json_parse(json, header.json, message, err) < 0)
		return -1;
	if (header.bytes == 0)
		return 0;
	message->bytes = allocate(header.bytes);
	memcpy(message->bytes, json + header.json, header.bytes);
	message->bytes_count = header.bytes;
	return 0;
}

json_t *message_from_error(const struct error *err)
{
	/* The text may quote bytes that are not UTF-8, which JSON cannot carry. */
	char shown[sizeof(err->message) * 2];
	text_escape_terminal(shown, sizeof(shown), err->message);
	return json_pack("{s:{s:s,s:i,s:s}}", "error", "kind", error_kind_name(err->kind), "code",
			 err->code, "message", shown);
}

int message_to_error(const struct message *reply, struct error *err)
{
	const json_t *object = json_object_get(reply->json, "error");
	if (!object)
		return 0;
	enum error_kind kind = error_kind_from_name(message_text(object, "kind", "peer"));
	/* An error is one, whatever it calls itself. */
	return error_set(err, kind == ERROR_NONE ? ERROR_PEER : kind,
			 (int)message_whole(object, "code", 0), "%s",
			 message_text(object, "message", "no reason was given"));
}

const char *message_text(const json_t *object, const char *key, const char *fallback)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : fallback;
}

json_int_t message_whole(const json_t *object, const char *key, json_int_t fallback)
{
	const json_t *value = json_object_get(object, key);
	return json_is_integer(value) ? json_integer_value(value) : fallback;
}

double message_real(const json_t *object, const char *key, double fallback)
{
	const json_t *value = json_object_get(object, key);
	return json_is_number(value) ? json_number_value(value) : fallback;
}
