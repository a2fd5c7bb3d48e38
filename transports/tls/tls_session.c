#include "transports/tls/tls_session.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/text.h"
#include "transports/wire/tls_secret.h"

#define PSK_BYTES    32
#define PSK_PURPOSE  "linefill tls key"
#define PSK_IDENTITY "linefill"

/* OpenSSL makes one system call for each record of 16 KiB, and two to read one; to hand the kernel
 * many at once and to take as many as are there saves most of them. (OpenSSL's own read-ahead moves
 * all that it holds to the front of its buffer for every record.) */
#define BURST_BYTES (256u << 10)
/* A burst as records: 22 bytes each more than they carry, and what a handshake may add. */
#define OUT_BYTES (BURST_BYTES + (16u << 10))
/* Far below what AES-GCM allows under one key, 2^24.5 records (RFC 8446, 5.5). */
#define REKEY_BYTES (UINT64_C(64) << 30)

struct tls_session {
	SSL_CTX *context;
	SSL *ssl;
	SSL_SESSION *known; /* the pre-shared key, as OpenSSL wants it */
	BIO_METHOD *method;
	bool ktls;
	struct channel socket;
	uint64_t rekey_bytes, since_rekey;
	size_t out_used, in_start, in_end;
	unsigned char out[OUT_BYTES];  /* records not yet sent */
	unsigned char in[BURST_BYTES]; /* records not yet read: [in_start, in_end) */
};

bool tls_kernel_offers(void)
{
	AUTO_FREE char *protocols = NULL;
	return file_read_all("/proc/sys/net/ipv4/tcp_available_ulp", 4096, &protocols, NULL,
			     NULL) == 0 &&
	       strstr(protocols, "tls");
}

static int client_key(SSL *ssl, const EVP_MD *digest, const unsigned char **identity,
		      size_t *length, SSL_SESSION **known)
{
	struct tls_session *session = SSL_get_app_data(ssl);
	(void)digest; /* one suite is offered: its digest is the key's */
	*identity = (const unsigned char *)PSK_IDENTITY;
	*length = strlen(PSK_IDENTITY);
	*known = SSL_SESSION_up_ref(session->known) == 1 ? session->known : NULL;
	return *known != NULL;
}

static int server_key(SSL *ssl, const unsigned char *identity, size_t length, SSL_SESSION **known)
{
	struct tls_session *session = SSL_get_app_data(ssl);
	bool ours = length == strlen(PSK_IDENTITY) && memcmp(identity, PSK_IDENTITY, length) == 0;
	*known = ours && SSL_SESSION_up_ref(session->known) == 1 ? session->known : NULL;
	return 1;
}

static const SSL_CIPHER *find_cipher(SSL *ssl, const char *suite)
{
	STACK_OF(SSL_CIPHER) *ciphers = SSL_get_ciphers(ssl);
	for (int i = 0; i < sk_SSL_CIPHER_num(ciphers); i++)
		if (strcmp(SSL_CIPHER_get_name(sk_SSL_CIPHER_value(ciphers, i)), suite) == 0)
			return sk_SSL_CIPHER_value(ciphers, i);
	return NULL;
}

static int make_key(struct tls_session *session, const struct tls_terms *terms, struct error *err)
{
	unsigned char key[PSK_BYTES];
	const SSL_CIPHER *cipher = find_cipher(session->ssl, terms->suite);
	if (!cipher)
		return error_set(err, ERROR_UNAVAILABLE, 0, "tls: this OpenSSL has no %s",
				 terms->suite);
	if (tls_secret(terms->token, PSK_PURPOSE, key, sizeof(key), err) < 0)
		return -1;
	session->known = SSL_SESSION_new();
	bool made = session->known &&
		    SSL_SESSION_set1_master_key(session->known, key, sizeof(key)) == 1 &&
		    SSL_SESSION_set_cipher(session->known, cipher) == 1 &&
		    SSL_SESSION_set_protocol_version(session->known, TLS1_3_VERSION) == 1;
	OPENSSL_cleanse(key, sizeof(key));
	return made ? 0 : tls_failed(ERROR_SYSTEM, "pre-shared key", err);
}

