/* The controller's view of one agent: start a request, then wait for the answers of any number of
 * agents in one loop. */
#ifndef LINEFILL_CONTROL_PEER_H
#define LINEFILL_CONTROL_PEER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "harness/api/xfer.h"
#include "harness/base/child.h"
#include "harness/base/error.h"
#include "harness/protocol/message.h"
#include "harness/protocol/request.h"

struct peer {
	enum xfer_side side;
	const char *name; /* "source" or "sink", for messages */
	struct child child;
	int fd;
	bool alive;
	bool waiting;         /* a request is out */
	enum request asked;   /* the last request */
	struct message reply; /* of the last request */
	struct error error;   /* of the last request: kind NONE when it worked */
	char death[512];      /* when and how it died, for people; "" while it lives */
	char *log_file;
	int64_t log_seen; /* bytes of it that were there when the agent last gave an answer */
};

#define PEER_NONE ((struct peer){ .child = CHILD_NONE, .fd = -1 })

/* Starts a local agent. log_file: where its diagnostics go. */
int peer_launch(struct peer *peer, enum xfer_side side, const char *log_file,
		struct error *err) MUST_CHECK;
/* What an agent is asked. */
struct peer_question {
	enum request what;
	json_t *members; /* as the table has them; taken over; NULL: none */
	double seconds;  /* the agent's deadline; ours is a little later: that is for one that hangs
			  */
	void *bytes;     /* stay the caller's */
	size_t bytes_count;
};

/* Sends it. A dead agent is a PEER error, and the outcome of this request. */
int peer_start(struct peer *peer, const struct peer_question *question,
	       struct error *err) MUST_CHECK;
/* Until none of the peers has a request out. On cancel, and when time is up, the agents are told to
 * stop, and are waited for a while; one that gives no answer is killed. A TIMEOUT says which agent
 * it was, and what it was doing. The outcome of each is in peer->error; the return value is -1,
 * with the first of them, if any failed. */
int peer_wait(struct peer *const *peers, size_t count, const struct io_limit *limit,
	      struct error *err) MUST_CHECK;
/* Start and wait, for one. The reply is in peer->reply until the next request. */
int peer_call(struct peer *peer, const struct peer_question *question, const struct cancel *cancel,
	      struct error *err) MUST_CHECK;
/* The same, without bytes. Takes over members. */
int peer_ask(struct peer *peer, enum request what, json_t *members, double seconds,
	     const struct cancel *cancel, struct error *err) MUST_CHECK;
/* The same question to several at once, in this order. All are asked and waited for, whatever
 * becomes of the others: no reply of an earlier request is left. */
int peer_ask_all(struct peer *const *peers, size_t count, const struct peer_question *question,
		 const struct cancel *cancel, struct error *err) MUST_CHECK;
/* "bye", then the end: an agent that does not leave in time is killed. */
void peer_close(struct peer *peer);
/* Kills the agent: it is past talking to, and why says so. */
void peer_kill(struct peer *peer, const char *why);
/* Has it died while nothing was asked of it? Then it is no longer alive. */
void peer_check(struct peer *peer);

#endif
