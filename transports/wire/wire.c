#include "transports/wire/wire.h"

#include <endian.h>
#include <string.h>

static const unsigned char magic[8] = { 'L', 'F', 'T', 'R', 'E', 'E', '0', '1' };

static void put16(unsigned char *to, uint16_t value)
{
	value = htole16(value);
	memcpy(to, &value, sizeof(value));
}

static void put32(unsigned char *to, uint32_t value)
{
	value = htole32(value);
	memcpy(to, &value, sizeof(value));
}

static void put64(unsigned char *to, uint64_t value)
{
	value = htole64(value);
	memcpy(to, &value, sizeof(value));
}

static uint16_t get16(const unsigned char *from)
{
	uint16_t value;
	memcpy(&value, from, sizeof(value));
	return le16toh(value);
}

static uint32_t get32(const unsigned char *from)
{
	uint32_t value;
	memcpy(&value, from, sizeof(value));
	return le32toh(value);
}

static uint64_t get64(const unsigned char *from)
{
	uint64_t value;
	memcpy(&value, from, sizeof(value));
	return le64toh(value);
}

void wire_hello_encode(unsigned char bytes[WIRE_HELLO_BYTES], const struct token *token,
		       uint32_t stream, uint32_t streams)
{
	memcpy(bytes, magic, sizeof(magic));
	memcpy(bytes + 8, token->bytes, XFER_TOKEN_BYTES);
	put32(bytes + 24, stream);
	put32(bytes + 28, streams);
}

bool wire_hello_check(const unsigned char bytes[WIRE_HELLO_BYTES], const struct token *token,
		      uint32_t streams, uint32_t *stream)
{
	/* Every byte is looked at, so that the time taken tells nothing about the token. */
	volatile unsigned char difference = 0;
	for (size_t i = 0; i < XFER_TOKEN_BYTES; i++)
		difference |= (unsigned char)(bytes[8 + i] ^ token->bytes[i]);
	*stream = get32(bytes + 24);
	return difference == 0 && memcmp(bytes, magic, sizeof(magic)) == 0 &&
	       (get32(bytes + 28) & ~WIRE_HELLO_AGAIN) == streams && *stream < streams;
}

bool wire_hello_is_again(const unsigned char bytes[WIRE_HELLO_BYTES])
{
	return get32(bytes + 28) & WIRE_HELLO_AGAIN;
}

void wire_record_encode(unsigned char bytes[WIRE_RECORD_BYTES], const struct wire_record *record)
{
	bytes[0] = (unsigned char)record->type;
	bytes[1] = (unsigned char)record->flags;
	put16(bytes + 2, (uint16_t)record->text_bytes);
	put32(bytes + 4, record->mode);
	put64(bytes + 8, record->size);
	put64(bytes + 16, record->extra);
}

static bool text_length_fits(const struct wire_record *record)
{
	switch (record->type) {
	case WIRE_FOLDER:
	case WIRE_LINK:
	case WIRE_FILE:
	case WIRE_MODE:
		return record->text_bytes > 0 && record->text_bytes <= WIRE_PATH_MAX;
	case WIRE_ABORT:
		return record->text_bytes <= WIRE_ERROR_MAX;
	default:
		return record->text_bytes == 0;
	}
}

int wire_record_decode(const unsigned char bytes[WIRE_RECORD_BYTES], struct wire_record *record,
		       struct error *err)
{
	*record = (struct wire_record){
		.type = bytes[0],
		.flags = bytes[1],
		.text_bytes = get16(bytes + 2),
		.mode = get32(bytes + 4),
		.size = get64(bytes + 8),
		.extra = get64(bytes + 16),
	};
	if (bytes[0] == 0 || bytes[0] >= WIRE_TYPES)
		return error_set(err, ERROR_PEER, 0, "the peer sent a record of unknown type %u",
				 bytes[0]);
	if (record->flags & ~(record->type == WIRE_FILE ? WIRE_FLAG_SPLIT | WIRE_FLAG_SAME : 0u))
		return error_set(err, ERROR_PEER, 0, "the peer sent a record with unknown flags");
	if (!text_length_fits(record))
		return error_set(err, ERROR_PEER, 0, "the peer sent a text of %u bytes",
				 record->text_bytes);
	return 0;
}

bool wire_path_is_safe(const char *path, size_t length)
{
	if (length == 0 || length > WIRE_PATH_MAX || memchr(path, '\0', length))
		return false;
	for (size_t start = 0; start <= length;) {
		const char *slash = memchr(path + start, '/', length - start);
		size_t part = (slash ? (size_t)(slash - path) : length) - start;
		if (part == 0 || (part == 1 && path[start] == '.') ||
		    (part == 2 && path[start] == '.' && path[start + 1] == '.'))
			return false;
		start += part + 1;
	}
	return true;
}

bool wire_mode_is_late(enum preserve preserve, uint32_t mode)
{
	return preserve >= PRESERVE_MODE && (mode & 0700u) != 0700u;
}

