/* The workers of a half: started, waited for, ended, and added up. For half.c. */
#ifndef LINEFILL_AGENT_HALF_WORKERS_H
#define LINEFILL_AGENT_HALF_WORKERS_H

#include "harness/agent/half.h"

/* All of them are there, or further. */
bool half_workers_reached(const struct half *half, enum worker_stage stage);
/* The worker that failed first, or NULL. */
const struct worker *half_workers_failed(const struct half *half);
/* Waits for one event: hears workers; *link_ready says that the other half spoke. Pass NULL to
 * leave the link alone. */
int half_workers_wait(struct half *half, bool *link_ready, const struct io_limit *limit,
		      struct error *err) MUST_CHECK;
/* Until all workers have reached the stage; a worker's failure ends the wait with its error. */
int half_workers_wait_stage(struct half *half, enum worker_stage stage,
			    const struct io_limit *limit, struct error *err) MUST_CHECK;
/* Forks them as the plan says; each tells when it is ready. */
int half_workers_start(struct half *half, struct error *err) MUST_CHECK;
/* Workers end by themselves; if the run failed, they are asked to, and then made to. A second call
 * finds nothing to do. */
void half_workers_end(struct half *half, bool failed);
/* Adds what the i-th used, moved and reported. */
void half_workers_add(const struct half *half, size_t i, int64_t go_ns, struct half_result *result);

#endif
