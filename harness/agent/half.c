#include "harness/agent/half.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/agent/hostcpu.h"
#include "harness/base/cleanup.h"
#include "harness/base/log.h"
#include "harness/base/text.h"
#include "harness/protocol/link.h"

/* The listening half outwaits the driving one, which decides when time is up. */
#define LISTENER_SLACK_S 20
/* For arming, which may include letting go of as much memory as a host has. */
#define ARM_S 50
/* A worker that was told to stop gets this long before it is killed. */
#define STOP_PATIENCE_S 2
/* A worker that is through may clean up this long. */
#define CLEANUP_S 10
#define CLOSE_FDS 16

static bool is_driver(const struct half *half)
{
	return half->plan.transport->driver == half->plan.side;
}

/* To and from the other half: what fails names it. */
static int name_other(const struct half *half, struct error *err)
{
	return error_wrap(err, "the %s agent", half->plan.side == XFER_SOURCE ? "sink" : "source");
}

static int say(const struct half *half, enum link_word word, const struct io_limit *limit,
	       struct error *err)
{
	return link_say(half->link, word, limit, err) < 0 ? name_other(half, err) : 0;
}

static int hear(const struct half *half, enum link_word *word, const struct io_limit *limit,
		struct error *err)
{
	return link_hear(half->link, word, limit, err) < 0 ? name_other(half, err) : 0;
}

static bool all_at_least(const struct half *half, enum worker_stage stage)
{
	for (size_t i = 0; i < half->plan.instances; i++)
		if (half->workers[i].stage < stage)
			return false;
	return true;
}

/* The worker that failed first, or NULL. */
static const struct worker *first_failed(const struct half *half)
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

/* Waits for one event: hears workers; *link_ready says that the other half spoke. Pass NULL to
 * leave the link alone. */
