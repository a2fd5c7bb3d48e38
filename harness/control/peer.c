#include "harness/control/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/log.h"
#include "harness/base/random.h"
#include "harness/base/said.h"
#include "harness/control/launcher.h"

#define PEERS_MAX 64
/* An agent that was told to stop has this long to undo what it was doing. */
#define CANCEL_S 20
/* Agents remove data when they leave. */
#define BYE_S       120
#define OWN_SLACK_S 10
#define SEND_S      30
/* Of a dying agent's, in bytes. */
#define LAST_WORDS_MAX 4096

static int64_t log_size(const struct peer *peer)
{
	struct stat status;
	return peer->log_file && stat(peer->log_file, &status) == 0 ? status.st_size : 0;
}

int peer_launch(struct peer *peer, enum xfer_side side, const char *log_file, struct error *err)
{
	char id[64];
	*peer = PEER_NONE;
	peer->side = side;
	peer->name = side == XFER_SOURCE ? "source" : "sink";
	random_secret_hex(id, 6);
	peer->log_file = strdup(log_file);
	if (!peer->log_file)
		abort();
	peer->log_seen = log_size(peer);
	if (launcher_local(id, log_file, &peer->child, &peer->fd, err) < 0) {
		free(peer->log_file);
		peer->log_file = NULL;
		return error_wrap(err, "%s", peer->name);
	}
	peer->alive = true;
	return 0;
}

