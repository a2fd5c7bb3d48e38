#include "transports/tool/tool_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/child.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/said.h"

#define STAGES_MAX 2
#define TAIL_BYTES 8192

/* The end of what was read from a pipe. */
struct tail {
	int fd; /* the reading end, -1 once closed */
	size_t length;
	bool cut; /* its beginning is lost */
	char bytes[TAIL_BYTES + 1];
};

struct stage {
	const char *const *argv;
	struct child child;
	int status; /* valid once child.pid < 0 */
	bool killed;
	struct tail output, error;
};

struct pipeline {
	struct stage stages[STAGES_MAX];
	size_t count;
	const struct io_limit *limit;
};

static void tail_add(struct tail *tail, const char *bytes, size_t count)
{
	tail->cut = tail->cut || tail->length + count > TAIL_BYTES;
	if (count > TAIL_BYTES) {
		bytes += count - TAIL_BYTES;
		count = TAIL_BYTES;
	}
	size_t keep = TAIL_BYTES - count < tail->length ? TAIL_BYTES - count : tail->length;
	memmove(tail->bytes, tail->bytes + tail->length - keep, keep);
	memcpy(tail->bytes + keep, bytes, count);
	tail->length = keep + count;
	tail->bytes[tail->length] = '\0';
}

static void tail_close(struct tail *tail)
{
	if (tail->fd >= 0)
		close(tail->fd);
	tail->fd = -1;
}

/* Reads what is there now; closes at the end of the stream. */
static void tail_drain(struct tail *tail)
{
	char buffer[16384];
	while (tail->fd >= 0) {
		ssize_t n = read(tail->fd, buffer, sizeof(buffer));
		if (n > 0)
			tail_add(tail, buffer, (size_t)n);
		else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		else if (n == 0 || errno != EINTR)
			tail_close(tail);
	}
}

/* A pipe whose reading end goes to tail; returns the writing end. */
static int tail_open(struct tail *tail, struct error *err)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_system(err, "pipe");
	tail->fd = ends[0];
	if (io_set_nonblocking(ends[0], err) == 0)
		return ends[1];
	close(ends[1]);
	return -1;
}

/* output is where its standard output goes, or -1 to keep the tail of it. */
static int stage_start(struct stage *stage, const struct tool_command *command, int input,
		       int output, struct error *err)
{
	AUTO_FD own_output = -1;
	AUTO_FD error = tail_open(&stage->error, err);
	if (error < 0)
		return -1;
	if (output < 0) {
		own_output = tail_open(&stage->output, err);
		if (own_output < 0)
			return -1;
	}
	const struct child_spec spec = { .argv = stage->argv,
					 .env = command->env,
					 .input = input,
					 .output = output < 0 ? own_output : output,
					 .error = error };
	return child_start(&spec, &stage->child, err);
}

/* Our own standard input is never a tool's. */
static int input_of(const struct tool_command *command)
{
	return command->input > 0 ? command->input : -1;
}

static int pipeline_start(struct pipeline *pipeline, const struct tool_command *command,
			  struct error *err)
{
	struct stage *stages = pipeline->stages;
	if (!command->into)
		return stage_start(&stages[0], command, input_of(command), -1, err);
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_system(err, "pipe");
	AUTO_FD reader = ends[0];
	AUTO_FD writer = ends[1];
	if (stage_start(&stages[0], command, input_of(command), writer, err) < 0)
		return -1;
	close(take_fd(&writer)); /* else the second never sees the end */
	return stage_start(&stages[1], command, reader, -1, err);
}

static bool stage_runs(const struct stage *stage)
{
	return stage->child.pid > 0;
}

static bool stage_failed(const struct stage *stage)
{
	return !stage_runs(stage) && stage->status != 0;
}

static bool pipeline_runs(const struct pipeline *pipeline)
{
	return stage_runs(&pipeline->stages[0]) || stage_runs(&pipeline->stages[1]);
}

/* Reaps what has ended. A first half whose second half failed has nobody to write to. */
static int reap(struct pipeline *pipeline, struct error *err)
{
	const struct io_limit now = { .deadline_ns = CLOCK_NEVER };
	for (size_t i = 0; i < pipeline->count; i++) {
		struct stage *stage = &pipeline->stages[i];
		struct pollfd ended = { .fd = stage->child.fd, .events = POLLIN };
		if (!stage_runs(stage) || poll(&ended, 1, 0) <= 0)
			continue;
		if (child_wait(&stage->child, &now, &stage->status, err) < 0)
			return -1;
	}
	struct stage *first = &pipeline->stages[0];
	if (stage_failed(&pipeline->stages[1]) && stage_runs(first) && !first->killed) {
		kill(-first->child.pid, SIGKILL);
		first->killed = true;
	}
	return 0;
}