static int wait_event(struct half *half, bool *link_ready, const struct io_limit *limit,
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

/* Until all workers have reached the stage; a worker's failure ends the wait with its error. */
static int wait_stage(struct half *half, enum worker_stage stage, const struct io_limit *limit,
		      struct error *err)
{
	while (!all_at_least(half, stage)) {
		if (wait_event(half, NULL, limit, err) < 0)
			return -1;
		const struct worker *failed = first_failed(half);
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
		/* The agent keeps the time; this only makes sure that a worker never waits for
		   ever. */
		.deadline_ns = clock_deadline_ns(plan->timeout_s + LISTENER_SLACK_S + 120),
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

static int start_workers(struct half *half, struct error *err)
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

static int open_link(struct half *half, uint16_t *link_port, const struct io_limit *limit,
		     struct error *err)
{
	if (is_driver(half)) {
		half->link = link_connect(&half->plan.link, &half->plan.token, limit, err);
		return half->link < 0 ? -1 : 0;
	}
	half->door = link_door_open(half->plan.bind_host, &half->plan.token, link_port, err);
	return half->door ? 0 : -1;
}

int half_prepare(struct half *half, struct half_plan *plan, uint16_t *link_port,
		 const struct io_limit *limit, struct error *err)
{
	*half = (struct half){ .plan = *plan, .link = -1 };
	*plan = (struct half_plan){ 0 };
	for (size_t i = 0; i < HALF_INSTANCES_MAX; i++)
		half->workers[i] = WORKER_NONE;
	size_t bytes = half->plan.instances * sizeof(*half->progress);
	half->progress =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (half->progress == MAP_FAILED) {
		half->progress = NULL;
		return error_system(err, "mmap");
	}
	/* The link first: a listening worker may serve its peer as soon as it is ready. */
	if (open_link(half, link_port, limit, err) < 0 || start_workers(half, err) < 0)
		return -1;
	return wait_stage(half, WORKER_READY, limit, err);
}

/* The last thing before go: memory that stays free for a second or two is the hypervisor's. */
static void let_go_of_memory(const struct half *half)
{
	if (half->plan.reserve)
		memory_reserve_release(half->plan.reserve);
}

void half_keep_door(struct half *half, int other)
{
	const struct io_limit patient = { .deadline_ns = CLOCK_NEVER };
	struct error err = { 0 };
	/* What is wrong now will be told by half_run, which goes on from here. */
	if (half->door && link_door_keep(half->door, other, &patient, &err) < 0)
		log_line(LOG_INFO, "%s", err.message);
}

/* One syncfs by the agent of the sink, alike for all transports. */
static int flush_sink(const struct half *half, struct error *err)
{
	if (half->plan.side != XFER_SINK || !half->plan.flush)
		return 0;
	AUTO_FD fd = open(half->plan.shares[0].root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || syncfs(fd) < 0)
		return error_system(err, "flush of %s", half->plan.shares[0].root);
	return 0;
}

/* Until the other half says something, or a worker fails. Workers that are merely done do not end
 * it, unless until_done. */
static int wait_other(struct half *half, bool until_done, const struct io_limit *limit,
		      enum link_word *word, struct error *err)
{
	*word = 0;
	for (;;) {
		bool link_ready = false;
		const struct worker *failed = first_failed(half);
		if (failed) {
			*err = failed->error;
			return -1;
		}
		if (until_done && all_at_least(half, WORKER_DONE))
			return 0;
		if (wait_event(half, &link_ready, limit, err) < 0)
			return -1;
		if (link_ready && !first_failed(half))
			return hear(half, word, limit, err);
	}
}

static int gave_up(struct error *err)
{
	return error_set(err, ERROR_PEER, 0, "the other end gave up");
}

/* ---- the driving half: the one place where a run is timed ---- */

struct timing {
	int64_t go_ns, end_ns;
	struct hostcpu before, after;
};

static int drive_workers(struct half *half, const struct io_limit *limit, struct error *err)
{
	enum link_word word = 0;
	for (size_t i = 0; i < half->plan.instances; i++)
		if (worker_go(&half->workers[i], err) < 0)
			return -1;
	if (wait_other(half, true, limit, &word, err) < 0)
		return -1;
	return word == 0 ? 0 : gave_up(err);
}

/* "Time is up" alone does not say whose time, and what to do. */
static int name_timeout(const struct half *half, struct error *err)
{
	if (err->kind != ERROR_TIMEOUT)
		return -1;
	return error_set(
		err, ERROR_TIMEOUT, 0,
		"time is up: the run took longer than its timeout of %g s ([study] timeout)",
		half->plan.timeout_s);
}

static int run_driver(struct half *half, const struct cancel *cancel, struct half_result *result,
		      struct timing *timing)
{
	struct error *err = &result->error;
	struct io_limit limit = { .deadline_ns = clock_deadline_ns(ARM_S), .cancel = cancel };
	enum link_word word = 0;
	if (say(half, LINK_ARM, &limit, err) < 0 || hear(half, &word, &limit, err) < 0)
		return -1;
	if (word != LINK_ARMED)
		return gave_up(err);
	let_go_of_memory(half);
	if (hostcpu_read(&timing->before, err) < 0)
		return -1;
	clock_utc_text(result->start_utc);
	timing->go_ns = clock_now_ns();
	limit.deadline_ns = timing->go_ns + (int64_t)(half->plan.timeout_s * (double)NS_PER_S);
	if (say(half, LINK_GO, &limit, err) < 0 || drive_workers(half, &limit, err) < 0 ||
	    flush_sink(half, err) < 0)
		return name_timeout(half, err);
	timing->end_ns = clock_now_ns();
	if (say(half, LINK_DONE, &limit, err) < 0 || hear(half, &word, &limit, err) < 0)
		return -1;
	/* The later of the driver's end and the sink's completion. */
	if (half->plan.side == XFER_SOURCE)
		timing->end_ns = clock_now_ns();
	if (word != LINK_COMPLETE)
		return gave_up(err);
	result->total_s = (double)(timing->end_ns - timing->go_ns) / (double)NS_PER_S;
	return hostcpu_read(&timing->after, err);
}

/* ---- the listening half ---- */

static int await_go(struct half *half, const struct cancel *cancel, struct usage *service_before,
		    struct error *err)
{
	struct io_limit limit = { .deadline_ns = clock_deadline_ns(ARM_S), .cancel = cancel };
	enum link_word word = 0;
	half->link = link_accept(half->door, &limit, err);
	if (half->link < 0 || hear(half, &word, &limit, err) < 0)
		return -1;
	if (word != LINK_ARM)
		return gave_up(err);
	if (half->plan.keeper && service_drain(half->plan.keeper, service_before, &limit, err) < 0)
		return -1;
	let_go_of_memory(half);
	if (say(half, LINK_ARMED, &limit, err) < 0 || hear(half, &word, &limit, err) < 0)
		return -1;
	return word == LINK_GO ? 0 : gave_up(err);
}

/* Those that move data themselves know it already, and may be gone. */
static void tell_driver_done(struct half *half)
{
	for (size_t i = 0; i < half->plan.instances; i++)
		if (half->workers[i].stage == WORKER_READY &&
		    worker_go(&half->workers[i], NULL) < 0)
			log_line(LOG_INFO, "a worker was through before the driver");
}

static int run_listener(struct half *half, const struct cancel *cancel, struct half_result *result,
			struct timing *timing)
{
	struct error *err = &result->error;
	struct usage service_before = { 0 };
	enum link_word word = 0;
	if (await_go(half, cancel, &service_before, err) < 0)
		return -1;
	timing->go_ns = clock_now_ns();
	clock_utc_text(result->start_utc);
	if (hostcpu_read(&timing->before, err) < 0)
		return -1;
	struct io_limit limit = { .deadline_ns = clock_deadline_ns(half->plan.timeout_s +
								   LISTENER_SLACK_S),
				  .cancel = cancel };
	if (wait_other(half, false, &limit, &word, err) < 0)
		return -1;
	if (word != LINK_DONE)
		return gave_up(err);
	tell_driver_done(half);
	/* A driver that has had enough of waiting says so. */
	if (wait_other(half, true, &limit, &word, err) < 0)
		return -1;
	if (word != 0)
		return gave_up(err);
	if (flush_sink(half, err) < 0)
		return -1;
	timing->end_ns = clock_now_ns();
	if (hostcpu_read(&timing->after, err) < 0 || say(half, LINK_COMPLETE, &limit, err) < 0)
		return -1;
	if (!half->plan.keeper)
		return 0;
	struct usage service_after;
	if (service_drain(half->plan.keeper, &service_after, &limit, err) < 0)
		return -1;
	result->usage = usage_sum(result->usage, usage_since(service_after, service_before));
	return 0;
}

/* ---- the end, for both ---- */

static bool any_lives(const struct half *half)
{
	for (size_t i = 0; i < half->plan.instances; i++)
		if (half->workers[i].fd >= 0 && half->workers[i].stage < WORKER_ENDED)
			return true;
	return false;
}

/* Workers end by themselves; if the run failed, they are asked to, and then made to. A second call
 * finds nothing to do. */
static void end_workers(struct half *half, bool failed)
{
	struct io_limit limit = { .deadline_ns =
					  clock_deadline_ns(failed ? STOP_PATIENCE_S : CLEANUP_S) };
	for (size_t i = 0; failed && i < half->plan.instances; i++)
		worker_stop(&half->workers[i]);
	while (any_lives(half))
		if (wait_event(half, NULL, &limit, NULL) < 0)
			break;
	for (size_t i = 0; i < half->plan.instances; i++)
		worker_end(&half->workers[i]);
	child_end_strays(half->plan.keep_pids, HALF_KEPT);
}

static void add_worker(const struct half *half, size_t i, int64_t go_ns, struct half_result *result)
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

void half_run(struct half *half, const struct cancel *cancel, struct half_result *result)
{
	struct timing timing = { 0 };
	*result = (struct half_result){
		.total_s = NAN, .setup_s = NAN, .host_pct = NAN, .host = { NAN, NAN, NAN, NAN }
	};
	int outcome = is_driver(half) ? run_driver(half, cancel, result, &timing)
				      : run_listener(half, cancel, result, &timing);
	if (outcome == 0) {
		result->error = (struct error){ 0 };
		result->host_pct = hostcpu_busy_pct(timing.before, timing.after);
		result->host =
			hostcpu_span(timing.before, timing.after,
				     (double)(timing.end_ns - timing.go_ns) / (double)NS_PER_S);
	} else {
		const struct io_limit moment = { .deadline_ns = clock_deadline_ns(1) };
		result->error_ns = clock_now_ns() - timing.go_ns;
		/* Whatever else went wrong, a server that died is the reason. */
		if (half->plan.keeper && service_check(half->plan.keeper, &result->error) < 0)
			result->error_ns = INT64_MIN;
		if (half->link >= 0 && say(half, LINK_FAILED, &moment, NULL) < 0)
			log_line(LOG_INFO, "the other agent could not be told of the failure");
	}
	if (half->link >= 0) {
		close(half->link);
		half->link = -1;
	}
	end_workers(half, outcome < 0);
	result->usage_known = all_at_least(half, WORKER_ENDED);
	for (size_t i = 0; i < half->plan.instances; i++)
		add_worker(half, i, timing.go_ns, result);
	const struct worker *failed = first_failed(half);
	if (outcome == 0 && failed)
		result->error = failed->error;
}

void half_plan_free(struct half_plan *plan)
{
	for (size_t i = 0; i < plan->instances && plan->shares; i++) {
		free(plan->shares[i].root);
		free(plan->shares[i].source_root);
		free(plan->shares[i].sink_root);
		free(plan->shares[i].scratch);
	}
	free(plan->shares);
	free(plan->options);
	free(plan->bind_host);
	free(plan->peer_host);
	free(plan->scratch);
	*plan = (struct half_plan){ 0 };
}

void half_close(struct half *half)
{
	end_workers(half, true);
	if (half->link >= 0)
		close(half->link);
	link_door_close(half->door);
	if (half->progress)
		munmap(half->progress, half->plan.instances * sizeof(*half->progress));
	half_plan_free(&half->plan);
	half->progress = NULL;
	half->door = NULL;
	half->link = -1;
}
