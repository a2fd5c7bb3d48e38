#include "transports/wire/tls_secret.h"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <string.h>

const char *const tls_cipher_names[] = { "aes128-gcm", "aes256-gcm", "chacha20-poly1305", NULL };
const char *const tls_cipher_suites[] = { "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384",
					  "TLS_CHACHA20_POLY1305_SHA256", NULL };

int tls_failed(enum error_kind kind, const char *what, struct error *err)
{
	const char *reason = ERR_reason_error_string(ERR_peek_last_error());
	ERR_clear_error();
	return error_set(err, kind, 0, "tls: %s: %s", what, reason ? reason : "failed");
}

int tls_secret(const struct token *token, const char *purpose, unsigned char *bytes, size_t count,
	       struct error *err)
{
	EVP_KDF *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
	EVP_KDF_CTX *context = kdf ? EVP_KDF_CTX_new(kdf) : NULL;
	OSSL_PARAM parameters[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char *)"SHA256", 0),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)token->bytes,
						  sizeof(token->bytes)),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)purpose,
						  strlen(purpose)),
		OSSL_PARAM_construct_end(),
	};
	int derived = context ? EVP_KDF_derive(context, bytes, count, parameters) : 0;
	EVP_KDF_CTX_free(context);
	EVP_KDF_free(kdf);
	return derived == 1 ? 0 : tls_failed(ERROR_SYSTEM, "derive a secret", err);
}
