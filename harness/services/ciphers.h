/* The cipher ceiling: what one core of this host does for each cipher and MAC of SSH, in this
 * process, by OpenSSL's EVP, packet after packet as a sender of SSH does it (RFC 4253; RFC 5647 for
 * GCM; OpenSSH's PROTOCOL.chacha20poly1305). No SSH at this end can be faster than that on one
 * core. */
#ifndef LINEFILL_SERVICES_CIPHERS_H
#define LINEFILL_SERVICES_CIPHERS_H

#include <jansson.h>

#include "harness/base/error.h"

/* As large as SSH's packets are in bulk transfers. */
#define CIPHERS_PACKET_BYTES 32768

struct cipher_speed {
	const char *cipher, *mac; /* as SSH names them; "implicit" where the cipher authenticates */
	double mb_per_s;    /* 1,000,000 bytes of payload a second of CPU time; NAN: unknown */
	const char *reason; /* why it is unknown; else NULL */
};

/* Told of each pair before it is measured. */
struct ciphers_watch {
	void (*measuring)(const char *cipher, const char *mac, void *context);
	void *context;
};

/* One pair at a time, in a fixed order, each measured for seconds of CPU time. An error is one of
 * OpenSSL's that should not happen. Blocks for seconds times the number of pairs, about 25. */
int ciphers_measure(double seconds, void (*found)(const struct cipher_speed *speed, void *context),
		    void *context, const struct ciphers_watch *watch, struct error *err) MUST_CHECK;

/* The same as a JSON array of objects with name, cipher, mac, packet_bytes, and mb_per_s or
 * available = false and reason: for a list, or an agent's reply. watch may be NULL. NULL on error.
 */
json_t *ciphers_list(double seconds, const struct ciphers_watch *watch,
		     struct error *err) MUST_CHECK;

#endif
