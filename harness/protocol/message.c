#include "harness/protocol/message.h"

#include <arpa/inet.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/log.h"
#include "harness/base/text.h"
#include "harness/protocol/escape.h"

#define HEADER_BYTES 12
static const char magic[4] = { 'L', 'F', '2', '\n' };

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
	json_t *escaped = escape_json(message->json);
	AUTO_FREE char *json = json_dumps(escaped, JSON_COMPACT);
	json_decref(escaped);
	if (!json)
		return error_set(err, ERROR_SYSTEM, 0, "a message could not be made");
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
	json_t *escaped = json_loadb(text, length, JSON_REJECT_DUPLICATES, &problem);
	if (!escaped)
		return error_set(err, ERROR_PEER, 0, "a message is not JSON: %s", problem.text);
	bool object = json_is_object(escaped);
	message->json = object ? unescape_json(escaped, err) : NULL;
	json_decref(escaped);
	if (!object)
		return error_set(err, ERROR_PEER, 0, "a message is not a JSON object");
	return message->json ? 0 : -1;
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

/* ---- errors ---- */

json_t *message_from_error(const struct error *err)
{
	/* It is there to be shown. */
	char shown[sizeof(err->message) * 2];
	text_escape_terminal(shown, sizeof(shown), err->message);
	json_t *object = message_object();
	json_t *reply = message_object();
	message_put_text(object, "kind", error_kind_name(err->kind));
	message_put_whole(object, "code", err->code);
	message_put_text(object, "message", shown);
	message_put(reply, "error", object);
	return reply;
}

static bool is_kind(const char *name)
{
	for (int kind = ERROR_NONE + 1; kind < ERROR_KINDS; kind++)
		if (strcmp(error_kind_name((enum error_kind)kind), name) == 0)
			return true;
	return false;
}

int message_take_error(const json_t *object, struct error *err)
{
	const char *kind = json_string_value(json_object_get(object, "kind"));
	const char *text = json_string_value(json_object_get(object, "message"));
	const json_t *code = json_object_get(object, "code");
	if (!kind || !text || !json_is_integer(code) || !is_kind(kind))
		return error_set(err, ERROR_PEER, 0, "an error came without its kind and reason");
	return error_set(err, error_kind_from_name(kind), (int)json_integer_value(code), "%s",
			 text);
}

int message_to_error(const struct message *reply, struct error *err)
{
	const json_t *object = json_object_get(reply->json, "error");
	return object ? message_take_error(object, err) : 0;
}

/* ---- building: nothing is lost on the way ---- */

json_t *message_object(void)
{
	json_t *object = json_object();
	if (!object)
		abort();
	return object;
}

json_t *message_list(void)
{
	json_t *list = json_array();
	if (!list)
		abort();
	return list;
}

void message_put(json_t *object, const char *key, json_t *value)
{
	if (!value || json_object_set_new_nocheck(object, key, value) < 0)
		abort();
}

void message_append(json_t *list, json_t *value)
{
	if (!value || json_array_append_new(list, value) < 0)
		abort();
}

void message_put_text(json_t *object, const char *key, const char *text)
{
	message_put(object, key, json_string_nocheck(text));
}

void message_append_text(json_t *list, const char *text)
{
	message_append(list, json_string_nocheck(text));
}

void message_put_whole(json_t *object, const char *key, int64_t value)
{
	message_put(object, key, json_integer(value));
}

void message_put_real(json_t *object, const char *key, double value)
{
	if (!isnan(value))
		message_put(object, key, json_real(value));
}

void message_put_flag(json_t *object, const char *key, bool value)
{
	message_put(object, key, json_boolean(value));
}

json_t *message_shown(const char *text)
{
	AUTO_FREE char *shown = text_shown(text, SIZE_MAX);
	json_t *value = json_string(shown);
	if (!value)
		abort();
	return value;
}

void message_put_shown(json_t *object, const char *key, const char *text)
{
	message_put(object, key, message_shown(text));
}

/* ---- reading ---- */

/* What request_check let pass cannot be missing: the table and its user differ. */
static const json_t *member(const json_t *object, const char *key, bool right)
{
	if (!right) {
		log_line(LOG_WARNING, "a member '%s' that the table of requests does not promise",
			 key);
		abort();
	}
	return json_object_get(object, key);
}

const char *message_text(const json_t *object, const char *key)
{
	bool right = json_is_string(json_object_get(object, key));
	return json_string_value(member(object, key, right));
}

int64_t message_whole(const json_t *object, const char *key)
{
	bool right = json_is_integer(json_object_get(object, key));
	return json_integer_value(member(object, key, right));
}

double message_real(const json_t *object, const char *key)
{
	bool right = json_is_number(json_object_get(object, key));
	return json_number_value(member(object, key, right));
}

bool message_flag(const json_t *object, const char *key)
{
	bool right = json_is_boolean(json_object_get(object, key));
	return json_is_true(member(object, key, right));
}

const json_t *message_member(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	return member(object, key, json_is_object(value) || json_is_array(value));
}

const char *message_text_or(const json_t *object, const char *key, const char *fallback)
{
	return json_object_get(object, key) ? message_text(object, key) : fallback;
}

int64_t message_whole_or(const json_t *object, const char *key, int64_t fallback)
{
	return json_object_get(object, key) ? message_whole(object, key) : fallback;
}

double message_real_or(const json_t *object, const char *key, double fallback)
{
	return json_object_get(object, key) ? message_real(object, key) : fallback;
}
