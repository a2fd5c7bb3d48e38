/* The whole tree over one connection with TLS 1.3, in the format of tcp. The source pushes.
 *
 * Strangers are turned away before any cryptography, as by the other transports; the token itself
 * must not travel readable, so a value derived from it is shown at the gate. */
#include <openssl/crypto.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/api/transport.h"
#include "transports/tls/tls_session.h"
#include "transports/wire/gate.h"
#include "transports/wire/tls_secret.h"
#include "transports/wire/tree_reader.h"
#include "transports/wire/tree_writer.h"
#include "transports/wire/wire.h"

#define GATE_PURPOSE "linefill tls gate"

struct tls_options {
	uint64_t block;
	int cipher, ktls;
	struct socket_options socket;
};

enum { KTLS_AUTO, KTLS_OFF };
static const char *const ktls_choices[] = { "auto", "off", NULL };

static const struct option_def tls_option_defs[] = {
	{ .name = "cipher",
	  .type = OPTION_CHOICE,
	  .offset = offsetof(struct tls_options, cipher),
	  .fallback = "aes128-gcm",
	  .choices = tls_cipher_names,
	  .help = "the cipher suite of TLS 1.3" },
	{ .name = "ktls",
	  .type = OPTION_CHOICE,
	  .offset = offsetof(struct tls_options, ktls),
	  .fallback = "auto",
	  .choices = ktls_choices,
	  .help = "auto: the kernel encrypts where it can, and the row says so" },
	{ .name = "block",
	  .type = OPTION_SIZE,
	  .offset = offsetof(struct tls_options, block),
	  .fallback = "1MiB",
	  .unit = "bytes",
	  .min = 4096,
	  .max = 64 << 20,
	  .help = "bytes a read or write of a file moves at most" },
	SOCKET_OPTION_ROWS(struct tls_options),
	{ .name = NULL },
};

/* One end of a run. */
struct tls {
	int listener, fd;
	struct token gate_token;
	struct tls_session *session;
	struct channel channel;
	struct tree_writer writer; /* source */
	struct tree_reader reader; /* sink */
};

static int tls_probe(const struct transport *transport, struct probe *probe, struct error *err)
{
	(void)transport;
	(void)err;
	text_copy(probe->version, sizeof(probe->version), OpenSSL_version(OPENSSL_VERSION));
	return 0;
}

static int tls_prepare(struct xfer *xfer, struct error *err)
{
	const struct tls_options *options = xfer->options;
	struct tls *tls = calloc(1, sizeof(*tls));
	if (!tls)
		abort();
	const struct tls_terms terms = {
		.server = xfer->side == XFER_SINK,
		.ktls = options->ktls == KTLS_AUTO,
		.suite = tls_cipher_suites[options->cipher],
		.token = xfer->token,
	};
	tls->listener = tls->fd = -1;
	xfer->private = tls;
	xfer->report->streams = 1;
	if (tls_session_open(&tls->session, &terms, err) < 0 ||
	    tls_secret(xfer->token, GATE_PURPOSE, tls->gate_token.bytes, XFER_TOKEN_BYTES, err) < 0)
		return -1;
	return xfer->side == XFER_SOURCE ? tree_writer_init(&tls->writer, options->block, err)
					 : tree_reader_init(&tls->reader, options->block, err);
}

static struct gate_call tls_call(const struct xfer *xfer)
{
	const struct tls_options *options = xfer->options;
	const struct tls *tls = xfer->private;
	return (struct gate_call){
		.listener = tls->listener,
		.options = &options->socket,
		.token = &tls->gate_token,
		.limit = xfer_limit(xfer),
	};
}

static int tls_listen(struct xfer *xfer, struct endpoint *endpoint, struct error *err)
{
	const struct tls_options *options = xfer->options;
	struct tls *tls = xfer->private;
	return gate_listen(xfer->bind_host, &options->socket, &tls->listener, endpoint, err);
}

static int shake_hands(struct xfer *xfer, struct error *err)
{
	struct tls *tls = xfer->private;
	const struct io_limit limit = xfer_limit(xfer);
	if (tls_session_start(tls->session, tls->fd, &limit, &tls->channel, err) < 0)
		return -1;
	tls_session_report(tls->session, xfer->report);
	return 0;
}

static int tls_connect(struct xfer *xfer, const struct endpoint *endpoint, struct error *err)
{
	struct tls *tls = xfer->private;
	struct gate_call call = tls_call(xfer);
	if (gate_connect(&call, endpoint, &tls->fd, 1, err) < 0)
		return -1;
	return shake_hands(xfer, err);
}

static int tls_send(struct xfer *xfer, struct error *err)
{
	struct tls *tls = xfer->private;
	struct error why = { 0 };
	if (tree_writer_start(&tls->writer, xfer->root, &tls->channel, xfer->progress, &why) == 0 &&
	    tree_writer_all(&tls->writer, xfer->files, xfer->preserve, &why) == 0)
		return 0;
	tree_writer_fail(&tls->writer, &why);
	*err = why;
	return -1;
}

static int tls_receive(struct xfer *xfer, struct error *err)
{
	struct tls *tls = xfer->private;
	struct gate_call call = tls_call(xfer);
	struct error why = { 0 };
	if (gate_accept(&call, &tls->fd, 1, err) < 0 || shake_hands(xfer, err) < 0)
		return -1;
	if (tree_reader_start(&tls->reader, xfer, &tls->channel, &why) == 0 &&
	    tree_reader_run(&tls->reader, WIRE_END, &why) == 0)
		return 0;
	wire_answer_failure(&tls->channel, &why);
	channel_drain_socket(tls->fd, 1);
	*err = why;
	return -1;
}

/* The sink says what it has, the source waits for that. */
static int tls_finish(struct xfer *xfer, struct error *err)
{
	struct tls *tls = xfer->private;
	if (xfer->side == XFER_SOURCE)
		return wire_answer_read(&tls->channel, tls->writer.bytes, tls->writer.files, err);
	return wire_answer_send(&tls->channel, tls->reader.bytes, tls->reader.complete, err);
}

static void tls_cleanup(struct xfer *xfer)
{
	struct tls *tls = xfer->private;
	if (!tls)
		return;
	tree_writer_free(&tls->writer);
	tree_reader_free(&tls->reader);
	tls_session_close(tls->session);
	if (tls->fd >= 0)
		close(tls->fd);
	if (tls->listener >= 0)
		close(tls->listener);
	free(tls);
	xfer->private = NULL;
}

static const char *const tls_plain_twins[] = { "tcp", NULL };

const struct transport transport_tls = {
	.name = "tls",
	.summary = "the whole tree over one connection with TLS 1.3, by OpenSSL",
	.driver = XFER_SOURCE,
	.caps = CAP_TWO_ENDED | CAP_SYMLINKS | CAP_EMPTY_FOLDERS | CAP_HOLES | CAP_ANY_NAME |
		CAP_EMPTY_TREE,
	.plain_twins = tls_plain_twins,
	.options = tls_option_defs,
	.options_size = sizeof(struct tls_options),
	.probe = tls_probe,
	.prepare = tls_prepare,
	.listen = tls_listen,
	.connect = tls_connect,
	.send = tls_send,
	.receive = tls_receive,
	.finish = tls_finish,
	.cleanup = tls_cleanup,
};
