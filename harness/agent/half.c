#include "harness/agent/half.h"

#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/agent/half_workers.h"
#include "harness/agent/hostcpu.h"
#include "harness/base/cleanup.h"
#include "harness/base/log.h"
#include "harness/base/text.h"
#include "harness/protocol/link.h"

/* The listening half outwaits the driving one, which decides when time is up. */
#define LISTENER_SLACK_S 20
/* For arming, which may include letting go of as much memory as a host has. */
#define ARM_S 50

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
	if (open_link(half, link_port, limit, err) < 0 || half_workers_start(half, err) < 0)
		return -1;
	return half_workers_wait_stage(half, WORKER_READY, limit, err);
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
		const struct worker *failed = half_workers_failed(half);
		if (failed) {
			*err = failed->error;
			return -1;
		}
		if (until_done && half_workers_reached(half, WORKER_DONE))
			return 0;
		if (half_workers_wait(half, &link_ready, limit, err) < 0)
			return -1;
		if (link_ready && !half_workers_failed(half))
			return hear(half, word, limit, err);
	}
}

static int gave_up(struct error *err)
{
	return error_set(err, ERROR_PEER, LINK_GAVE_UP, "the other end gave up");
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
	half_workers_end(half, outcome < 0);
	result->usage_known = half_workers_reached(half, WORKER_ENDED);
	for (size_t i = 0; i < half->plan.instances; i++)
		half_workers_add(half, i, timing.go_ns, result);
	const struct worker *failed = half_workers_failed(half);
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
	half_workers_end(half, true);
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
