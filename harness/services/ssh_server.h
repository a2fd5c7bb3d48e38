/* The study's private OpenSSH server at the listening end: own host key, one authorised throwaway
 * key, nothing of the system's configuration. The same code as root and as an ordinary user, who
 * can only log in as itself. */
#ifndef LINEFILL_SERVICES_SSH_SERVER_H
#define LINEFILL_SERVICES_SSH_SERVER_H

#include "harness/base/error.h"
#include "harness/base/io.h"
#include "harness/base/text.h"
#include "harness/services/service.h"
#include "harness/services/ssh_kind.h"

struct ssh_server {
	struct service_keeper keeper;
	const struct ssh_kind *kind;
	char *host_key;    /* the public one, "ssh-ed25519 AAAA..." */
	char user[64];     /* who may log in */
	char version[128]; /* of the program */
	/* Must outlive the keeper. */
	char *program, *config, *log_file;
};

struct ssh_server_spec {
	const struct ssh_kind *kind;
	const char *host;           /* literal address to listen on */
	const char *authorized_key; /* the client's public key */
	const char *cipher, *mac;   /* "" leaves the server's default */
	const char *scratch;        /* a private folder for keys, configuration and log */
	const char *id;             /* the run's mark, see harness/api/run_mark.h */
	const char *linefill;       /* our own binary, absolute: LINEFILL_PROGRAM of the sessions */
	const int *close_fds;       /* ends with -1 */
};

/* A folder of the system's that this kind of server insists on, and that must be there while it
 * runs; NULL: none. */
const char *ssh_server_needs_folder(const struct ssh_kind *kind);
int ssh_server_start(struct ssh_server *server, const struct ssh_server_spec *spec,
		     const struct io_limit *limit, struct error *err) MUST_CHECK;
void ssh_server_stop(struct ssh_server *server);
/* The last lines of its log, for the agent's own. */
void ssh_server_log_tail(const struct ssh_server *server, struct text *out);

/* Makes an ed25519 key pair without passphrase: path and path.pub. UNAVAILABLE for a user without a
 * name. */
int ssh_make_key(const char *path, const struct io_limit *limit, struct error *err) MUST_CHECK;

#endif
