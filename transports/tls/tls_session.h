/* TLS 1.3 over one TCP connection, as a byte channel.
 *
 * The two ends know each other by a pre-shared key (RFC 8446, 2.2) that both derive from the run's
 * token, so there is no certificate to make, to send or to pin, and either end is sure of the
 * other: who does not have the token cannot complete the handshake in either role, nor read what
 * was recorded. Keys are ephemeral all the same (psk_dhe_ke). */
#ifndef LINEFILL_TRANSPORTS_TLS_TLS_SESSION_H
#define LINEFILL_TRANSPORTS_TLS_TLS_SESSION_H

#include <stdbool.h>

#include "harness/api/xfer.h"
#include "transports/wire/channel.h"

struct tls_session;

struct tls_terms {
	bool server;       /* the end that accepted */
	bool ktls;         /* let the kernel encrypt if it can */
	const char *suite; /* the one cipher suite to use */
	const struct token *token;
	uint64_t rekey_bytes; /* new keys for sending after that much; 0: the default */
};

/* Makes everything that needs no connection. On failure, too, the caller closes *session. */
int tls_session_open(struct tls_session **session, const struct tls_terms *terms,
		     struct error *err) MUST_CHECK;
/* The handshake, on a connected non-blocking socket that stays the caller's. PEER when the other
 * end is not who it should be. The channel is good until the session is closed. */
int tls_session_start(struct tls_session *session, int fd, const struct io_limit *limit,
		      struct channel *channel, struct error *err) MUST_CHECK;
/* Cipher suite, "+ktls" behind it when the kernel does this end's part. After the handshake. */
void tls_session_report(const struct tls_session *session, struct xfer_report *report);
/* Safe on NULL. */
void tls_session_close(struct tls_session *session);

/* Does this kernel offer TLS? */
bool tls_kernel_offers(void);

#endif
