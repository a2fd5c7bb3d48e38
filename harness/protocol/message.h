/* What controller and agents say to each other: a JSON object, plus bytes that are no text (a piece
 * of a manifest). On the wire: "LF2\n", length of the JSON and of the bytes (32 bits each,
 * big-endian), then both. Lengths are bounded before anything is allocated. Texts may hold any
 * bytes but zeros, see escape.h. What each request and its answer carry is in request.h. */
#ifndef LINEFILL_PROTOCOL_MESSAGE_H
#define LINEFILL_PROTOCOL_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
/* The error that {"kind", "code", "message"} tells of, always -1; a PEER error where it does not.
 */
int message_take_error(const json_t *object, struct error *err);

/* Building. Nothing that is put is lost: where there is no memory the program ends. Values are
 * taken over; a text may hold any bytes. */
json_t *message_object(void);
json_t *message_list(void);
void message_put(json_t *object, const char *key, json_t *value);
void message_put_text(json_t *object, const char *key, const char *text);
void message_put_whole(json_t *object, const char *key, int64_t value);
/* NAN is unknown: the member is left out. */
void message_put_real(json_t *object, const char *key, double value);
void message_put_flag(json_t *object, const char *key, bool value);
void message_append(json_t *list, json_t *value);
void message_append_text(json_t *list, const char *text);

/* The same for JSON that others read (study.json, list --json): what is no UTF-8, or drives
 * terminals, is there as it is shown everywhere, \xNN. */
json_t *message_shown(const char *text);
void message_put_shown(json_t *object, const char *key, const char *text);

/* Members of what request_check_* let pass: that they are there and of this type is known, and the
 * program ends where it is not so. Strings live as long as the object. */
const char *message_text(const json_t *object, const char *key);
int64_t message_whole(const json_t *object, const char *key);
double message_real(const json_t *object, const char *key);
bool message_flag(const json_t *object, const char *key);
/* An object or a list. */
const json_t *message_member(const json_t *object, const char *key);
/* Members that the table calls optional: the fallback where they are missing. */
const char *message_text_or(const json_t *object, const char *key, const char *fallback);
int64_t message_whole_or(const json_t *object, const char *key, int64_t fallback);
double message_real_or(const json_t *object, const char *key, double fallback);

#endif
