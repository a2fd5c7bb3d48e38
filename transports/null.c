/* Moves nothing over a wire: tests the harness itself. It sleeps, burns CPU, fails, crashes or
 * hangs where it is told to. With copy=yes the sink copies the source's folder, which must lie on
 * the same machine, so that a run can be verified; flip, truncate and lose spoil that copy, which
 * verification must notice. */
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "harness/api/transport.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "transports/wire/local_copy.h"

#define COPY_BYTES (1u << 20)

enum null_stage {
	STAGE_NONE,
	STAGE_PREPARE,
	STAGE_CONNECT,
	STAGE_SEND,
	STAGE_RECEIVE,
	STAGE_FINISH
};
enum null_end { END_NONE, END_SOURCE, END_SINK };

static const char *const stage_names[] = { "none",    "prepare", "connect", "send",
					   "receive", "finish",  NULL };
static const char *const end_names[] = { "none", "source", "sink", NULL };

struct null_options {
	double prepare_s, connect_s, send_s, receive_s;
	double burn_source_s, burn_sink_s;
	int fail;        /* enum null_stage */
	int crash, hang; /* enum null_end */
	uint64_t bytes;
	bool copy, flip, truncate, lose, miscount;
};

#define SECONDS_ROW(key, text)                                                                     \
	{                                                                                          \
		.name = #key, .type = OPTION_NUMBER, .offset = offsetof(struct null_options, key), \
		.fallback = "0", .unit = "s", .max = 86400, .help = text                           \
	}
#define FLAG_ROW(key, text)                                                                      \
	{                                                                                        \
		.name = #key, .type = OPTION_FLAG, .offset = offsetof(struct null_options, key), \
		.fallback = "no", .help = text                                                   \
	}
#define CHOICE_ROW(key, words, text)                                                               \
	{                                                                                          \
		.name = #key, .type = OPTION_CHOICE, .offset = offsetof(struct null_options, key), \
		.fallback = "none", .choices = words, .help = text                                 \
	}

static const struct option_def null_option_defs[] = {
	SECONDS_ROW(prepare_s, "sleep so long in prepare, which is not timed, at both ends"),
	SECONDS_ROW(connect_s, "sleep so long in connect"),
	SECONDS_ROW(send_s, "sleep so long at the source"),
	SECONDS_ROW(receive_s, "sleep so long at the sink"),
	SECONDS_ROW(burn_source_s, "burn so much CPU at the source"),
	SECONDS_ROW(burn_sink_s, "burn so much CPU at the sink"),
	CHOICE_ROW(fail, stage_names, "fail at this step"),
	CHOICE_ROW(crash, end_names, "abort the process of this end"),
	CHOICE_ROW(hang, end_names, "let this end hang, deaf to everything but SIGKILL"),
	{ .name = "bytes",
	  .type = OPTION_SIZE,
	  .offset = offsetof(struct null_options, bytes),
	  .fallback = "0",
	  .unit = "bytes",
	  .help = "how many bytes the sink claims to have counted" },
	FLAG_ROW(copy, "copy the tree on the one machine, so that there is something to verify"),
	FLAG_ROW(flip, "with copy: change one byte"),
	FLAG_ROW(truncate, "with copy: cut one byte off a file"),
	FLAG_ROW(lose, "with copy: leave a file out"),
	FLAG_ROW(miscount, "with copy: count one byte more than was moved"),
	{ .name = NULL },
};

static int null_probe(const struct transport *transport, struct probe *probe, struct error *err)
{
	(void)transport;
	(void)err;
	text_copy(probe->version, sizeof(probe->version), "built-in");
	return 0;
}

static int null_check(const struct transport *transport, const void *options,
		      enum preserve preserve, struct error *err)
{
	const struct null_options *chosen = options;
	(void)transport;
	(void)preserve;
	if ((chosen->flip || chosen->truncate || chosen->lose || chosen->miscount) && !chosen->copy)
		return error_set(
			err, ERROR_CONFIG, 0,
			"flip, truncate, lose and miscount spoil a copy: they need copy=yes");
	return 0;
}

static bool null_memory(const void *options)
{
	return !((const struct null_options *)options)->copy;
}

