/* What must not happen by accident: a listener that lets anyone in on a network, and a user's own
 * data sent over one in the clear. */
#ifndef LINEFILL_STUDY_SAFETY_H
#define LINEFILL_STUDY_SAFETY_H

#include <stdbool.h>

#include "harness/api/transport.h"
#include "harness/base/error.h"

/* What the user allows, by --allow-open-listener and --allow-plaintext. */
struct safety_leave {
	bool open_listener, plaintext;
};

struct safety_case {
	const struct transport *transport;
	const void *options;
	const char *cipher; /* what an SSH server is held to; "" is the tools' own default */
	const char *listening_host; /* literal address */
	bool users_own;             /* the data is the user's own, not generated */
};

/* A literal address of this machine's loopback, IPv4 or IPv6. */
bool safety_is_loopback(const char *host);
/* UNSUPPORTED, with the option that allows it, for an open listener on anything but the loopback,
 * for one that cannot be kept to the run's own address, wherever that is, and for data of the
 * user's own that would leave the machine unencrypted. */
int safety_check(const struct safety_case *item, const struct safety_leave *leave,
		 struct error *err) MUST_CHECK;

#endif
