#include "transports/http/http_identity.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/files.h"
#include "transports/wire/tls_secret.h"

#define SECRET_PURPOSE "linefill http path"
#define KEY_PURPOSE    "linefill http key"
#define KEY_BYTES      32 /* of an ed25519 private key: any will do (RFC 8032, 5.1.5) */
#define DAY_S          (24 * 60 * 60)

int http_identity_secret(const struct token *token, char secret[HTTP_SECRET_SIZE],
			 struct error *err)
{
	unsigned char bytes[(HTTP_SECRET_SIZE - 1) / 2];
	if (tls_secret(token, SECRET_PURPOSE, bytes, sizeof(bytes), err) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(secret + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

static EVP_PKEY *make_key(const struct token *token, struct error *err)
{
	unsigned char bytes[KEY_BYTES];
	if (tls_secret(token, KEY_PURPOSE, bytes, sizeof(bytes), err) < 0)
		return NULL;
	EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, bytes, sizeof(bytes));
	OPENSSL_cleanse(bytes, sizeof(bytes));
	if (!key)
		tls_failed(ERROR_SYSTEM, "make a key", err);
	return key;
}

/* Nothing in it is looked at but the key. */
static X509 *make_certificate(EVP_PKEY *key)
{
	X509 *certificate = X509_new();
	if (!certificate)
		return NULL;
	X509_NAME *name = X509_get_subject_name(certificate);
	if (X509_set_version(certificate, X509_VERSION_3) == 1 &&
	    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1) == 1 &&
	    X509_gmtime_adj(X509_getm_notBefore(certificate), -DAY_S) &&
	    X509_gmtime_adj(X509_getm_notAfter(certificate), 30L * DAY_S) &&
	    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"linefill",
				       -1, -1, 0) == 1 &&
	    X509_set_issuer_name(certificate, name) == 1 &&
	    X509_set_pubkey(certificate, key) == 1 && X509_sign(certificate, key, NULL) > 0)
		return certificate;
	X509_free(certificate);
	return NULL;
}

static int write_pem(BIO *pem, const char *path, struct error *err)
{
	char *bytes = NULL;
	long count = BIO_get_mem_data(pem, &bytes);
	return file_write_all(path, bytes, (size_t)count, 0600, err);
}

int http_identity_write(const struct token *token, const char *key_path,
			const char *certificate_path, struct error *err)
{
	EVP_PKEY *key = make_key(token, err);
	if (!key)
		return -1;
	X509 *certificate = make_certificate(key);
	BIO *key_pem = BIO_new(BIO_s_mem());
	BIO *certificate_pem = BIO_new(BIO_s_mem());
	int result;
	if (!certificate || !key_pem || !certificate_pem ||
	    PEM_write_bio_PrivateKey(key_pem, key, NULL, NULL, 0, NULL, NULL) != 1 ||
	    PEM_write_bio_X509(certificate_pem, certificate) != 1)
		result = tls_failed(ERROR_SYSTEM, "make a certificate", err);
	else
		result = write_pem(key_pem, key_path, err) < 0
				 ? -1
				 : write_pem(certificate_pem, certificate_path, err);
	BIO_free(certificate_pem);
	BIO_free(key_pem);
	X509_free(certificate);
	EVP_PKEY_free(key);
	return result;
}

int http_identity_pin(const struct token *token, char pin[HTTP_PIN_SIZE], struct error *err)
{
	static const char prefix[] = "sha256//";
	unsigned char digest[SHA256_DIGEST_LENGTH];
	unsigned char *public = NULL;
	EVP_PKEY *key = make_key(token, err);
	if (!key)
		return -1;
	int length = i2d_PUBKEY(key, &public);
	EVP_PKEY_free(key);
	if (length <= 0)
		return tls_failed(ERROR_SYSTEM, "make a key", err);
	SHA256(public, (size_t)length, digest);
	OPENSSL_free(public);
	memcpy(pin, prefix, sizeof(prefix) - 1);
	EVP_EncodeBlock((unsigned char *)pin + sizeof(prefix) - 1, digest, sizeof(digest));
	return 0;
}
