/* The connection between the two agents of a pair, opened before a run over the data path, on which
 * "go", the completion and failures travel: a slow control path costs the measurement nothing. */
#ifndef LINEFILL_PROTOCOL_LINK_H
#define LINEFILL_PROTOCOL_LINK_H

#include <errno.h>

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

/* The code of a PEER error that says no more than that the other half gave up. */
#define LINK_GAVE_UP ECANCELED

/* The listening end: who shows the token is let in, once; all others are dropped. */
struct link_door;
/* Listens on host, a literal address; NULL on error. */
struct link_door *link_door_open(const char *host, const struct token *token, uint16_t *port,
				 struct error *err) MUST_CHECK;
/* Hears callers until the right one is in (1) or `other`, a descriptor, is readable (0): for those
 * who have something else to wait for meanwhile, and may not leave callers in the backlog. */
int link_door_keep(struct link_door *door, int other, const struct io_limit *limit,
		   struct error *err) MUST_CHECK;
/* For children, which close it; -1 once the right one is in. */
int link_door_listener(const struct link_door *door);
/* Waits until the right one is in; its descriptor, which is the caller's. */
int link_accept(struct link_door *door, const struct io_limit *limit, struct error *err) MUST_CHECK;
/* Safe on NULL. */
void link_door_close(struct link_door *door);
int link_connect(const struct endpoint *endpoint, const struct token *token,
		 const struct io_limit *limit, struct error *err) MUST_CHECK;
int link_say(int fd, enum link_word word, const struct io_limit *limit,
	     struct error *err) MUST_CHECK;
/* The next word of the other end. */
int link_hear(int fd, enum link_word *word, const struct io_limit *limit,
	      struct error *err) MUST_CHECK;

#endif
