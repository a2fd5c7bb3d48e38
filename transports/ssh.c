/* The whole tree through one SSH channel into our own receiver, which the study's private sshd
 * starts at the sink. The source pushes, with libssh2. With another server, which runs no program
 * of ours, by scp and SFTP: the encrypted half of a comparison with ssh-none. */
#include <libssh2.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/api/program.h"
#include "harness/api/transport.h"
#include "transports/ssh/ssh_push.h"
#include "transports/ssh/ssh_receive.h"
#include "transports/ssh/ssh_session.h"
#include "transports/wire/tree_writer.h"

#define BLOCK_BYTES (1u << 20)

enum ssh_with { WITH_SSHD, WITH_PROFTPD };
static const char *const servers[] = {
	[WITH_SSHD] = "sshd", [WITH_PROFTPD] = "proftpd", [WITH_PROFTPD + 1] = NULL
};

struct ssh_options {
	int server;
	bool compress;
	char cipher[OPTION_TEXT_SIZE], mac[OPTION_TEXT_SIZE];
	struct socket_options socket;
};

static const struct option_def ssh_option_defs[] = {
	{ .name = "cipher",
	  .type = OPTION_LIST,
	  .offset = offsetof(struct ssh_options, cipher),
	  .fallback = "",
	  .plain = "none",
	  .help = "ciphers to offer, best first; tool-default: libssh2's own; none given: the study's" },
	{ .name = "mac",
	  .type = OPTION_LIST,
	  .offset = offsetof(struct ssh_options, mac),
	  .fallback = "",
	  .help = "MACs to offer, best first; tool-default: libssh2's own; none given: the study's" },
	{ .name = "compress",
	  .type = OPTION_FLAG,
	  .offset = offsetof(struct ssh_options, compress),
	  .fallback = "no",
	  .help = "let SSH compress (zlib)" },
	{ .name = "server",
	  .type = OPTION_CHOICE,
	  .offset = offsetof(struct ssh_options, server),
	  .fallback = "sshd",
	  .choices = servers,
	  .help = "the private SSH server: OpenSSH with our receiver, or the one of ssh-none, by scp" },
	SOCKET_OPTION_ROWS(struct ssh_options),
	{ .name = NULL },
};

static const char *const ssh_needs[] = { "sshd", NULL };
static const char *const ssh_plain_twins[] = { "ssh-none", NULL };

/* One end of a run. */
struct ssh {
	struct ssh_session *session; /* source, as are the next two */
	struct channel channel;
	struct tree_writer writer;
	struct ssh_push push;         /* source, with a server other than sshd */
	struct ssh_receiver receiver; /* sink */
};

static int ssh_probe(const struct transport *transport, struct probe *probe, struct error *err)
{
	(void)err;
	/* The listening end has no libssh2: a server runs there, and linefill in its session. */
	if (probe->side != transport->driver) {
		program_add_service(probe, transport->needs[0]);
		return 0;
	}
	ssh_session_version(probe->version, sizeof(probe->version));
	return 0;
}

/* What libssh2 is held to: the option wins over the study's setting; "" leaves it its own order. */
static const char *chosen(const char *option, const char *study)
{
	if (strcmp(option, "tool-default") == 0)
		return "";
	return option[0] ? option : study ? study : "";
}

static int ssh_check(const struct transport *transport, const void *options, enum preserve preserve,
		     struct error *err)
{
	const struct ssh_options *asked = options;
	(void)transport;
	(void)preserve;
	/* Whether data travels readable must be seen from the option's value alone. */
	if (strstr(asked->cipher, "none") && strcmp(asked->cipher, "none") != 0)
		return error_set(err, ERROR_CONFIG, 0, "cipher = %s: none must stand alone",
				 asked->cipher);
	if (asked->server == WITH_SSHD &&
	    (strcmp(asked->cipher, "none") == 0 || strcmp(asked->mac, "none") == 0))
		return error_set(err, ERROR_UNSUPPORTED, 0,
				 "OpenSSH has no cipher or MAC none: server = proftpd has");
	return ssh_session_check(chosen(asked->cipher, NULL), chosen(asked->mac, NULL), err);
}

static bool has_receiver(const struct xfer *xfer)
{
	const struct ssh_options *options = xfer->options;
	return options->server == WITH_SSHD;
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
	if (!has_receiver(xfer))
		return xfer->side == XFER_SOURCE ? ssh_push_init(&ssh->push, err) : 0;
	return xfer->side == XFER_SOURCE ? tree_writer_init(&ssh->writer, BLOCK_BYTES, err)
					 : ssh_receiver_open(&ssh->receiver, xfer, err);
}

static int show_token(struct xfer *xfer, struct error *err)
{
	struct ssh *ssh = xfer->private;
	unsigned char hello[WIRE_HELLO_BYTES];
	wire_hello_encode(hello, xfer->token, 0, 1);
	return ssh->channel.write(&ssh->channel, hello, sizeof(hello), err);
}

static int start_receiver(struct xfer *xfer, struct error *err)
{
	struct ssh *ssh = xfer->private;
	char id[SSH_RECEIVE_ID_SIZE];
	char command[96];
	ssh_receive_id(xfer->token, id);
	/* The one line that a shell sees: fixed words, and 16 hexadecimal digits of ours. */
	snprintf(command, sizeof(command), "exec \"$LINEFILL_PROGRAM\" receive %s", id);
	if (ssh_session_exec(ssh->session, command, &ssh->channel, err) < 0)
		return -1;
	return show_token(xfer, err);
}

static int ssh_connect(struct xfer *xfer, const struct endpoint *endpoint, struct error *err)
{
	const struct ssh_options *options = xfer->options;
	struct ssh *ssh = xfer->private;
	const struct ssh_target target = {
		.service = xfer->service,
		.cipher = chosen(options->cipher, xfer->service->cipher),
		.mac = chosen(options->mac, xfer->service->mac),
		.compress = options->compress,
		.socket = &options->socket,
	};
	const struct io_limit limit = xfer_limit(xfer);
	(void)endpoint; /* the service says where */
	if (ssh_session_open(&ssh->session, &target, &limit, err) < 0)
		return -1;
	ssh_session_methods(ssh->session, xfer->report);
	return has_receiver(xfer) ? start_receiver(xfer, err) : 0;
}

static int ssh_send(struct xfer *xfer, struct error *err)
{
	struct ssh *ssh = xfer->private;
	struct error why = { 0 };
	if (!has_receiver(xfer))
		return ssh_push_tree(&ssh->push, ssh->session, xfer, err);
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
	/* A server without our receiver has taken everything when the source says so. */
	return has_receiver(xfer) ? ssh_receiver_wait(&ssh->receiver, xfer, err) : 0;
}

static int ssh_finish(struct xfer *xfer, struct error *err)
{
	struct ssh *ssh = xfer->private;
	if (xfer->side == XFER_SINK || !has_receiver(xfer))
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
	ssh_push_free(&ssh->push);
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
	.plain_twins = ssh_plain_twins,
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
