/* What an agent knows between requests, and the handlers of its requests. Private to agent*.c. */
#ifndef LINEFILL_AGENT_AGENT_STATE_H
#define LINEFILL_AGENT_AGENT_STATE_H

#include <stdbool.h>

#include "harness/agent/half.h"
#include "harness/agent/memory_reserve.h"
#include "harness/agent/source.h"
#include "harness/agent/workspace.h"
#include "harness/protocol/message.h"
#include "harness/protocol/request.h"
#include "harness/services/ssh_client.h"
#include "harness/services/ssh_server.h"

struct agent {
	int input, output;
	struct cancel cancel; /* its descriptor is the input */
	struct workspace workspace;
	enum xfer_side side;
	bool greeted; /* hello was said */
	bool leaving;
	int64_t started_ns; /* CLOCK_MONOTONIC */

	struct manifest whole;                  /* the dataset */
	char *dataset_root;                     /* source */
	struct source_marks marks, share_marks; /* source: of whole, and of all shares in a row */
	struct manifest *shares;                /* cut of whole; NULL while instances == 1 */
	size_t instances;                       /* 0: not cut yet */
	char **roots; /* one a share: at the source its folder, at the sink where its copy goes */
	char *copies; /* sink: the folder that holds all copies */

	bool server_running;
	struct ssh_server server;
	struct ssh_client client;
	struct service own_service; /* the server as workers at this, its own, end see it */

	bool half_active;
	struct half half;
	unsigned runs;                 /* so far: names the folders of runs */
	struct memory_reserve reserve; /* sink */
};

struct agent_request {
	const json_t *json;
	const void *bytes;
	size_t bytes_count;
	struct io_limit limit; /* from the request's deadline_s, and the agent's cancel */
};

/* What json carries was held to the table in harness/protocol/request.c. Each fills reply->json (an
 * object made by the caller) or fails with an error, which becomes the reply. */
typedef int agent_handler(struct agent *agent, const struct agent_request *request,
			  struct message *reply, struct error *err);

agent_handler agent_workspace, agent_dataset, agent_manifest_read, agent_manifest_write,
	agent_cache, agent_verify, agent_clean;                  /* agent_data.c */
agent_handler agent_shares;                                      /* agent_shares.c */
agent_handler agent_source;                                      /* agent_source.c */
agent_handler agent_ssh_key, agent_ssh_server, agent_ssh_client; /* agent_ssh.c */
agent_handler agent_prepare, agent_run, agent_end_run;           /* agent_run.c */
agent_handler agent_memory_probe, agent_memory_reserve;          /* agent_memory.c */

/* Empty: the source is what it was. A job's result. */
struct agent_source_change {
	char what[sizeof(((struct error *)0)->message)];
};
struct agent_look {
	const struct agent *agent;
	bool whole, shares; /* at which trees */
	bool take;          /* as source_take does */
	enum preserve preserve;
};
/* agent_source.c. A source that changed is no error. agent_look is for jobs, the other one makes a
 * job. */
int agent_look(const struct agent_look *look, struct agent_source_change *change,
	       const struct io_limit *limit, struct error *err) MUST_CHECK;
int agent_look_apart(const struct agent_look *look, struct agent_source_change *change,
		     const struct io_limit *limit, struct error *err) MUST_CHECK;
void agent_tell_change(const struct agent_source_change *change, json_t *reply);

/* A program for an answer, see request.c. */
json_t *agent_describe_program(const struct probe_program *program);
/* The share's manifest. */
const struct manifest *agent_share(const struct agent *agent, size_t i);
/* "preserve" of a request. */
enum preserve agent_preserve(const json_t *request);
void agent_forget_shares(struct agent *agent);
void agent_forget_run(struct agent *agent);
/* Takes the memory that the next copy needs, unless it is held. */
int agent_take_reserve(struct agent *agent, const struct io_limit *limit,
		       struct error *err) MUST_CHECK;
/* The agent's own descriptors, which its children close; ends with -1. */
#define AGENT_FDS 6
void agent_own_fds(const struct agent *agent, int fds[AGENT_FDS]);

#endif
