/* What the two ends of the http transport know of each other: both derive it from the run's token,
 * so nothing has to be exchanged. The sink knows a path that nobody else can guess, the source has
 * a key that nobody else can have. */
#ifndef LINEFILL_TRANSPORTS_HTTP_HTTP_IDENTITY_H
#define LINEFILL_TRANSPORTS_HTTP_HTTP_IDENTITY_H

#include "harness/api/xfer.h"

#define HTTP_SECRET_SIZE 33
#define HTTP_PIN_SIZE    64

/* The first part of every path on the server: 32 hexadecimal digits. */
int http_identity_secret(const struct token *token, char secret[HTTP_SECRET_SIZE],
			 struct error *err) MUST_CHECK;
/* Source: the server's private key (ed25519) and a certificate for it, as PEM files that only this
 * user can read. */
int http_identity_write(const struct token *token, const char *key_path,
			const char *certificate_path, struct error *err) MUST_CHECK;
/* Sink: that key's public half, in the form of CURLOPT_PINNEDPUBLICKEY. */
int http_identity_pin(const struct token *token, char pin[HTTP_PIN_SIZE],
		      struct error *err) MUST_CHECK;

#endif
