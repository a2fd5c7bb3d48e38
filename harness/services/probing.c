#include "harness/services/probing.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/child.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/io.h"
#include "harness/services/digest.h"

/* A probe keeps the limit by itself and says what hangs; this is for one that does not. */
#define SLACK_S 1.0

/* A process that asks one transport. */
struct asker {
	struct probing *asked; /* NULL: idle */
	struct child child;
	int fd; /* the answer comes from here */
	int64_t deadline_ns;
};

struct answer {
	struct probe probe;
	struct error error;
};

_Noreturn static void ask(const struct probing *asked, int fd)
{
	struct answer answer = { .probe = asked->probe };
	const struct io_limit limit = { .deadline_ns = CLOCK_NEVER };
	answer.probe.deadline_ns = clock_deadline_ns(PROBING_LIMIT_S);
	if (asked->transport->probe(asked->transport, &answer.probe, &answer.error) == 0)
		answer.error = (struct error){ 0 };
	for (size_t i = 0; i < answer.probe.program_count; i++)
		digest_program(&answer.probe.programs[i]);
	_exit(io_write_full(fd, &answer, sizeof(answer), &limit, NULL) < 0);
}

static int start(struct asker *asker, struct probing *asked, struct error *err)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_system(err, "pipe");
	AUTO_FD reader = ends[0];
	AUTO_FD writer = ends[1];
	int side = child_fork(&asker->child, err);
	if (side == 0)
		ask(asked, writer);
	if (side < 0)
		return -1;
	asker->asked = asked;
	asker->fd = take_fd(&reader);
	asker->deadline_ns = clock_deadline_ns(PROBING_LIMIT_S + SLACK_S);
	return 0;
}

static void stop(struct asker *asker)
{
	child_end(&asker->child);
	close(asker->fd);
	asker->asked = NULL;
}

/* It has said something, or died. An answer is smaller than what a pipe takes at once. */
static void hear(struct asker *asker)
{
	const struct io_limit limit = { .deadline_ns = asker->deadline_ns };
	struct probing *asked = asker->asked;
	struct answer answer;
	char text[64];
	int status = 0;
	if (io_read_full(asker->fd, &answer, sizeof(answer), &limit, NULL) == 0) {
		asked->probe = answer.probe;
		asked->error = answer.error;
	} else if (child_wait(&asker->child, &limit, &status, NULL) == 0) {
		error_set(&asked->error, ERROR_UNAVAILABLE, 0, "its probe died: %s",
			  child_status_text(status, text, sizeof(text)));
	}
	stop(asker);
}

/* Waits for an answer, a deadline or cancel; the idle are skipped. */
static int attend(struct asker askers[PROBING_AT_ONCE], const struct cancel *cancel,
		  struct error *err)
{
	struct pollfd polled[PROBING_AT_ONCE + 1];
	int64_t next_ns = CLOCK_NEVER;
	for (size_t i = 0; i < PROBING_AT_ONCE; i++) {
		const struct asker *asker = &askers[i];
		polled[i] =
			(struct pollfd){ .fd = asker->asked ? asker->fd : -1, .events = POLLIN };
		if (asker->asked && asker->deadline_ns < next_ns)
			next_ns = asker->deadline_ns;
	}
	polled[PROBING_AT_ONCE] =
		(struct pollfd){ .fd = cancel ? cancel->fd : -1, .events = POLLIN };
	if (poll(polled, PROBING_AT_ONCE + 1, clock_poll_ms(next_ns)) < 0 && errno != EINTR)
		return error_system(err, "poll");
	if (cancel_requested(cancel) || polled[PROBING_AT_ONCE].revents)
		return error_set(err, ERROR_CANCELLED, 0, "stopped on request");
	for (size_t i = 0; i < PROBING_AT_ONCE; i++) {
		struct asker *asker = &askers[i];
		if (!asker->asked)
			continue;
		if (polled[i].revents) {
			hear(asker);
		} else if (clock_now_ns() >= asker->deadline_ns) {
			error_set(&asker->asked->error, ERROR_UNAVAILABLE, 0,
				  "its probe gave no answer within %d s", PROBING_LIMIT_S);
			stop(asker);
		}
	}
	return 0;
}

static size_t count_busy(const struct asker askers[PROBING_AT_ONCE])
{
	size_t busy = 0;
	for (size_t i = 0; i < PROBING_AT_ONCE; i++)
		busy += askers[i].asked != NULL;
	return busy;
}

static void start_idle(struct asker askers[PROBING_AT_ONCE], struct probing *asked)
{
	for (size_t i = 0; i < PROBING_AT_ONCE; i++) {
		if (askers[i].asked)
			continue;
		/* Whatever keeps this one from being asked may pass for the next. */
		if (start(&askers[i], asked, &asked->error) == 0)
			return;
		asked->error.kind = ERROR_UNAVAILABLE;
		return;
	}
}

int probing_run(struct probing *all, size_t count, pid_t keep, const struct cancel *cancel,
		struct error *err)
{
	struct asker askers[PROBING_AT_ONCE] = { 0 };
	size_t next = 0;
	int result = child_adopt_orphans(err);
	while (result == 0 && (next < count || count_busy(askers) > 0)) {
		if (next < count && count_busy(askers) < PROBING_AT_ONCE)
			start_idle(askers, &all[next++]);
		else
			result = attend(askers, cancel, err);
	}
	for (size_t i = 0; i < PROBING_AT_ONCE; i++)
		if (askers[i].asked)
			stop(&askers[i]);
	child_end_strays(&keep, keep > 0 ? 1 : 0);
	return result;
}
