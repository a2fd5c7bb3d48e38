#include "harness/services/ciphers.h"

#include <math.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness/base/cleanup.h"
#include "harness/base/text.h"

/* Parts of a measurement, of which the median counts. */
#define PARTS 3
/* Between looks at the clock. */
#define BURST_PACKETS 8

#define HEADER_BYTES \
	4 /* packet length: authenticated, with chacha20 encrypted by a key of its own */
#define TAG_BYTES 16
#define IV_BYTES  16
#define KEY_BYTES 64 /* more than any key here */
#define MAC_BYTES 64

enum method { METHOD_NONE, METHOD_BLOCK, METHOD_GCM, METHOD_CHACHA };

static const struct cipher_row {
	const char *name, *evp;
	enum method method;
} cipher_rows[] = {
	{ "aes128-ctr", "AES-128-CTR", METHOD_BLOCK },
	{ "aes192-ctr", "AES-192-CTR", METHOD_BLOCK },
	{ "aes256-ctr", "AES-256-CTR", METHOD_BLOCK },
	{ "aes128-cbc", "AES-128-CBC", METHOD_BLOCK },
	{ "aes256-cbc", "AES-256-CBC", METHOD_BLOCK },
	{ "none", NULL, METHOD_NONE },
	{ "aes128-gcm@openssh.com", "AES-128-GCM", METHOD_GCM },
	{ "aes256-gcm@openssh.com", "AES-256-GCM", METHOD_GCM },
	{ "chacha20-poly1305@openssh.com", "ChaCha20", METHOD_CHACHA },
};

static const struct mac_row {
	const char *name, *digest;
} mac_rows[] = {
	{ "hmac-sha2-256", "SHA256" },
	{ "hmac-sha2-512", "SHA512" },
	{ "hmac-sha1", "SHA1" },
	{ "none", NULL },
};

/* What SSH has and cannot be measured here. */
static const struct cipher_speed left_out[] = {
	{ "any", "umac-64@openssh.com", NAN, "OpenSSL has no UMAC" },
	{ "any", "umac-128@openssh.com", NAN, "OpenSSL has no UMAC" },
};

/* One sender. */
struct sender {
	const struct cipher_row *cipher;
	const struct mac_row *mac;
	EVP_CIPHER_CTX *crypt, *header; /* header: chacha20 only */
	EVP_MAC_CTX *authenticate;
	uint64_t sequence;
	unsigned char key[KEY_BYTES], iv[IV_BYTES];
	unsigned char packet[HEADER_BYTES + CIPHERS_PACKET_BYTES + MAC_BYTES];
};

static int failed(const char *what, struct error *err)
{
	char text[160];
	ERR_error_string_n(ERR_get_error(), text, sizeof(text));
	return error_set(err, ERROR_SYSTEM, 0, "OpenSSL: %s: %s", what, text);
}

/* ---- one packet ---- */

static int seal_block(struct sender *sender)
{
	size_t length = 0;
	int count = 0;
	unsigned char *payload = sender->packet + HEADER_BYTES;
	/* Over the plain packet, its number first; then all but the MAC is encrypted. */
	if (sender->authenticate &&
	    (EVP_MAC_init(sender->authenticate, NULL, 0, NULL) != 1 ||
	     EVP_MAC_update(sender->authenticate, sender->packet,
			    HEADER_BYTES + CIPHERS_PACKET_BYTES) != 1 ||
	     EVP_MAC_final(sender->authenticate, payload + CIPHERS_PACKET_BYTES, &length,
			   MAC_BYTES) != 1))
		return -1;
	if (!sender->crypt)
		return 0;
	return EVP_EncryptUpdate(sender->crypt, payload, &count, payload, CIPHERS_PACKET_BYTES) == 1
		       ? 0
		       : -1;
}

static int seal_gcm(struct sender *sender)
{
	int count = 0;
	unsigned char *payload = sender->packet + HEADER_BYTES;
	memcpy(sender->iv + 4, &sender->sequence, sizeof(sender->sequence));
	if (EVP_EncryptInit_ex2(sender->crypt, NULL, NULL, sender->iv, NULL) != 1 ||
	    EVP_EncryptUpdate(sender->crypt, NULL, &count, sender->packet, HEADER_BYTES) != 1 ||
	    EVP_EncryptUpdate(sender->crypt, payload, &count, payload, CIPHERS_PACKET_BYTES) != 1 ||
	    EVP_EncryptFinal_ex(sender->crypt, payload, &count) != 1)
		return -1;
	return EVP_CIPHER_CTX_ctrl(sender->crypt, EVP_CTRL_AEAD_GET_TAG, TAG_BYTES,
				   payload + CIPHERS_PACKET_BYTES) == 1
		       ? 0
		       : -1;
}