/* What it wrote on standard error since its last answer: why it died, if it could say so. */
static void last_words(const struct peer *peer, struct text *words)
{
	char said[LAST_WORDS_MAX + 1];
	int64_t end = log_size(peer);
	int64_t start = peer->log_seen;
	if (!peer->log_file)
		return;
	if (end - start > LAST_WORDS_MAX)
		start = end - LAST_WORDS_MAX;
	AUTO_FD fd = open(peer->log_file, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : pread(fd, said, LAST_WORDS_MAX, (off_t)start);
	if (n <= 0)
		return;
	said[n] = '\0';
	said_add(said, start > peer->log_seen, words);
}

static void record_death(struct peer *peer, const char *how)
{
	char now[CLOCK_UTC_SIZE];
	clock_utc_text(now);
	snprintf(peer->death, sizeof(peer->death), "%s: %.400s", now, how);
}

static void peer_died(struct peer *peer)
{
	char text[64];
	int status = 0;
	const struct io_limit moment = { .deadline_ns = clock_deadline_ns(1) };
	bool known = child_wait(&peer->child, &moment, &status, NULL) == 0;
	child_end(&peer->child);
	if (peer->fd >= 0)
		close(peer->fd);
	peer->fd = -1;
	peer->alive = peer->waiting = false;
	AUTO_TEXT words = { 0 };
	last_words(peer, &words);
	error_set(&peer->error, ERROR_PEER, 0, "the %s agent died%s%s%s", peer->name,
		  known ? ": " : "", known ? child_status_text(status, text, sizeof(text)) : "",
		  text_string(&words));
	record_death(peer, peer->error.message);
}

int peer_start(struct peer *peer, const struct peer_question *question, struct error *err)
{
	struct message message = { .json = question->members ? question->members : message_object(),
				   .bytes = question->bytes,
				   .bytes_count = question->bytes_count };
	const struct io_limit limit = { .deadline_ns = clock_deadline_ns(SEND_S) };
	struct error own = { 0 };
	request_finish(message.json, question->what, question->seconds);
	peer->asked = question->what;
	message_free(&peer->reply);
	int outcome = -1;
	if (!peer->alive)
		error_set(&own, ERROR_PEER, 0, "the %s agent is gone", peer->name);
	else
		outcome = message_send(peer->fd, &message, &limit, &own);
	json_decref(message.json);
	if (outcome < 0 && peer->alive) {
		peer_died(peer);
		own = peer->error;
	}
	peer->error = own;
	peer->waiting = outcome == 0;
	if (outcome < 0 && err)
		*err = own;
	return outcome;
}

static void take_reply(struct peer *peer)
{
	const struct io_limit limit = { .deadline_ns = clock_deadline_ns(SEND_S) };
	struct error err = { 0 };
	if (message_receive(peer->fd, &peer->reply, &limit, &err) <= 0) {
		peer_died(peer);
		return;
	}
	peer->waiting = false;
	peer->log_seen = log_size(peer);
	if (request_check_answer(peer->asked, peer->reply.json, &peer->error) < 0) {
		message_free(&peer->reply);
		error_wrap(&peer->error, "%s", peer->name);
	} else if (message_to_error(&peer->reply, &peer->error) < 0) {
		log_line(LOG_INFO, "%s: %s", peer->name, peer->error.message);
	}
}

static void tell_to_stop(struct peer *peer)
{
	const struct io_limit limit = { .deadline_ns = clock_deadline_ns(SEND_S) };
	struct message message = { .json = message_object() };
	request_finish(message.json, REQUEST_CANCEL, SEND_S);
	if (message_send(peer->fd, &message, &limit, NULL) < 0)
		peer_died(peer);
	message_free(&message);
}

static size_t count_waiting(struct peer *const *peers, size_t count)
{
	size_t waiting = 0;
	for (size_t i = 0; i < count; i++)
		waiting += peers[i]->waiting;
	return waiting;
}

/* One turn of the loop; *stopping is set when the agents were told to stop. */
static int wait_once(struct peer *const *peers, size_t count, struct io_limit *limit,
		     bool *stopping)
{
	struct pollfd polled[PEERS_MAX + 1];
	for (size_t i = 0; i < count; i++)
		polled[i] = (struct pollfd){ .fd = peers[i]->waiting ? peers[i]->fd : -1,
					     .events = POLLIN };
	polled[count] =
		(struct pollfd){ .fd = limit->cancel ? limit->cancel->fd : -1, .events = POLLIN };
	int ready = poll(polled, count + 1, clock_poll_ms(limit->deadline_ns));
	if (ready < 0)
		return errno == EINTR ? 0 : -1;
	if (ready == 0 && *stopping)
		return -1;
	if (ready == 0 || polled[count].revents) {
		/* Time is up or the user wants to stop: the same for the agents. */
		for (size_t i = 0; i < count; i++)
			if (peers[i]->waiting)
				tell_to_stop(peers[i]);
		*stopping = true;
		*limit = (struct io_limit){ .deadline_ns = clock_deadline_ns(CANCEL_S) };
		return 0;
	}
	for (size_t i = 0; i < count; i++)
		if (polled[i].revents)
			take_reply(peers[i]);
	return 0;
}

/* It hears nobody any more. */
static void give_up(struct peer *peer, double waited_s)
{
	struct error reason = { 0 };
	error_set(&reason, ERROR_TIMEOUT, 0,
		  "the %s agent gave no answer for %.0f s while %s, and was killed", peer->name,
		  waited_s, request_doing(peer->asked));
	peer_kill(peer, reason.message);
	peer->error = reason;
}

/* Time was up, by its clock or by ours: whose, and for what? */
static int name_timeout(const struct peer *peer, struct error *err)
{
	const struct error said = *err;
	return error_set(err, ERROR_TIMEOUT, 0, "the %s agent took too long while %s%s%s",
			 peer->name, request_doing(peer->asked),
			 said.kind == ERROR_TIMEOUT ? ": " : "",
			 said.kind == ERROR_TIMEOUT ? said.message : "");
}

int peer_wait(struct peer *const *peers, size_t count, const struct io_limit *limit,
	      struct error *err)
{
	struct io_limit current = *limit;
	const int64_t start_ns = clock_now_ns();
	bool stopping = false;
	if (count > PEERS_MAX)
		return error_set(err, ERROR_SYSTEM, 0, "more than %d agents", PEERS_MAX);
	while (count_waiting(peers, count) > 0) {
		if (wait_once(peers, count, &current, &stopping) == 0)
			continue;
		for (size_t i = 0; i < count; i++)
			if (peers[i]->waiting)
				give_up(peers[i],
					(double)(clock_now_ns() - start_ns) / (double)NS_PER_S);
	}
	for (size_t i = 0; i < count; i++) {
		if (peers[i]->error.kind == ERROR_NONE)
			continue;
		*err = peers[i]->error;
		if ((err->kind == ERROR_CANCELLED && !cancel_requested(limit->cancel)) ||
		    (err->kind == ERROR_TIMEOUT && peers[i]->alive))
			return name_timeout(peers[i], err);
		return -1;
	}
	return 0;
}

static struct io_limit own_limit(double seconds, const struct cancel *cancel)
{
	return (struct io_limit){ .deadline_ns = clock_deadline_ns(seconds + OWN_SLACK_S),
				  .cancel = cancel };
}

int peer_ask_all(struct peer *const *peers, size_t count, const struct peer_question *question,
		 const struct cancel *cancel, struct error *err)
{
	const struct io_limit limit = own_limit(question->seconds, cancel);
	struct error first = { 0 };
	for (size_t i = 0; i < count; i++) {
		struct peer_question copied = *question;
		copied.members = question->members ? json_deep_copy(question->members) : NULL;
		/* Those behind must lose their old replies, too: peer_wait tells of this one. */
		if (peer_start(peers[i], &copied, &first) < 0)
			log_line(LOG_INFO, "%s", first.message);
	}
	json_decref(question->members);
	return peer_wait(peers, count, &limit, err);
}

int peer_call(struct peer *peer, const struct peer_question *question, const struct cancel *cancel,
	      struct error *err)
{
	struct peer *peers[] = { peer };
	const struct io_limit limit = own_limit(question->seconds, cancel);
	return peer_start(peer, question, err) < 0 ? -1 : peer_wait(peers, 1, &limit, err);
}

int peer_ask(struct peer *peer, enum request what, json_t *members, double seconds,
	     const struct cancel *cancel, struct error *err)
{
	const struct peer_question question = { .what = what,
						.members = members,
						.seconds = seconds };
	return peer_call(peer, &question, cancel, err);
}

void peer_kill(struct peer *peer, const char *why)
{
	if (peer->child.pid > 0)
		kill(peer->child.pid, SIGKILL);
	peer_died(peer);
	record_death(peer, why);
}

void peer_check(struct peer *peer)
{
	struct pollfd ended = { .fd = peer->child.fd, .events = POLLIN };
	if (peer->alive && poll(&ended, 1, 0) > 0)
		peer_died(peer);
}

void peer_close(struct peer *peer)
{
	const struct io_limit limit = { .deadline_ns = clock_deadline_ns(BYE_S) };
	struct error err = { 0 };
	int status = 0;
	if (peer->alive && peer_ask(peer, REQUEST_BYE, NULL, BYE_S, NULL, &err) < 0)
		log_line(LOG_WARNING, "%s: %s", peer->name, err.message);
	if (peer->fd >= 0)
		close(peer->fd); /* it leaves at the end of input at the latest */
	peer->fd = -1;
	peer->alive = false;
	if (peer->child.pid > 0 && child_wait(&peer->child, &limit, &status, NULL) < 0)
		child_end(&peer->child);
	message_free(&peer->reply);
	free(peer->log_file);
	peer->log_file = NULL;
}
