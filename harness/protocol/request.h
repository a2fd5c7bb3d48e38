/* What a controller may ask an agent: one table for both sides, which says for each request what it
 * is called, what the agent does then, and what question and answer carry. Each side holds what it
 * hears to the table before it looks at it: what is missing, of another type, out of range or not
 * in the table is a PEER error that names the request and the member. Nothing has a default. */
#ifndef LINEFILL_PROTOCOL_REQUEST_H
#define LINEFILL_PROTOCOL_REQUEST_H

#include <jansson.h>

#include "harness/base/error.h"

enum request {
	REQUEST_HELLO, /* the first */
	REQUEST_WORKSPACE,
	REQUEST_PROBE,
	REQUEST_DATASET,
	REQUEST_MANIFEST_READ,
	REQUEST_MANIFEST_WRITE,
	REQUEST_SHARES,
	REQUEST_CACHE,
	REQUEST_SOURCE,
	REQUEST_MEMORY_PROBE,
	REQUEST_MEMORY_RESERVE,
	REQUEST_SSH_KEY,
	REQUEST_SSH_SERVER,
	REQUEST_SSH_CLIENT,
	REQUEST_PREPARE,
	REQUEST_RUN,
	REQUEST_END_RUN,
	REQUEST_VERIFY,
	REQUEST_CLEAN,
	REQUEST_BYE,
	REQUEST_CANCEL, /* stop what you do; has no answer of its own */
	REQUESTS
};

/* Workers of one end. */
#define REQUEST_INSTANCES_MAX 64

/* "verify": as it travels, and for messages. */
const char *request_name(enum request request);
/* "verifying the copy": behind "the sink agent took too long while". */
const char *request_doing(enum request request);

/* Makes a question's members complete: its name, and how long the answer may take. */
void request_finish(json_t *question, enum request request, double deadline_s);
/* Which request is it? It is as the table says. */
int request_check_question(const json_t *question, enum request *request,
			   struct error *err) MUST_CHECK;
/* An answer that carries an error is one that is checked as such. */
int request_check_answer(enum request request, const json_t *answer, struct error *err) MUST_CHECK;

/* Both ends must be the same program: puts protocol and version into a hello or its answer; what
 * came from another one is a PEER error, from either check. */
void request_introduce(json_t *hello);

#endif