/* The key of Poly1305 is the first block of the packet's key stream; the payload begins with the
 * second one. */
static int seal_chacha(struct sender *sender)
{
	unsigned char once[64] = { 0 };
	unsigned char *payload = sender->packet + HEADER_BYTES;
	size_t length = 0;
	int count = 0;
	memcpy(sender->iv + 8, &sender->sequence, sizeof(sender->sequence));
	if (EVP_EncryptInit_ex2(sender->crypt, NULL, NULL, sender->iv, NULL) != 1 ||
	    EVP_EncryptInit_ex2(sender->header, NULL, NULL, sender->iv, NULL) != 1 ||
	    EVP_EncryptUpdate(sender->crypt, once, &count, once, sizeof(once)) != 1 ||
	    EVP_EncryptUpdate(sender->header, sender->packet, &count, sender->packet,
			      HEADER_BYTES) != 1 ||
	    EVP_EncryptUpdate(sender->crypt, payload, &count, payload, CIPHERS_PACKET_BYTES) != 1)
		return -1;
	if (EVP_MAC_init(sender->authenticate, once, 32, NULL) != 1 ||
	    EVP_MAC_update(sender->authenticate, sender->packet,
			   HEADER_BYTES + CIPHERS_PACKET_BYTES) != 1)
		return -1;
	return EVP_MAC_final(sender->authenticate, payload + CIPHERS_PACKET_BYTES, &length,
			     MAC_BYTES) == 1
		       ? 0
		       : -1;
}

static int seal(struct sender *sender)
{
	sender->sequence++;
	switch (sender->cipher->method) {
	case METHOD_GCM:
		return seal_gcm(sender);
	case METHOD_CHACHA:
		return seal_chacha(sender);
	default:
		return seal_block(sender);
	}
}

/* ---- the keys ---- */

static EVP_CIPHER_CTX *start_cipher(const struct sender *sender, size_t key_offset)
{
	EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, sender->cipher->evp, NULL);
	EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
	if (!cipher || !context ||
	    EVP_EncryptInit_ex2(context, cipher, sender->key + key_offset, sender->iv, NULL) != 1 ||
	    EVP_CIPHER_CTX_set_padding(context, 0) != 1) {
		EVP_CIPHER_CTX_free(context);
		context = NULL;
	}
	EVP_CIPHER_free(cipher);
	return context;
}

static EVP_MAC_CTX *start_mac(const struct sender *sender)
{
	bool poly = sender->cipher->method == METHOD_CHACHA;
	EVP_MAC *mac = EVP_MAC_fetch(NULL, poly ? "POLY1305" : "HMAC", NULL);
	EVP_MAC_CTX *context = mac ? EVP_MAC_CTX_new(mac) : NULL;
	char *digest = poly ? NULL : (char *)(uintptr_t)sender->mac->digest;
	const OSSL_PARAM parameters[] = {
		digest ? OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0)
		       : OSSL_PARAM_construct_end(),
		OSSL_PARAM_construct_end(),
	};
	if (context && EVP_MAC_init(context, sender->key, 32, parameters) != 1) {
		EVP_MAC_CTX_free(context);
		context = NULL;
	}
	EVP_MAC_free(mac);
	return context;
}

static int start(struct sender *sender, struct error *err)
{
	enum method method = sender->cipher->method;
	for (size_t i = 0; i < sizeof(sender->key); i++)
		sender->key[i] = (unsigned char)(17 * i + 5);
	if (method != METHOD_NONE && !(sender->crypt = start_cipher(sender, 0)))
		return failed(sender->cipher->name, err);
	if (method == METHOD_CHACHA && !(sender->header = start_cipher(sender, 32)))
		return failed(sender->cipher->name, err);
	if ((method == METHOD_CHACHA || (sender->mac && sender->mac->digest)) &&
	    !(sender->authenticate = start_mac(sender)))
		return failed(sender->mac ? sender->mac->name : "POLY1305", err);
	return 0;
}

