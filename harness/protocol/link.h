/* The connection between the two agents of a pair, opened before a run over the data path, on which
 * "go", the completion and failures travel: a slow control path costs the measurement nothing. */
#ifndef LINEFILL_PROTOCOL_LINK_H
#define LINEFILL_PROTOCOL_LINK_H

#include "harness/api/xfer.h"
#include "harness/base/error.h"
#include "harness/base/io.h"

enum link_word {
	LINK_ARM = 'A',      /* driver: take your baseline, and say when you have */
	LINK_ARMED = 'a',    /* listener */
	LINK_GO = 'G',       /* driver: the clock runs */
	LINK_DONE = 'D',     /* driver: my workers are through */
	LINK_COMPLETE = 'C', /* listener: so are mine, flush included */
	LINK_FAILED = 'F',   /* either: give up */
};

/* The first connection that shows the token; others are dropped. Returns the descriptor. */
int link_accept(int listener, const struct token *token, const struct io_limit *limit,
		struct error *err) MUST_CHECK;
int link_connect(const struct endpoint *endpoint, const struct token *token,
		 const struct io_limit *limit, struct error *err) MUST_CHECK;
int link_say(int fd, enum link_word word, const struct io_limit *limit,
	     struct error *err) MUST_CHECK;
/* The next word of the other end. */
int link_hear(int fd, enum link_word *word, const struct io_limit *limit,
	      struct error *err) MUST_CHECK;

#endif
