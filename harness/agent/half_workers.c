#include "harness/agent/half_workers.h"

#include <errno.h>
#include <poll.h>

#include "harness/base/child.h"
#include "harness/base/log.h"
#include "harness/protocol/link.h"

/* A worker that was told to stop gets this long before it is killed. */
#define STOP_PATIENCE_S 2
/* A worker that is through may clean up this long. */
#define CLEANUP_S 10
/* The agent keeps the time; this only makes sure that a worker never waits for ever. */
#define WORKER_SLACK_S 140
#define CLOSE_FDS      16

bool half_workers_reached(const struct half *half, enum worker_stage stage)
{
	for (size_t i = 0; i < half->plan.instances; i++)
		if (half->workers[i].stage < stage)
			return false;
	return true;
}

const struct worker *half_workers_failed(const struct half *half)
{
	const struct worker *first = NULL;
	for (size_t i = 0; i < half->plan.instances; i++) {
		const struct worker *worker = &half->workers[i];
		if (worker->error.kind != ERROR_NONE &&
		    (!first || worker->done_ns < first->done_ns))
			first = worker;
	}
	return first;
}

int half_workers_wait(struct half *half, bool *link_ready, const struct io_limit *limit,
		      struct error *err)
{
	struct pollfd polled[2 * HALF_INSTANCES_MAX + 2];
	size_t count = half->plan.instances;
	for (size_t i = 0; i < count; i++) {
		const struct worker *worker = &half->workers[i];
		bool ended = worker->stage == WORKER_ENDED;
		polled[2 + i] = (struct pollfd){ .fd = ended ? -1 : worker->fd, .events = POLLIN };
		polled[2 + count + i] =
			(struct pollfd){ .fd = ended ? -1 : worker->child.fd, .events = POLLIN };
	}
	polled[0] = (struct pollfd){ .fd = link_ready ? half->link : -1, .events = POLLIN };
	polled[1] =
		(struct pollfd){ .fd = limit->cancel ? limit->cancel->fd : -1, .events = POLLIN };
	int ready = poll(polled, 2 * count + 2, clock_poll_ms(limit->deadline_ns));
	if (ready < 0)
		return errno == EINTR ? 0 : error_system(err, "poll");
	if (ready == 0)
		return error_set(err, ERROR_TIMEOUT, 0, "time is up");
	if (polled[1].revents)
		return error_set(err, ERROR_CANCELLED, 0, "stopped on request");
	for (size_t i = 0; i < count; i++)
		if (polled[2 + i].revents || polled[2 + count + i].revents)
			worker_listen(&half->workers[i]);
	if (link_ready)
		*link_ready = polled[0].revents != 0;
	return 0;
}

int half_workers_wait_stage(struct half *half, enum worker_stage stage,
			    const struct io_limit *limit, struct error *err)
{
	while (!half_workers_reached(half, stage)) {
		if (half_workers_wait(half, NULL, limit, err) < 0)
			return -1;
		const struct worker *failed = half_workers_failed(half);
		if (failed) {
			*err = failed->error;
			return -1;
		}
	}
	return 0;
}

static struct xfer worker_xfer(const struct half *half, size_t i)
{
	const struct half_plan *plan = &half->plan;
	const struct half_share *share = &plan->shares[i];
	return (struct xfer){
		.transport = plan->transport,
		.side = plan->side,
		.options = plan->options,
		.files = share->files,
		.root = share->root,
		.source_root = share->source_root,
		.sink_root = share->sink_root,
		.scratch = share->scratch,
		.bind_host = plan->bind_host,
		.peer_host = plan->peer_host,
		.open_listener = plan->open_listener,
		.service = plan->service,
		.token = &share->token,
		.preserve = plan->preserve,
		.deadline_ns = clock_deadline_ns(plan->timeout_s + WORKER_SLACK_S),
		.progress = &half->progress[i],
	};
}

void half_command(const struct half *half, struct text *out)
{
	struct error err = { 0 };
	struct xfer xfer = worker_xfer(half, 0);
	if (xfer.transport->command && xfer.transport->command(&xfer, out, &err) < 0)
		log_line(LOG_INFO, "%s", err.message);
}

/* What workers have no business with: a door that they hold open would never be shut. */
static void fill_close_fds(const struct half *half, int fds[CLOSE_FDS])
{
	size_t count = 0;
	for (const int *fd = half->plan.close_fds; fd && *fd >= 0 && count < CLOSE_FDS - 3; fd++)
		fds[count++] = *fd;
	if (half->link >= 0)
		fds[count++] = half->link;
	if (half->door)
		fds[count++] = link_door_listener(half->door);
	fds[count] = -1;
}

int half_workers_start(struct half *half, struct error *err)
{
	int close_fds[CLOSE_FDS];
	fill_close_fds(half, close_fds);
	for (size_t i = 0; i < half->plan.instances; i++) {
		struct xfer xfer = worker_xfer(half, i);
		half->workers[i].endpoint = half->plan.shares[i].endpoint;
		if (worker_start(&half->workers[i], &xfer, close_fds, err) < 0)
			return -1;
	}
	return 0;
}

static bool any_lives(const struct half *half)
{
	for (size_t i = 0; i < half->plan.instances; i++)
		if (half->workers[i].fd >= 0 && half->workers[i].stage < WORKER_ENDED)
			return true;
	return false;
}

void half_workers_end(struct half *half, bool failed)
{
	struct io_limit limit = { .deadline_ns =
					  clock_deadline_ns(failed ? STOP_PATIENCE_S : CLEANUP_S) };
	for (size_t i = 0; failed && i < half->plan.instances; i++)
		worker_stop(&half->workers[i]);
	while (any_lives(half))
		if (half_workers_wait(half, NULL, &limit, NULL) < 0)
			break;
	for (size_t i = 0; i < half->plan.instances; i++)
		worker_end(&half->workers[i]);
	child_end_strays(half->plan.keep_pids, HALF_KEPT);
}

void half_workers_add(const struct half *half, size_t i, int64_t go_ns, struct half_result *result)
{
	const struct worker *worker = &half->workers[i];
	const struct xfer_progress *progress = &half->progress[i];
	result->usage = usage_sum(result->usage, worker->usage);
	result->progress_bytes += progress->bytes;
	result->unsent_bytes += progress->unsent_bytes;
	result->counted_bytes += worker->report.counted_bytes;
	result->io_calls += worker->report.io_calls;
	result->streams += worker->report.streams;
	if (worker->report.cipher[0])
		text_copy(result->cipher, sizeof(result->cipher), worker->report.cipher);
	if (worker->report.mac[0])
		text_copy(result->mac, sizeof(result->mac), worker->report.mac);
	int64_t first_ns = progress->first_byte_ns;
	if (half->plan.side != XFER_SINK || first_ns == 0 || first_ns < go_ns)
		return;
	double setup_s = (double)(first_ns - go_ns) / (double)NS_PER_S;
	if (!(result->setup_s <= setup_s))
		result->setup_s = setup_s;
}