static void stop(struct sender *sender)
{
	EVP_CIPHER_CTX_free(sender->crypt);
	EVP_CIPHER_CTX_free(sender->header);
	EVP_MAC_CTX_free(sender->authenticate);
}

/* ---- the measurement ---- */

/* CPU time: what others do on this host is not the cipher's fault. */
static double cpu_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int run_part(struct sender *sender, double seconds, double *mb_per_s, struct error *err)
{
	const double began = cpu_s();
	double now = began;
	double packets = 0;
	while (now - began < seconds) {
		for (int i = 0; i < BURST_PACKETS; i++)
			if (seal(sender) < 0)
				return failed(sender->cipher->name, err);
		packets += BURST_PACKETS;
		now = cpu_s();
	}
	*mb_per_s = packets * CIPHERS_PACKET_BYTES / 1e6 / (now - began);
	return 0;
}

static int compare_real(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;
	return (x > y) - (x < y);
}

static int measure_pair(const struct cipher_row *cipher, const struct mac_row *mac, double seconds,
			struct cipher_speed *speed, struct error *err)
{
	struct sender *sender = calloc(1, sizeof(*sender));
	double parts[PARTS] = { 0 };
	if (!sender)
		abort();
	sender->cipher = cipher;
	sender->mac = mac;
	int result = start(sender, err);
	for (int i = 0; result == 0 && i < PARTS; i++)
		result = run_part(sender, seconds / PARTS, &parts[i], err);
	qsort(parts, PARTS, sizeof(parts[0]), compare_real);
	speed->mb_per_s = parts[PARTS / 2];
	stop(sender);
	free(sender);
	return result;
}

static bool is_authenticated(const struct cipher_row *cipher)
{
	return cipher->method == METHOD_GCM || cipher->method == METHOD_CHACHA;
}

/* mac: NULL with a cipher that authenticates. */
static int take_pair(const struct cipher_row *cipher, const struct mac_row *mac, double seconds,
		     struct cipher_speed *speed, struct error *err)
{
	*speed = (struct cipher_speed){ .cipher = cipher->name,
					.mac = mac ? mac->name : "implicit",
					.mb_per_s = NAN };
	if (cipher->method == METHOD_NONE && !mac->digest)
		speed->reason = "there is nothing to compute";
	else
		return measure_pair(cipher, mac, seconds, speed, err);
	return 0;
}

int ciphers_measure(double seconds, void (*found)(const struct cipher_speed *speed, void *context),
		    void *context, const struct ciphers_watch *watch, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(cipher_rows); i++) {
		const struct cipher_row *cipher = &cipher_rows[i];
		size_t macs = is_authenticated(cipher) ? 1 : ARRAY_SIZE(mac_rows);
		for (size_t j = 0; j < macs; j++) {
			struct cipher_speed speed;
			const struct mac_row *mac = is_authenticated(cipher) ? NULL : &mac_rows[j];
			if (watch)
				watch->measuring(cipher->name, mac ? mac->name : "implicit",
						 watch->context);
			if (take_pair(cipher, mac, seconds, &speed, err) < 0)
				return -1;
			found(&speed, context);
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(left_out); i++)
		found(&left_out[i], context);
	return 0;
}

/* ---- as JSON ---- */

static void add_speed(const struct cipher_speed *speed, void *context)
{
	AUTO_TEXT name = { 0 };
	text_addf(&name, "%s %s", speed->cipher, speed->mac);
	json_t *object = json_pack("{s:s,s:s,s:s,s:i,s:b}", "name", text_string(&name), "cipher",
				   speed->cipher, "mac", speed->mac, "packet_bytes",
				   CIPHERS_PACKET_BYTES, "available", speed->reason == NULL);
	if (speed->reason)
		json_object_set_new(object, "reason", json_string(speed->reason));
	else
		json_object_set_new(object, "mb_per_s", json_real(round(speed->mb_per_s)));
	json_array_append_new(context, object);
}

json_t *ciphers_list(double seconds, const struct ciphers_watch *watch, struct error *err)
{
	json_t *list = json_array();
	if (ciphers_measure(seconds, add_speed, list, watch, err) == 0)
		return list;
	json_decref(list);
	return NULL;
}