static int make_context(struct tls_session *session, const struct tls_terms *terms,
			struct error *err)
{
	session->context = SSL_CTX_new(terms->server ? TLS_server_method() : TLS_client_method());
	SSL_CTX *context = session->context;
	if (!context || SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
	    SSL_CTX_set_ciphersuites(context, terms->suite) != 1 ||
	    SSL_CTX_set_cipher_list(context, "") < 0 || SSL_CTX_set_num_tickets(context, 0) != 1)
		return tls_failed(ERROR_SYSTEM, "set up", err);
	/* Our format says by itself where it ends: a connection that just closes is told from a
	 * tree that is complete. */
	SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_NO_COMPRESSION);
	if (session->ktls)
		SSL_CTX_set_options(context, SSL_OP_ENABLE_KTLS);
	SSL_CTX_set_mode(context,
			 SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	if (terms->server)
		SSL_CTX_set_psk_find_session_callback(context, server_key);
	else
		SSL_CTX_set_psk_use_session_callback(context, client_key);
	session->ssl = SSL_new(context);
	if (!session->ssl)
		return tls_failed(ERROR_SYSTEM, "set up", err);
	SSL_set_app_data(session->ssl, session);
	return 0;
}

/* The socket, as OpenSSL sees it: reads come from in, writes wait in out. */
static int socket_take(BIO *bio, char *bytes, int count)
{
	struct tls_session *session = BIO_get_data(bio);
	BIO_clear_retry_flags(bio);
	if (session->in_start == session->in_end) {
		ssize_t n = recv(session->socket.in, session->in, sizeof(session->in), 0);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			BIO_set_retry_read(bio);
		if (n <= 0)
			return (int)n;
		session->in_start = 0;
		session->in_end = (size_t)n;
	}
	size_t have = session->in_end - session->in_start;
	size_t given = (size_t)count < have ? (size_t)count : have;
	memcpy(bytes, session->in + session->in_start, given);
	session->in_start += given;
	return (int)given;
}

static int socket_give(BIO *bio, const char *bytes, int count)
{
	struct tls_session *session = BIO_get_data(bio);
	size_t room = sizeof(session->out) - session->out_used;
	size_t taken = (size_t)count < room ? (size_t)count : room;
	BIO_clear_retry_flags(bio);
	if (taken == 0) {
		BIO_set_retry_write(bio);
		return -1;
	}
	memcpy(session->out + session->out_used, bytes, taken);
	session->out_used += taken;
	return (int)taken;
}

static long socket_control(BIO *bio, int command, long number, void *pointer)
{
	(void)bio;
	(void)number;
	(void)pointer;
	return command == BIO_CTRL_FLUSH; /* done by whoever called OpenSSL */
}

static int make_method(struct tls_session *session, struct error *err)
{
	session->method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "linefill");
	if (!session->method || BIO_meth_set_read(session->method, socket_take) != 1 ||
	    BIO_meth_set_write(session->method, socket_give) != 1 ||
	    BIO_meth_set_ctrl(session->method, socket_control) != 1)
		return tls_failed(ERROR_SYSTEM, "set up", err);
	return 0;
}

int tls_session_open(struct tls_session **session, const struct tls_terms *terms, struct error *err)
{
	*session = calloc(1, sizeof(**session));
	if (!*session)
		abort();
	/* Touched now: page faults are not part of the transfer. */
	memset((*session)->out, 0, sizeof((*session)->out));
	memset((*session)->in, 0, sizeof((*session)->in));
	(*session)->ktls = terms->ktls && tls_kernel_offers();
	(*session)->rekey_bytes = terms->rekey_bytes ? terms->rekey_bytes : REKEY_BYTES;
	if (make_context(*session, terms, err) < 0 || make_key(*session, terms, err) < 0)
		return -1;
	return make_method(*session, err);
}

static int send_out(struct tls_session *session, const struct io_limit *limit, struct error *err)
{
	size_t used = session->out_used;
	session->socket.limit = *limit;
	session->out_used = 0;
	return used > 0 ? session->socket.write(&session->socket, session->out, used, err) : 0;
}

/* Only the kernel's TLS makes us wait here; out has room for all that is put in it. What can be
 * read before that is an answer that came early, or the end. */
static int wait_for_room(int fd, const struct io_limit *limit, struct error *err)
{
	char byte;
	if (io_wait(fd, POLLIN | POLLOUT, limit, err) < 0)
		return -1;
	if (recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0)
		return error_set(err, ERROR_PEER, 0, "the peer stopped taking data");
	return 0;
}

/* After a call of OpenSSL that did not succeed: 1 when it may be repeated now, 0 at the end of the
 * stream. */
static int go_on(struct tls_session *session, int result, const struct io_limit *limit,
		 struct error *err)
{
	int code = errno;
	int fd = session->socket.in;
	int what = SSL_get_error(session->ssl, result);
	if (send_out(session, limit, err) < 0)
		return -1;
	switch (what) {
	case SSL_ERROR_WANT_READ:
		return io_wait(fd, POLLIN, limit, err) < 0 ? -1 : 1;
	case SSL_ERROR_WANT_WRITE:
		return wait_for_room(fd, limit, err) < 0 ? -1 : 1;
	case SSL_ERROR_ZERO_RETURN:
		return 0;
	case SSL_ERROR_SYSCALL:
		ERR_clear_error();
		return error_set(err, ERROR_PEER, code, "the connection was closed by the peer");
	default:
		return tls_failed(ERROR_PEER, "the peer broke the protocol", err);
	}
}