/* Sleeps, but wakes on cancel and at the deadline. */
static int rest(const struct xfer *xfer, double seconds, struct error *err)
{
	struct io_limit limit = xfer_limit(xfer);
	int64_t until = clock_deadline_ns(seconds);
	if (seconds <= 0)
		return 0;
	if (until > limit.deadline_ns)
		return io_wait(-1, POLLIN, &limit, err);
	limit.deadline_ns = until;
	struct error slept = { 0 };
	if (io_wait(-1, POLLIN, &limit, &slept) < 0 && slept.kind != ERROR_TIMEOUT) {
		*err = slept;
		return -1;
	}
	return 0;
}

static double cpu_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / (double)NS_PER_S;
}

static int burn(const struct xfer *xfer, double seconds, struct error *err)
{
	double until = cpu_s() + seconds;
	while (seconds > 0 && cpu_s() < until) {
		if (cancel_requested(xfer->cancel))
			return error_set(err, ERROR_CANCELLED, 0, "stopped on request");
		if (clock_now_ns() >= xfer->deadline_ns)
			return error_set(err, ERROR_TIMEOUT, 0, "the deadline passed");
		for (volatile int spin = 0; spin < 10000; spin++)
			;
	}
	return 0;
}

static void hang(void)
{
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	for (;;)
		pause();
}

static int fail_at(const struct xfer *xfer, enum null_stage stage, struct error *err)
{
	const struct null_options *options = xfer->options;
	if (options->fail != (int)stage)
		return 0;
	return error_set(err, ERROR_SYSTEM, 0, "failed in %s, as asked", stage_names[stage]);
}

/* What both ends do when their time to move data has come. */
static int act(const struct xfer *xfer, enum null_stage stage, struct error *err)
{
	const struct null_options *options = xfer->options;
	bool source = xfer->side == XFER_SOURCE;
	int me = source ? END_SOURCE : END_SINK;
	if (rest(xfer, source ? options->send_s : options->receive_s, err) < 0 ||
	    burn(xfer, source ? options->burn_source_s : options->burn_sink_s, err) < 0)
		return -1;
	if (options->crash == me)
		abort();
	if (options->hang == me)
		hang();
	return fail_at(xfer, stage, err);
}

static int null_prepare(struct xfer *xfer, struct error *err)
{
	const struct null_options *options = xfer->options;
	if (rest(xfer, options->prepare_s, err) < 0)
		return -1;
	return fail_at(xfer, STAGE_PREPARE, err);
}

static int null_connect(struct xfer *xfer, const struct endpoint *endpoint, struct error *err)
{
	const struct null_options *options = xfer->options;
	(void)endpoint;
	if (rest(xfer, options->connect_s, err) < 0)
		return -1;
	return fail_at(xfer, STAGE_CONNECT, err);
}

static int null_send(struct xfer *xfer, struct error *err)
{
	return act(xfer, STAGE_SEND, err);
}

static int copy_tree(const struct xfer *xfer, struct error *err)
{
	const struct null_options *options = xfer->options;
	struct local_copy copy;
	local_copy_init(&copy, COPY_BYTES);
	copy.spoil = (struct local_copy_spoil){ options->flip, options->truncate, options->lose };
	int result = local_copy_run(&copy, xfer, err);
	local_copy_free(&copy);
	xfer_progress_add(xfer->progress, options->miscount);
	return result;
}

static int null_receive(struct xfer *xfer, struct error *err)
{
	const struct null_options *options = xfer->options;
	if (act(xfer, STAGE_RECEIVE, err) < 0)
		return -1;
	if (options->copy)
		return copy_tree(xfer, err);
	xfer->report->counted_bytes = options->bytes;
	return 0;
}

static int null_finish(struct xfer *xfer, struct error *err)
{
	return fail_at(xfer, STAGE_FINISH, err);
}

static void null_cleanup(struct xfer *xfer)
{
	(void)xfer; /* it holds nothing */
}

const struct transport transport_null = {
	.name = "null",
	.summary = "moves nothing over a wire: tests the harness itself",
	.driver = XFER_SOURCE,
	.caps = CAP_TWO_ENDED | CAP_MEMORY | CAP_SYMLINKS | CAP_EMPTY_FOLDERS | CAP_HOLES |
		CAP_ANY_NAME | CAP_EMPTY_TREE | CAP_CEILING,
	.options = null_option_defs,
	.options_size = sizeof(struct null_options),
	.probe = null_probe,
	.check = null_check,
	.memory = null_memory,
	.prepare = null_prepare,
	.connect = null_connect,
	.send = null_send,
	.receive = null_receive,
	.finish = null_finish,
	.cleanup = null_cleanup,
};
