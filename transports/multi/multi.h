/* What the files of multi share: the options, one end of a run, and its streams. See multi.c for
 * how it works. */
#ifndef LINEFILL_TRANSPORTS_MULTI_MULTI_H
#define LINEFILL_TRANSPORTS_MULTI_MULTI_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "harness/api/transport.h"
#include "transports/wire/gate.h"
#include "transports/wire/part_queue.h"
#include "transports/wire/rate_limit.h"
#include "transports/wire/tree_reader.h"
#include "transports/wire/tree_writer.h"

#define MULTI_STREAMS_MAX 64
/* Memory for contents at each end: a buffer a stream, and another one with compress or resume. Of
 * 64 streams these are 128 MiB. */
#define MULTI_BUFFER_BYTES (1u << 20)
/* How often one unit is sent before the line is given up. */
#define MULTI_TRIES_MAX 5u
/* How often one stream is replaced. */
#define MULTI_REVIVALS_MAX 8u
/* How long a stream may be away, in s. The end that connects gives up first. */
#define MULTI_CONNECT_AGAIN_S 4.0
#define MULTI_ACCEPT_AGAIN_S  6.0

struct multi_options {
	uint64_t streams, block, bytes;
	int checksum, compress; /* none or xxh3; zlib's level */
	int receive;            /* auto or read */
	bool memory, resume;
	double rate_bps;
	struct socket_options socket;
};

struct multi;

/* Source: what was sent and is not known to have arrived: at most a round. Units are numbered from
 * 0, as the sink counts its FOLDER, LINK and FILE records. */
struct multi_log {
	struct part_batch *batches;
	size_t count;
	uint64_t first; /* number of the first batch's first unit */
	uint64_t units;
};

/* One connection, the thread that serves it, and those that come after it. */
struct multi_stream {
	struct multi *multi;
	uint32_t index;
	bool running;
	pthread_t thread;
	struct channel channel;
	uint64_t io_calls; /* on all its connections; rests when the thread has ended */
	unsigned revivals;
	bool again;     /* already the first connection here replaces another */
	bool closing;   /* no other connection can take this one's place any more */
	bool told;      /* source: the sink has said why it failed */
	uint64_t round; /* sink: where the current round of units began */
	struct unit_coder *coder;
	struct tree_writer writer; /* source */
	struct tree_reader reader; /* sink */
	struct splice_sink splice; /* sink */
	struct multi_log log;      /* source */
	uint64_t *faulty;          /* source: room for the sink's states */
	/* Source: bytes, units and whole files that are known to have arrived. */
	uint64_t bytes, files, complete;
	/* Under the mutex of multi: */
	int fd;    /* -1 while there is none */
	int spare; /* listening end: the connection that replaces it; -1 */
};

/* One end of a run. */
struct multi {
	struct xfer *xfer;
	const struct multi_options *options;
	uint32_t count;
	int listener;             /* listening end */
	struct endpoint endpoint; /* connecting end: where the other one waits */
	struct multi_stream streams[MULTI_STREAMS_MAX];
	struct part_queue *queue;   /* source */
	struct split_files *splits; /* sink */
	struct rate_limit *rate;    /* source; NULL: none */
	uint64_t bytes, files;      /* totals, when all streams have ended */
	pthread_t gate;             /* listening end: lets in connections that replace others */
	bool gate_running;
	struct cancel gate_stop;

	pthread_mutex_t mutex; /* for what follows */
	pthread_cond_t changed;
	bool ready;  /* sink: all folders are there */
	bool rests;  /* source: stream 0 has ended, only the sink's answer is still to come on it */
	bool closed; /* sink: the source says that all has been sent */
	bool failed;
	struct error error; /* the first that says more than "the peer went away" */
};

/* This stream cannot go on: the others stop, too. */
void multi_fail(struct multi *multi, const struct error *why);
/* Why another stream failed, if one did. */
int multi_check(struct multi *multi, struct error *err) MUST_CHECK;
/* Waits, with the mutex held, until something below it changes or the seconds pass. */
void multi_wait_change(struct multi *multi, double seconds);
/* Takes this connection for the stream. */
void multi_use(struct multi_stream *stream, int fd);

/* multi_line.c: the connections. */
int multi_open_lines(struct multi *multi, struct error *err) MUST_CHECK; /* either end */
void multi_close_lines(struct multi *multi);
/* The connection broke with *err: gets another one in its place. 1, or 0 when there is nothing left
 * to come on it (sink), or -1 with the error. */
int multi_revive(struct multi_stream *stream, struct error *err) MUST_CHECK;

/* multi_source.c, multi_sink.c: one stream from its start to its end. */
int multi_source_serve(struct multi_stream *stream, struct error *err) MUST_CHECK;
int multi_sink_serve(struct multi_stream *stream, struct error *err) MUST_CHECK;
/* When all streams have ended well. */
int multi_source_close(struct multi *multi, struct error *err) MUST_CHECK;
int multi_sink_close(struct multi *multi, struct error *err) MUST_CHECK;

/* The ops that multi and multi-reverse have in common. */
extern const struct option_def multi_option_defs[];
int multi_probe(const struct transport *transport, struct probe *probe, struct error *err);
int multi_check_options(const struct transport *transport, const void *options,
			enum preserve preserve, struct error *err);
bool multi_memory(const void *options);
uint32_t multi_streams(const void *options);
int multi_prepare(struct xfer *xfer, struct error *err);
int multi_listen(struct xfer *xfer, struct endpoint *endpoint, struct error *err);
int multi_connect(struct xfer *xfer, const struct endpoint *endpoint, struct error *err);
int multi_send(struct xfer *xfer, struct error *err);
int multi_receive(struct xfer *xfer, struct error *err);
int multi_finish(struct xfer *xfer, struct error *err);
void multi_cleanup(struct xfer *xfer);

#define MULTI_CAPS                                                                         \
	(CAP_TWO_ENDED | CAP_STREAMS | CAP_SPLIT_FILE | CAP_SYMLINKS | CAP_EMPTY_FOLDERS | \
	 CAP_HOLES | CAP_ANY_NAME | CAP_EMPTY_TREE | CAP_RESUME)
#define MULTI_OPS                                                                       \
	.caps = MULTI_CAPS, .plain = true, .options = multi_option_defs,                \
	.options_size = sizeof(struct multi_options), .probe = multi_probe,             \
	.check = multi_check_options, .memory = multi_memory, .streams = multi_streams, \
	.prepare = multi_prepare, .listen = multi_listen, .connect = multi_connect,     \
	.send = multi_send, .receive = multi_receive, .finish = multi_finish,           \
	.cleanup = multi_cleanup

#endif