enum error_kind wire_error_kind(uint32_t kind)
{
	switch (kind) {
	case ERROR_SYSTEM:
	case ERROR_TIMEOUT:
	case ERROR_CANCELLED:
	case ERROR_INTEGRITY:
		return (enum error_kind)kind;
	default:
		return ERROR_PEER;
	}
}

#define ANSWER_BYTES 24

int wire_answer_send(const struct channel *channel, uint64_t bytes, uint64_t files,
		     struct error *err)
{
	unsigned char answer[ANSWER_BYTES] = { 1 };
	put64(answer + 8, bytes);
	put64(answer + 16, files);
	return channel->write(channel, answer, sizeof(answer), err);
}

void wire_answer_failure(const struct channel *channel, const struct error *failure)
{
	unsigned char answer[ANSWER_BYTES + WIRE_ERROR_MAX] = { 0 };
	size_t text = strnlen(failure->message, WIRE_ERROR_MAX);
	answer[1] = (unsigned char)failure->kind;
	put16(answer + 2, (uint16_t)text);
	memcpy(answer + ANSWER_BYTES, failure->message, text);
	struct channel hasty = channel_in_haste(channel);
	struct error ignored;
	if (hasty.write(&hasty, answer, ANSWER_BYTES + text, &ignored) < 0)
		return; /* the source will see the connection end instead */
}

static int read_failure(const struct channel *channel, const unsigned char *answer,
			struct error *err)
{
	char text[WIRE_ERROR_MAX + 1] = { 0 };
	size_t length = get16(answer + 2);
	if (length > WIRE_ERROR_MAX)
		return error_set(err, ERROR_PEER, 0, "sink: an answer that makes no sense");
	if (channel_read_full(channel, text, length, err) < 0)
		return -1;
	return error_set(err, wire_error_kind(answer[1]), 0, "sink: %s", text);
}

int wire_answer_read(const struct channel *channel, uint64_t bytes, uint64_t files,
		     struct error *err)
{
	unsigned char answer[ANSWER_BYTES];
	if (channel_read_full(channel, answer, sizeof(answer), err) < 0)
		return error_wrap(err, "the sink's answer");
	if (answer[0] != 1)
		return read_failure(channel, answer, err);
	if (get64(answer + 8) != bytes || get64(answer + 16) != files)
		return error_set(err, ERROR_INTEGRITY, 0,
				 "sink: has %llu bytes in %llu files, %llu in %llu were sent",
				 (unsigned long long)get64(answer + 8),
				 (unsigned long long)get64(answer + 16), (unsigned long long)bytes,
				 (unsigned long long)files);
	return 0;
}

bool wire_answer_explain(const struct channel *channel, struct error *err)
{
	unsigned char answer[ANSWER_BYTES];
	struct channel hasty = channel_in_haste(channel);
	struct error explained;
	if (err->kind != ERROR_PEER ||
	    channel_read_full(&hasty, answer, sizeof(answer), &explained) < 0 || answer[0] != 0)
		return false;
	read_failure(&hasty, answer, &explained);
	*err = explained;
	return true;
}

#define STATE_MARK 2

int wire_state_send(const struct channel *channel, const struct wire_state *state,
		    struct error *err)
{
	unsigned char head[ANSWER_BYTES] = { STATE_MARK };
	put32(head + 4, state->faults);
	put64(head + 8, state->done);
	if (channel->write(channel, head, sizeof(head), err) < 0)
		return -1;
	for (uint32_t i = 0; i < state->faults; i++) {
		unsigned char number[8];
		put64(number, state->faulty[i]);
		if (channel->write(channel, number, sizeof(number), err) < 0)
			return -1;
	}
	return 0;
}

static int check_state(const struct wire_state *state, struct error *err)
{
	for (uint32_t i = 0; i < state->faults; i++)
		if (state->faulty[i] >= state->done ||
		    (i > 0 && state->faulty[i] <= state->faulty[i - 1]))
			return error_set(err, ERROR_PEER, 0, "sink: a state that makes no sense");
	return 0;
}

int wire_state_read(const struct channel *channel, struct wire_state *state, bool *told,
		    struct error *err)
{
	unsigned char head[ANSWER_BYTES];
	if (channel_read_full(channel, head, sizeof(head), err) < 0)
		return error_wrap(err, "the sink's state");
	*told = head[0] == 0;
	if (*told)
		return read_failure(channel, head, err);
	state->faults = get32(head + 4);
	state->done = get64(head + 8);
	if (head[0] != STATE_MARK || state->faults > WIRE_FAULTS_MAX)
		return error_set(err, ERROR_PEER, 0, "sink: a state that makes no sense");
	if (channel_read_full(channel, state->faulty, state->faults * sizeof(uint64_t), err) < 0)
		return error_wrap(err, "the sink's state");
	for (uint32_t i = 0; i < state->faults; i++)
		state->faulty[i] = le64toh(state->faulty[i]);
	return check_state(state, err);
}
