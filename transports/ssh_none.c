/* The whole tree over real SSH whose cipher is none once the keys are exchanged: what ssh costs
 * without encryption. Client: our build of libssh2; server: proftpd's mod_sftp, which `ssh` uses
 * too with server = proftpd, so that the pair differs in the cipher only. The source pushes. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/api/program.h"
#include "harness/api/transport.h"
#include "transports/ssh/ssh_push.h"
#include "transports/ssh/ssh_session.h"

struct ssh_none_options {
	int cipher, server;
	char mac[OPTION_TEXT_SIZE];
	struct socket_options socket;
};

static const char *const ciphers[] = { "none", NULL };
static const char *const servers[] = { "proftpd", NULL };

static const struct option_def ssh_none_option_defs[] = {
	{ .name = "cipher",
	  .type = OPTION_CHOICE,
	  .offset = offsetof(struct ssh_none_options, cipher),
	  .fallback = "none",
	  .choices = ciphers,
	  .plain = "none",
	  .help = "fixed; transport ssh has the others" },
	{ .name = "mac",
	  .type = OPTION_LIST,
	  .offset = offsetof(struct ssh_none_options, mac),
	  .fallback = "none",
	  .help = "none, or MACs to offer, best first, or tool-default: libssh2's own" },
	{ .name = "server",
	  .type = OPTION_CHOICE,
	  .offset = offsetof(struct ssh_none_options, server),
	  .fallback = "proftpd",
	  .choices = servers,
	  .help = "the private SSH server: the one that does the cipher none" },
	SOCKET_OPTION_ROWS(struct ssh_none_options),
	{ .name = NULL },
};

static const char *const ssh_none_needs[] = { "proftpd", NULL };

struct ssh_none {
	struct ssh_session *session;
	struct ssh_push push;
};

static int ssh_none_probe(const struct transport *transport, struct probe *probe, struct error *err)
{
	/* The listening end has no libssh2: a server runs there, and linefill in its session. */
	if (probe->side != transport->driver) {
		program_add_service(probe, transport->needs[0]);
		return 0;
	}
	ssh_session_version(probe->version, sizeof(probe->version));
	return ssh_session_check("none", "none", err);
}

/* "" leaves it to libssh2. */
static const char *wanted_mac(const struct ssh_none_options *options)
{
	return strcmp(options->mac, "tool-default") == 0 ? "" : options->mac;
}

static int ssh_none_check(const struct transport *transport, const void *options,
			  enum preserve preserve, struct error *err)
{
	const struct ssh_none_options *chosen = options;
	(void)transport;
	(void)preserve;
	/* Whether there is a none at all is the probe's question. */
	if (strcmp(chosen->mac, "none") == 0)
		return 0;
	return ssh_session_check("", wanted_mac(chosen), err);
}

static int ssh_none_prepare(struct xfer *xfer, struct error *err)
{
	struct ssh_none *none = calloc(1, sizeof(*none));
	if (!none)
		abort();
	xfer->private = none;
	if (!xfer->service)
		return error_set(err, ERROR_UNAVAILABLE, 0, "there is no private SSH server");
	xfer->report->streams = 1;
	return xfer->side == XFER_SOURCE ? ssh_push_init(&none->push, err) : 0;
}

static int ssh_none_connect(struct xfer *xfer, const struct endpoint *endpoint, struct error *err)
{
	const struct ssh_none_options *options = xfer->options;
	struct ssh_none *none = xfer->private;
	const struct ssh_target target = {
		.service = xfer->service,
		.cipher = "none",
		.mac = wanted_mac(options),
		.socket = &options->socket,
	};
	const struct io_limit limit = xfer_limit(xfer);
	(void)endpoint; /* the service says where */
	if (ssh_session_open(&none->session, &target, &limit, err) < 0)
		return -1;
	ssh_session_methods(none->session, xfer->report);
	return 0;
}

static int ssh_none_send(struct xfer *xfer, struct error *err)
{
	struct ssh_none *none = xfer->private;
	return ssh_push_tree(&none->push, none->session, xfer, err);
}

static void ssh_none_cleanup(struct xfer *xfer)
{
	struct ssh_none *none = xfer->private;
	if (!none)
		return;
	ssh_push_free(&none->push);
	ssh_session_close(none->session);
	free(none);
	xfer->private = NULL;
}

const struct transport transport_ssh_none = {
	.name = "ssh-none",
	.summary = "the whole tree over SSH with the cipher none, by libssh2 to a private proftpd",
	.driver = XFER_SOURCE,
	.needs = ssh_none_needs,
	.caps = CAP_SYMLINKS | CAP_EMPTY_FOLDERS | CAP_ANY_NAME | CAP_EMPTY_TREE,
	.plain = true,
	.options = ssh_none_option_defs,
	.options_size = sizeof(struct ssh_none_options),
	.probe = ssh_none_probe,
	.check = ssh_none_check,
	.prepare = ssh_none_prepare,
	.connect = ssh_none_connect,
	.send = ssh_none_send,
	.cleanup = ssh_none_cleanup,
};
