/* One end's half of one run: its workers, the link to the other half, and its part of the
 * measuring. The driving half is the one place where a run is timed. Lives in the agent. Either end
 * may be the source.
 *
 *      driving half                 the link                   listening half
 *                                                  prepare:    workers are ready, where they
 *      prepare: workers are ready                              listen is published
 *      connects, with the token  -------------------------->   accepts
 *                                ------ ARM --------------->   baseline of the server's CPU
 *                                <----- ARMED --------------   lets go of its reserve of memory
 *  +-- the clock starts
 *  |                             ------ GO ---------------->   CPU of the host is read
 *  |   workers go  ========= data, past the agents ========>   workers move, or a server does
 *  |   workers are through, flush if this is the sink
 *  |                             ------ DONE -------------->   workers that only wait may end;
 *  |                                                           all are through, flush if this is
 *  |                             <----- COMPLETE -----------   the sink
 *  +-- the clock stops: here, or at DONE where the driving half is the sink
 *
 * A driving sink lets go of its reserve when it hears ARMED. FAILED, at any time and from either:
 * give up. So does one whose other half hangs up. */
#ifndef LINEFILL_AGENT_HALF_H
#define LINEFILL_AGENT_HALF_H

#include <stdbool.h>

#include "harness/agent/hostcpu.h"
#include "harness/agent/memory_reserve.h"
#include "harness/agent/worker.h"
#include "harness/api/transport.h"
#include "harness/base/clock.h"
#include "harness/base/text.h"
#include "harness/base/usage.h"
#include "harness/protocol/request.h"
#include "harness/services/service.h"

#define HALF_INSTANCES_MAX REQUEST_INSTANCES_MAX
#define HALF_KEPT          2

/* What one worker is given. */
struct half_share {
	const struct manifest *files;
	char *root; /* this end's folder of the share */
	char *source_root, *sink_root;
	char *scratch; /* the worker's own folder, in the run's */
	struct token token;
	struct endpoint endpoint; /* driving half: where its peer listens */
};

/* Everything that must be known beforehand. Strings and shares belong to the plan. */
struct half_plan {
	const struct transport *transport;
	enum xfer_side side;
	void *options; /* parsed */
	enum preserve preserve;
	double timeout_s;   /* from go */
	bool flush;         /* the sink's completion includes a syncfs */
	bool open_listener; /* see xfer */
	char *bind_host, *peer_host;
	char *scratch;             /* private folder of this run */
	struct half_share *shares; /* one a worker */
	size_t instances;
	struct token token;             /* of the link */
	struct endpoint link;           /* driving half: where the listening one waits */
	const struct service *service;  /* NULL: none is needed */
	struct service_keeper *keeper;  /* listening half: the service's, for its CPU; or NULL */
	pid_t keep_pids[HALF_KEPT];     /* children of the agent that outlive the run; -1: none */
	struct memory_reserve *reserve; /* to be let go just before go; or NULL */
	const int *close_fds;           /* the agent's own, ends with -1 */
};

/* What a half knows afterwards. Unknown numbers are NAN or negative. */
struct half_result {
	struct error error; /* kind NONE: complete */
	int64_t error_ns;   /* when it went wrong, after go; 0 when it did not */
	char start_utc[CLOCK_UTC_SIZE];
	double total_s;     /* driving half only */
	double setup_s;     /* sink only */
	struct usage usage; /* workers and service, go to completion */
	bool usage_known;
	double host_pct;
	struct hostcpu_span host;
	uint64_t progress_bytes; /* moved by our own code at this end, less what had to come again;
				    0 is unknown, as where a program does it */
	uint64_t unsent_bytes;   /* of them: never on the line, see xfer.h */
	uint64_t counted_bytes;
	uint64_t io_calls; /* 0 is unknown */
	uint32_t streams;
	char cipher[64], mac[64];
};

struct half {
	struct half_plan plan;
	struct worker workers[HALF_INSTANCES_MAX];
	struct xfer_progress *progress; /* one a worker, shared with them */
	struct link_door *door;         /* listening half; NULL at the other */
	int link;
};

/* Forks the workers and waits until all are ready. The half takes over the plan in every case; call
 * half_close afterwards, whatever happened. Listening half: then half->workers[i].endpoint and
 * *link_port say where to connect. */
int half_prepare(struct half *half, struct half_plan *plan, uint16_t *link_port,
		 const struct io_limit *limit, struct error *err) MUST_CHECK;
/* The command that the driving end will run, where the transport is a tool; else nothing is added.
 */
void half_command(const struct half *half, struct text *out);
/* Waits until `other` is readable, or until the other half has connected: for the time between
 * requests. Strangers who come meanwhile are heard and dropped. */
void half_keep_door(struct half *half, int other);
/* From go to completion. Always fills the result; limit's cancel stops the run. */
void half_run(struct half *half, const struct cancel *cancel, struct half_result *result);
/* For a plan that no half took over. */
void half_plan_free(struct half_plan *plan);
/* Ends what still runs and frees the plan. */
void half_close(struct half *half);

#endif
