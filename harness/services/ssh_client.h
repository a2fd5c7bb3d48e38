/* The driving end's side of the private OpenSSH server: a throwaway key, and a configuration that
 * names this server and takes nothing from the user's own. */
#ifndef LINEFILL_SERVICES_SSH_CLIENT_H
#define LINEFILL_SERVICES_SSH_CLIENT_H

#include "harness/api/xfer.h"
#include "harness/base/error.h"
#include "harness/base/io.h"
#include "harness/services/ssh_kind.h"

/* Owns the strings that its service member shows. */
struct ssh_client {
	const struct ssh_kind *kind;
	struct service service;
	char *strings[11];
	char negotiated_cipher[64], negotiated_mac[64]; /* as the preflight saw them */
};

/* What the listening end told about its server. */
struct ssh_server_facts {
	const struct ssh_kind *kind;
	const char *host;
	uint16_t port;
	const char *user, *host_key;
	const char *cipher, *mac;      /* "" is the tools' default */
	const char *program, *scratch; /* our binary and the agent's folder, at the server's end */
};

/* Makes the client's key pair in scratch if there is none, and reads the public half; the caller
 * frees. */
int ssh_client_key(const char *scratch, char **public_key, const struct io_limit *limit,
		   struct error *err) MUST_CHECK;
/* Writes known_hosts and ssh_config, and fills client->service. */
int ssh_client_setup(struct ssh_client *client, const char *scratch,
		     const struct ssh_server_facts *facts, struct error *err) MUST_CHECK;
/* Runs "true" on the server: it must answer, and print nothing. Records what was negotiated. A kind
 * that has no client to do that with is left to its transport, which sees for itself. */
int ssh_client_preflight(struct ssh_client *client, const struct io_limit *limit,
			 struct error *err) MUST_CHECK;
void ssh_client_free(struct ssh_client *client);
/* The last "kex: client->server cipher: X MAC: Y" in the log of ssh -v: a later key exchange, as
 * that of HPN-SSH when it switches to none, counts. */
int ssh_client_parse_log(const char *log, struct ssh_client *client, struct error *err) MUST_CHECK;

#endif