/* Sleeps until something happens: output, an end, cancel or the deadline. */
static int pipeline_wait(const struct pipeline *pipeline, struct error *err)
{
	struct pollfd polled[1 + 3 * STAGES_MAX];
	nfds_t count = 0;
	const struct cancel *cancel = pipeline->limit->cancel;
	polled[count++] = (struct pollfd){ .fd = cancel ? cancel->fd : -1, .events = POLLIN };
	for (size_t i = 0; i < pipeline->count; i++) {
		const struct stage *stage = &pipeline->stages[i];
		const int fds[] = { stage->child.fd, stage->output.fd, stage->error.fd };
		for (size_t j = 0; j < ARRAY_SIZE(fds); j++)
			polled[count++] = (struct pollfd){ .fd = fds[j], .events = POLLIN };
	}
	int ready = poll(polled, count, clock_poll_ms(pipeline->limit->deadline_ns));
	if (ready < 0 && errno != EINTR)
		return error_system(err, "poll");
	if (cancel_requested(cancel) || (ready > 0 && polled[0].revents))
		return error_set(err, ERROR_CANCELLED, 0, "stopped on request");
	if (ready == 0)
		return error_set(err, ERROR_TIMEOUT, 0, "still running at the deadline, killed");
	return 0;
}

static void pipeline_drain(struct pipeline *pipeline)
{
	for (size_t i = 0; i < pipeline->count; i++) {
		tail_drain(&pipeline->stages[i].output);
		tail_drain(&pipeline->stages[i].error);
	}
}

static void pipeline_end(struct pipeline *pipeline)
{
	for (size_t i = 0; i < STAGES_MAX; i++) {
		child_end(&pipeline->stages[i].child);
		tail_close(&pipeline->stages[i].output);
		tail_close(&pipeline->stages[i].error);
	}
}

/* It may hold zeros: what follows one is not shown anyway. */
static void tail_mask(struct tail *tail, const char *secret)
{
	said_mask(tail->bytes, secret);
	tail->length = strlen(tail->bytes);
}

/* The one to blame. The first half dies of a closed pipe, or by our hand, when the second fails. */
static const struct stage *guilty(const struct pipeline *pipeline)
{
	const struct stage *first = &pipeline->stages[0];
	const struct stage *second = &pipeline->stages[1];
	bool dragged =
		first->killed || (WIFSIGNALED(first->status) && WTERMSIG(first->status) == SIGPIPE);
	if (stage_failed(second) && (!stage_failed(first) || dragged))
		return second;
	return stage_failed(first) ? first : NULL;
}

static int pipeline_verdict(const struct pipeline *pipeline, struct error *err)
{
	const struct stage *stage = guilty(pipeline);
	if (!stage)
		return 0;
	char status[64];
	AUTO_TEXT said = { 0 };
	said_add(stage->error.bytes, stage->error.cut, &said);
	if (!said.length)
		said_add(stage->output.bytes, stage->output.cut, &said);
	int code = WIFEXITED(stage->status) ? WEXITSTATUS(stage->status) : 0;
	return error_set(err, ERROR_TOOL, code, "%s: %s%s", child_program_name(stage->argv[0]),
			 child_status_text(stage->status, status, sizeof(status)),
			 text_string(&said));
}

int tool_process_run(const struct tool_command *command, const struct io_limit *limit,
		     struct error *err)
{
	struct pipeline pipeline = { .count = command->into ? 2 : 1, .limit = limit };
	const char *const *const argv[STAGES_MAX] = { command->run, command->into };
	for (size_t i = 0; i < STAGES_MAX; i++) {
		struct stage *stage = &pipeline.stages[i];
		stage->argv = argv[i];
		stage->child = CHILD_NONE;
		stage->output.fd = stage->error.fd = -1;
	}
	int result = pipeline_start(&pipeline, command, err);
	while (result == 0 && pipeline_runs(&pipeline)) {
		result = pipeline_wait(&pipeline, err);
		pipeline_drain(&pipeline);
		if (result < 0)
			error_wrap(err, "%s", child_program_name(command->run[0]));
		else
			result = reap(&pipeline, err);
	}
	pipeline_drain(&pipeline);
	pipeline_end(&pipeline);
	child_end_strays(NULL, 0);
	for (size_t i = 0; i < pipeline.count; i++) {
		tail_mask(&pipeline.stages[i].output, command->secret);
		tail_mask(&pipeline.stages[i].error, command->secret);
	}
	if (result < 0 || pipeline_verdict(&pipeline, err) < 0)
		return -1;
	if (command->said) {
		const struct stage *last = &pipeline.stages[pipeline.count - 1];
		text_add(command->said,
			 last->output.length ? last->output.bytes : last->error.bytes);
	}
	return 0;
}
