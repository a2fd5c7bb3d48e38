/* The whole tree through one SSH channel into our own receiver, which the study's private sshd
 * starts at the sink. The source pushes, with libssh2. */
#include <libssh2.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/api/transport.h"
#include "transports/ssh_receive.h"
#include "transports/ssh_session.h"
#include "transports/tree_writer.h"

#define BLOCK_BYTES (1u << 20)

struct ssh_options {
	char cipher[OPTION_TEXT_SIZE], mac[OPTION_TEXT_SIZE];
	struct socket_options socket;
};

static const struct option_def ssh_option_defs[] = {
	{ .name = "cipher",
	  .type = OPTION_LIST,
	  .offset = offsetof(struct ssh_options, cipher),
	  .fallback = "",
	  .plain = "none",
	  .help = "ciphers to offer, best first; none given: the study's" },
	{ .name = "mac",
	  .type = OPTION_LIST,
	  .offset = offsetof(struct ssh_options, mac),
	  .fallback = "",
	  .help = "MACs to offer, best first; none given: the study's" },
	SOCKET_OPTION_ROWS(struct ssh_options),
	{ .name = NULL },
};

static const char *const ssh_needs[] = { "sshd", NULL };

/* One end of a run. */
struct ssh {
	struct ssh_session *session; /* source, as are the next two */
	struct channel channel;
	struct tree_writer writer;
	struct ssh_receiver receiver; /* sink */
};

static int ssh_probe(const struct transport *transport, struct probe *probe, struct error *err)
{
	(void)transport;
	(void)err;
	snprintf(probe->version, sizeof(probe->version), "libssh2 %s", libssh2_version(0));
	return 0;
}

static int ssh_check(const struct transport *transport, const void *options, enum preserve preserve,
		     struct error *err)
{
	const struct ssh_options *chosen = options;
	(void)transport;
	(void)preserve;
	/* Whether data travels readable must be seen from the option's value alone. */
	if (strstr(chosen->cipher, "none") && strcmp(chosen->cipher, "none") != 0)
		return error_set(err, ERROR_CONFIG, 0, "cipher = %s: none must stand alone",
				 chosen->cipher);
	return ssh_session_check(chosen->cipher, chosen->mac, err);
}

static int ssh_prepare(struct xfer *xfer, struct error *err)
{
	struct ssh *ssh = calloc(1, sizeof(*ssh));
	if (!ssh)
		abort();
	ssh->receiver.status = -1;
	xfer->private = ssh;
	if (!xfer->service)
		return error_set(err, ERROR_UNAVAILABLE, 0, "there is no sshd");
	xfer->report->streams = 1;
	return xfer->side == XFER_SOURCE ? tree_writer_init(&ssh->writer, BLOCK_BYTES, err)
					 : ssh_receiver_open(&ssh->receiver, xfer, err);
}

/* The option wins over the study's setting. */
static const char *chosen(const char *option, const char *study)
{
	return option[0] ? option : study ? study : "";
}

static int show_token(struct xfer *xfer, struct error *err)
{
	struct ssh *ssh = xfer->private;
	unsigned char hello[WIRE_HELLO_BYTES];
	wire_hello_encode(hello, xfer->token, 0, 1);
	return ssh->channel.write(&ssh->channel, hello, sizeof(hello), err);
}

static int ssh_connect(struct xfer *xfer, const struct endpoint *endpoint, struct error *err)
{
	const struct ssh_options *options = xfer->options;
	struct ssh *ssh = xfer->private;
	const struct ssh_target target = {
		.service = xfer->service,
		.cipher = chosen(options->cipher, xfer->service->cipher),
		.mac = chosen(options->mac, xfer->service->mac),
		.socket = &options->socket,
	};
	const struct io_limit limit = xfer_limit(xfer);
	char id[SSH_RECEIVE_ID_SIZE];
	char command[96];
	(void)endpoint; /* the service says where */
	if (ssh_session_open(&ssh->session, &target, &limit, err) < 0)
		return -1;
	ssh_session_methods(ssh->session, xfer->report);
	ssh_receive_id(xfer->token, id);
	/* The one line that a shell sees: fixed words, and 16 hexadecimal digits of ours. */
	snprintf(command, sizeof(command), "exec \"$LINEFILL_PROGRAM\" receive %s", id);
	if (ssh_session_exec(ssh->session, command, &ssh->channel, err) < 0)
		return -1;
	return show_token(xfer, err);
}

static int ssh_send(struct xfer *xfer, struct error *err)
{
	struct ssh *ssh = xfer->private;
	struct error why = { 0 };
	if (tree_writer_start(&ssh->writer, xfer->root, &ssh->channel, xfer->progress, &why) == 0 &&
	    tree_writer_all(&ssh->writer, xfer->files, xfer->preserve, &why) == 0)
		return 0;
	tree_writer_fail(&ssh->writer, &why);
	ssh_session_explain(ssh->session, &why);
	*err = why;
	return -1;
}

static int ssh_receive_tree(struct xfer *xfer, struct error *err)
{
	struct ssh *ssh = xfer->private;
	return ssh_receiver_wait(&ssh->receiver, xfer, err);
}

static int ssh_finish(struct xfer *xfer, struct error *err)
{
	struct ssh *ssh = xfer->private;
	if (xfer->side == XFER_SINK)
		return 0;
	if (wire_answer_read(&ssh->channel, ssh->writer.bytes, ssh->writer.files, err) == 0)
		return 0;
	ssh_session_explain(ssh->session, err);
	return -1;
}

static void ssh_cleanup(struct xfer *xfer)
{
	struct ssh *ssh = xfer->private;
	if (!ssh)
		return;
	tree_writer_free(&ssh->writer);
	ssh_session_close(ssh->session);
	ssh_receiver_close(&ssh->receiver);
	free(ssh);
	xfer->private = NULL;
}

const struct transport transport_ssh = {
	.name = "ssh",
	.summary = "the whole tree through one SSH channel, by libssh2 into our own receiver",
	.driver = XFER_SOURCE,
	.needs = ssh_needs,
	.caps = CAP_TWO_ENDED | CAP_SYMLINKS | CAP_EMPTY_FOLDERS | CAP_HOLES | CAP_ANY_NAME |
		CAP_EMPTY_TREE,
	.options = ssh_option_defs,
	.options_size = sizeof(struct ssh_options),
	.probe = ssh_probe,
	.check = ssh_check,
	.prepare = ssh_prepare,
	.connect = ssh_connect,
	.send = ssh_send,
	.receive = ssh_receive_tree,
	.finish = ssh_finish,
	.cleanup = ssh_cleanup,
};
