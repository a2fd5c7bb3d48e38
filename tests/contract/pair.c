#include "tests/contract/pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/clock.h"
#include "harness/base/random.h"

/* What the two processes and the test share. */
struct shared {
	struct pair_half half[2]; /* by enum xfer_side */
	int64_t go_ns;
};

static int prepare(struct xfer *xfer, struct endpoint *endpoint, struct error *err)
{
	const struct transport *transport = xfer->transport;
	if (transport->prepare(xfer, err) < 0)
		return -1;
	if (xfer->side != transport->driver && transport->listen)
		return transport->listen(xfer, endpoint, err);
	return 0;
}

static int move(struct xfer *xfer, const struct endpoint *endpoint, struct error *err)
{
	const struct transport *transport = xfer->transport;
	int (*act)(struct xfer *, struct error *) =
		xfer->side == XFER_SOURCE ? transport->send : transport->receive;
	if (xfer->side == transport->driver && transport->connect &&
	    transport->connect(xfer, endpoint, err) < 0)
		return -1;
	if (act && act(xfer, err) < 0)
		return -1;
	return transport->finish ? transport->finish(xfer, err) : 0;
}

/* The listener says where it is, the driver waits for that; a listener that failed says nothing. */
static int meet(const struct pair_spec *spec, enum xfer_side side, int link,
		struct endpoint *endpoint)
{
	if (side == spec->transport->driver) {
		if (read(link, endpoint, sizeof(*endpoint)) != (ssize_t)sizeof(*endpoint))
			return -1;
		if (spec->when_known)
			spec->when_known(endpoint, spec->context);
		return 0;
	}
	if (write(link, endpoint, sizeof(*endpoint)) != (ssize_t)sizeof(*endpoint))
		return -1;
	if (spec->when_listening)
		spec->when_listening(endpoint, spec->context);
	return 0;
}

/* A listening half that has nothing to move keeps its server until the driver is done. */
static void part(const struct pair_spec *spec, enum xfer_side side, int link)
{
	const struct transport *transport = spec->transport;
	char done = 0;
	bool idle = transport->driver == XFER_SOURCE ? !transport->receive : !transport->send;
	if (!idle)
		return;
	ssize_t n = side == transport->driver ? write(link, &done, 1) : read(link, &done, 1);
	if (n < 0)
		perror("pair");
}

static int run_half(const struct pair_spec *spec, struct xfer *xfer, int link,
		    struct shared *shared, struct error *err)
{
	struct endpoint endpoint = { .port = 0 };
	if (prepare(xfer, &endpoint, err) < 0)
		return -1;
	if (meet(spec, xfer->side, link, &endpoint) < 0)
		return error_set(err, ERROR_PEER, 0, "the other half did not get ready");
	if (xfer->side == spec->transport->driver)
		shared->go_ns = clock_now_ns();
	int result = move(xfer, &endpoint, err);
	part(spec, xfer->side, link);
	shared->half[xfer->side].seconds =
		(double)(clock_now_ns() - shared->go_ns) / (double)NS_PER_S;
	return result;
}

static void half(const struct pair_spec *spec, enum xfer_side side, const struct token *token,
		 int link, struct shared *shared)
{
	struct cancel cancel = CANCEL_NONE;
	struct error err = { 0 };
	void *options = calloc(1, spec->transport->options_size + 1);
	struct xfer xfer = {
		.transport = spec->transport,
		.side = side,
		.options = options,
		.files = spec->files,
		.root = side == XFER_SOURCE ? spec->source_root : spec->sink_root,
		.source_root = spec->source_root,
		.sink_root = spec->sink_root,
		.scratch = spec->scratch,
		.bind_host = spec->host ? spec->host : "127.0.0.1",
		.peer_host = spec->host ? spec->host : "127.0.0.1",
		.open_listener = spec->transport->caps & CAP_ANY_ADDRESS,
		.service = spec->service,
		.token = token,
		.preserve = spec->preserve,
		.deadline_ns = clock_deadline_ns(spec->seconds > 0 ? spec->seconds : 60),
		.progress = &shared->half[side].progress,
		.report = &shared->half[side].report,
		.cancel = &cancel,
	};
	if (option_defaults(spec->transport->options, options, &err) == 0 &&
	    (!spec->options ||
	     option_set_all(spec->transport->options, options, spec->options, &err) == 0)) {
		run_half(spec, &xfer, link, shared, &err);
		spec->transport->cleanup(&xfer);
	}
	shared->half[side].error = err;
	shared->half[side].usage = usage_of_process();
	free(options);
}

static pid_t start_half(const struct pair_spec *spec, enum xfer_side side,
			const struct token *token, const int link[2], struct shared *shared)
{
	fflush(NULL);
	pid_t pid = fork();
	if (pid != 0)
		return pid;
	close(link[side == XFER_SOURCE]);
	half(spec, side, token, link[side == XFER_SINK], shared);
	exit(0);
}

static int verdict(struct pair_result *result, struct error *err)
{
	struct pair_half *halves[2] = { &result->sink, &result->source };
	for (int i = 0; i < 2; i++)
		if (halves[i]->wait_status != 0)
			return error_set(err, ERROR_SYSTEM, halves[i]->wait_status,
					 "the %s's process ended with status 0x%x",
					 i ? "source" : "sink", (unsigned)halves[i]->wait_status);
	const struct error *first = &result->sink.error;
	if (first->kind == ERROR_NONE ||
	    (first->kind == ERROR_PEER && result->source.error.kind != ERROR_NONE))
		first = &result->source.error;
	*err = *first;
	return first->kind == ERROR_NONE ? 0 : -1;
}

int pair_run(const struct pair_spec *spec, struct pair_result *result, struct error *err)
{
	int link[2];
	struct token tokens[2];
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || socketpair(AF_UNIX, SOCK_STREAM, 0, link) < 0)
		return error_system(err, "pair");
	random_secret(tokens, sizeof(tokens));
	if (!spec->wrong_token)
		tokens[XFER_SOURCE] = tokens[XFER_SINK];
	pid_t pids[2];
	for (enum xfer_side side = XFER_SOURCE; side <= XFER_SINK; side++)
		pids[side] = start_half(spec, side, &tokens[side], link, shared);
	close(link[0]);
	close(link[1]);
	for (enum xfer_side side = XFER_SOURCE; side <= XFER_SINK; side++)
		if (waitpid(pids[side], &shared->half[side].wait_status, 0) < 0)
			return error_system(err, "waitpid");
	memcpy(&result->source, &shared->half[XFER_SOURCE], sizeof(result->source));
	memcpy(&result->sink, &shared->half[XFER_SINK], sizeof(result->sink));
	result->total_s = result->source.seconds > result->sink.seconds ? result->source.seconds
									: result->sink.seconds;
	munmap(shared, sizeof(*shared));
	return verdict(result, err);
}