static ssize_t tls_read(const struct channel *channel, void *bytes, size_t least, size_t most,
			struct error *err)
{
	struct tls_session *session = channel->context;
	size_t done = 0;
	if (channel_check_limit(channel, err) < 0)
		return -1;
	while (done < least) {
		size_t n = 0;
		errno = 0;
		int result = SSL_read_ex(session->ssl, (char *)bytes + done, most - done, &n);
		done += n;
		int more = result == 1 ? 1 : go_on(session, result, &channel->limit, err);
		if (more < 0)
			return -1;
		if (more == 0)
			break;
	}
	return (ssize_t)done;
}

/* New keys in time; the kernel's TLS cannot. */
static int maybe_rekey(struct tls_session *session, size_t count, struct error *err)
{
	session->since_rekey += count;
	if (session->ktls || session->since_rekey < session->rekey_bytes)
		return 0;
	session->since_rekey = 0;
	if (SSL_key_update(session->ssl, SSL_KEY_UPDATE_NOT_REQUESTED) == 1)
		return 0;
	return tls_failed(ERROR_SYSTEM, "new keys", err);
}

static int tls_write(const struct channel *channel, const void *bytes, size_t count,
		     struct error *err)
{
	struct tls_session *session = channel->context;
	if (channel_check_limit(channel, err) < 0 || maybe_rekey(session, count, err) < 0)
		return -1;
	for (size_t done = 0; done < count;) {
		size_t n = 0;
		size_t burst = count - done < BURST_BYTES ? count - done : BURST_BYTES;
		errno = 0;
		int result = SSL_write_ex(session->ssl, (const char *)bytes + done, burst, &n);
		done += n;
		if (result == 1 && session->out_used < BURST_BYTES && done < count)
			continue;
		int more = result == 1 ? send_out(session, &channel->limit, err)
				       : go_on(session, result, &channel->limit, err);
		if (more < 0)
			return -1;
		if (result != 1 && more == 0)
			return error_set(err, ERROR_PEER, 0, "the peer ended the connection");
	}
	return 0;
}

static int attach(struct tls_session *session, int fd, struct error *err)
{
	/* The kernel's TLS needs OpenSSL's own socket. */
	BIO *bio = session->ktls ? BIO_new_socket(fd, BIO_NOCLOSE) : BIO_new(session->method);
	if (!bio)
		return tls_failed(ERROR_SYSTEM, "set up", err);
	if (!session->ktls) {
		BIO_set_data(bio, session);
		BIO_set_init(bio, 1);
	}
	SSL_set_bio(session->ssl, bio, bio);
	return 0;
}

int tls_session_start(struct tls_session *session, int fd, const struct io_limit *limit,
		      struct channel *channel, struct error *err)
{
	session->socket = channel_on_socket(fd, limit);
	if (attach(session, fd, err) < 0)
		return -1;
	int more = 1;
	while (more > 0) {
		errno = 0;
		int result = SSL_is_server(session->ssl) ? SSL_accept(session->ssl)
							 : SSL_connect(session->ssl);
		more = result == 1 ? send_out(session, limit, err)
				   : go_on(session, result, limit, err);
		if (result != 1 && more == 0)
			more = error_set(err, ERROR_PEER, 0, "the connection ended");
	}
	if (more < 0)
		return error_wrap(err, "handshake");
	*channel = (struct channel){
		.read = tls_read,
		.write = tls_write,
		.in = -1,
		.out = -1,
		.limit = *limit,
		.context = session,
	};
	return 0;
}

void tls_session_report(const struct tls_session *session, struct xfer_report *report)
{
	SSL *ssl = session->ssl;
	bool kernel = BIO_get_ktls_send(SSL_get_wbio(ssl)) || BIO_get_ktls_recv(SSL_get_rbio(ssl));
	snprintf(report->cipher, sizeof(report->cipher), "%s%s", SSL_get_cipher_name(ssl),
		 session->ktls && kernel ? "+ktls" : "");
	/* All suites of TLS 1.3 authenticate by themselves. */
	text_copy(report->mac, sizeof(report->mac), "implicit");
}

void tls_session_close(struct tls_session *session)
{
	if (!session)
		return;
	SSL_free(session->ssl);
	SSL_SESSION_free(session->known);
	SSL_CTX_free(session->context);
	BIO_meth_free(session->method);
	free(session);
}
