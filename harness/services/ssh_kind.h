/* The SSH servers that linefill can run privately, and how each is told what a study needs. Adding
 * one is a row and a function that writes its configuration. */
#ifndef LINEFILL_SERVICES_SSH_KIND_H
#define LINEFILL_SERVICES_SSH_KIND_H

#include <stdbool.h>

#include "harness/base/error.h"
#include "harness/base/io.h"
#include "harness/base/text.h"

#define SSH_KIND_ARGV 6

struct ssh_kind;

/* What a configuration is written from. The folder scratch holds host_key, authorized_keys (in the
 * form of OpenSSH) and an empty folder home. */
struct ssh_kind_setup {
	const struct ssh_kind *kind;
	const char *scratch, *id; /* of the agent's workspace */
	const char *user;
	const char *cipher, *mac; /* "" leaves the default */
	const char *linefill;     /* our own binary */
};

/* Always const. */
struct ssh_kind {
	const char *name; /* what a transport's needs say */
	const char *program, *package;
	const char *argv[SSH_KIND_ARGV]; /* after the program; the configuration's path follows */
	const char *test_flag; /* with it before argv the program only tries its configuration; or
				  NULL */
	const char *version_flag, *version_mark; /* how the version is asked, and where it starts */
	bool privsep_folder;                     /* as root it insists on /run/sshd */
	bool none_cipher;                        /* it knows the cipher "none" */
	const char
		*client; /* an ssh that can log in and run a command, for the preflight; or NULL */
	int (*configure)(const struct ssh_kind_setup *setup, struct text *config,
			 const struct io_limit *limit, struct error *err);
};

/* NULL when there is none of that name. */
const struct ssh_kind *ssh_kind_find(const char *name);

#endif
