#include "tests/unit/transports/tool_worker.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/clock.h"

static int move(struct xfer *xfer, const struct endpoint *endpoint, struct error *err)
{
	const struct transport *transport = xfer->transport;
	if (endpoint && transport->connect && transport->connect(xfer, endpoint, err) < 0)
		return -1;
	int (*op)(struct xfer *, struct error *) =
		xfer->side == XFER_SOURCE ? transport->send : transport->receive;
	if (op(xfer, err) < 0)
		return -1;
	return transport->finish ? transport->finish(xfer, err) : 0;
}

static void work(const struct xfer *given, const struct endpoint *endpoint,
		 struct tool_outcome *outcome)
{
	struct xfer xfer = *given;
	struct xfer_progress progress = { 0 };
	xfer.progress = &progress;
	xfer.report = &outcome->report;
	outcome->result = xfer.transport->prepare(&xfer, &outcome->err);
	int64_t start = clock_now_ns();
	if (outcome->result == 0)
		outcome->result = move(&xfer, endpoint, &outcome->err);
	outcome->drive_ns = clock_now_ns() - start;
	xfer.transport->cleanup(&xfer);
	outcome->usage = usage_of_process();
}

struct tool_outcome tool_worker_drive(const struct xfer *xfer, const struct endpoint *endpoint)
{
	struct tool_outcome *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
					   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		abort();
	shared->result = -1;
	error_set(&shared->err, ERROR_SYSTEM, 0, "the worker died");
	pid_t pid = fork();
	if (pid < 0)
		abort();
	if (pid == 0) {
		shared->err = (struct error){ 0 };
		work(xfer, endpoint, shared);
		_exit(0);
	}
	int status = 0;
	waitpid(pid, &status, 0);
	struct tool_outcome outcome = *shared;
	munmap(shared, sizeof(*shared));
	return outcome;
}
