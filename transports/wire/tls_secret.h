/* Secrets made from a run's one-time token, for transports whose encryption both ends must agree on
 * without having met. Each purpose gets bytes of its own, from which neither the token nor the
 * bytes of another purpose can be found. */
#ifndef LINEFILL_TRANSPORTS_WIRE_TLS_SECRET_H
#define LINEFILL_TRANSPORTS_WIRE_TLS_SECRET_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/api/xfer.h"

/* HKDF with SHA-256 (RFC 5869), the token as key and purpose as info. */
int tls_secret(const struct token *token, const char *purpose, unsigned char *bytes, size_t count,
	       struct error *err) MUST_CHECK;

/* The TLS 1.3 cipher suites there are to choose from. */
extern const char *const tls_cipher_names[];  /* for an option's choices; ends with NULL */
extern const char *const tls_cipher_suites[]; /* as OpenSSL calls them, in the same order */

/* Kind, with what OpenSSL says. Always -1. */
int tls_failed(enum error_kind kind, const char *what, struct error *err);

#endif
