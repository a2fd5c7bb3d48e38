#include "harness/agent/job.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/base/child.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"

_Noreturn static void run_in_child(const struct job *job, int writer, int64_t deadline_ns)
{
	static struct cancel cancel; /* lives as long as the process: a signal handler knows it */
	struct error err = { 0 };
	AUTO_FREE void *result = calloc(1, job->result_size + 1);
	if (!result)
		_exit(126);
	int outcome = -1;
	if (cancel_open(&cancel, &err) == 0 && cancel_on_signals(&cancel, &err) == 0) {
		struct io_limit limit = { .deadline_ns = deadline_ns, .cancel = &cancel };
		outcome = job->function(job->argument, result, &limit, &err);
	}
	const struct io_limit never = { .deadline_ns = CLOCK_NEVER };
	char name[32];
	if (outcome == 0)
		err = (struct error){ 0 };
	/* The agent does not ask a job to stop. */
	else if (cancel_signal(&cancel))
		error_set(&err, ERROR_SYSTEM, 0, "the process was killed by %s",
			  child_signal_name(cancel_signal(&cancel), name, sizeof(name)));
	else if (err.kind == ERROR_NONE)
		error_set(&err, ERROR_SYSTEM, 0, "failed without saying why");
	if (io_write_full(writer, &err, sizeof(err), &never, NULL) < 0 ||
	    io_write_full(writer, result, job->result_size, &never, NULL) < 0)
		_exit(126);
	_exit(0);
}

/* Ends the job; a broken pipe is told as what it means, the death of the process. */
static int job_failed(struct child *child, const struct job *job, struct error *err)
{
	int status = 0;
	char text[64];
	const struct io_limit moment = { .deadline_ns = clock_deadline_ns(1) };
	if (err->kind == ERROR_PEER && child_wait(child, &moment, &status, NULL) == 0)
		error_set(err, ERROR_SYSTEM, 0, "the process died: %s",
			  child_status_text(status, text, sizeof(text)));
	child_end(child);
	return error_wrap(err, "%s", job->name);
}

int job_run(const struct job *job, void *result, const struct io_limit *limit, struct error *err)
{
	struct error unwanted;
	int ends[2];
	err = err ? err : &unwanted;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_system(err, "pipe");
	AUTO_FD reader = ends[0];
	AUTO_FD writer = ends[1];
	if (io_set_nonblocking(reader, err) < 0)
		return -1;
	struct child child = CHILD_NONE;
	int side = child_fork(&child, err);
	if (side < 0)
		return -1;
	if (side == 0)
		run_in_child(job, writer, limit->deadline_ns);
	close(take_fd(&writer));
	struct error outcome = { 0 };
	int status = 0;
	if (io_read_full(reader, &outcome, sizeof(outcome), limit, err) < 0 ||
	    io_read_full(reader, result, job->result_size, limit, err) < 0 ||
	    child_wait(&child, limit, &status, err) < 0)
		return job_failed(&child, job, err);
	if (outcome.kind == ERROR_NONE)
		return 0;
	*err = outcome;
	/* What a copy or a source is like speaks for itself. */
	return outcome.kind == ERROR_INTEGRITY ? -1 : error_wrap(err, "%s", job->name);
}
