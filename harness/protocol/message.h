/* What controller and agents say to each other: a JSON object, plus bytes that are no text (a piece
 * of a manifest). On the wire: "LF1\n", length of the JSON and of the bytes (32 bits each,
 * big-endian), then both. Lengths are bounded before anything is allocated. */
#ifndef LINEFILL_PROTOCOL_MESSAGE_H
#define LINEFILL_PROTOCOL_MESSAGE_H

#include <jansson.h>
#include <stddef.h>

#include "harness/base/error.h"
#include "harness/base/io.h"

#define MESSAGE_JSON_MAX  (4u << 20)
#define MESSAGE_BYTES_MAX (8u << 20)

struct message {
	json_t *json; /* an object */
	void *bytes;  /* NULL when there are none */
	size_t bytes_count;
};

void message_free(struct message *message);
#define AUTO_MESSAGE __attribute__((cleanup(message_free))) struct message

int message_send(int fd, const struct message *message, const struct io_limit *limit,
		 struct error *err) MUST_CHECK;
/* 1 and a message, which the caller frees; 0 at the end of the stream; -1 on error. */
int message_receive(int fd, struct message *message, const struct io_limit *limit,
		    struct error *err) MUST_CHECK;
/* One whole message from memory, as a hostile peer might send it. */
int message_parse(const void *bytes, size_t count, struct message *message,
		  struct error *err) MUST_CHECK;

/* A reply that carries an error, and back. */
json_t *message_from_error(const struct error *err);
/* 0 when the reply is none; else -1 with the error that it carries. */
int message_to_error(const struct message *reply, struct error *err) MUST_CHECK;

/* Members of an object; a missing or mistyped one gives the fallback. Strings live as long as the
 * object. */
const char *message_text(const json_t *object, const char *key, const char *fallback);
json_int_t message_whole(const json_t *object, const char *key, json_int_t fallback);
double message_real(const json_t *object, const char *key, double fallback);

#endif
