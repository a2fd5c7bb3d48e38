/* A private OpenSSH server on the loopback with throwaway keys, for tests of what runs over SSH. */
#ifndef LINEFILL_TESTS_UNIT_TRANSPORTS_PRIVATE_SSHD_H
#define LINEFILL_TESTS_UNIT_TRANSPORTS_PRIVATE_SSHD_H

#include "harness/api/xfer.h"
#include "harness/base/child.h"
#include "harness/base/error.h"

struct private_sshd {
	struct service service;
	struct child child;
	char *strings[8]; /* what service points to */
};

/* Its files go into folder, which must be private. -1 with an error when there is no sshd. */
int private_sshd_start(struct private_sshd *sshd, const char *folder, struct error *err) MUST_CHECK;
/* The same on another address, which must outlive it. */
int private_sshd_start_at(struct private_sshd *sshd, const char *host, const char *folder,
			  struct error *err) MUST_CHECK;
void private_sshd_stop(struct private_sshd *sshd);

#endif
