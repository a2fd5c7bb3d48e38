/* Long work of an agent (make a dataset, verify a copy) in a process of its own: it can be stopped,
 * its memory goes with it, and a crash is an error instead of the end of the agent. */
#ifndef LINEFILL_AGENT_JOB_H
#define LINEFILL_AGENT_JOB_H

#include <stddef.h>

#include "harness/base/error.h"
#include "harness/base/io.h"

/* Runs in the child. result is job.result_size bytes, zeroed, and is what the caller gets back. */
typedef int job_function(const void *argument, void *result, const struct io_limit *limit,
			 struct error *err);

struct job {
	const char *name; /* for messages */
	job_function *function;
	const void *argument;
	size_t result_size;
};

/* Waits for the job; limit's cancel kills it. result may be NULL when result_size is 0. */
int job_run(const struct job *job, void *result, const struct io_limit *limit,
	    struct error *err) MUST_CHECK;

#endif
