#include "transports/ssh/ssh_session.h"

#include <libssh2.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/text.h"
#include "transports/ssh/ssh_batch.h"

/* The private server has just this kind of key, and libssh2's RSA signatures are refused by it. */
#define HOST_KEYS    "ssh-ed25519"
#define STDERR_BYTES 256

struct ssh_session {
	int fd;
	LIBSSH2_SESSION *session;
	LIBSSH2_CHANNEL *channel;
	struct ssh_batch batch;
	struct io_limit limit;
};

static int failed(LIBSSH2_SESSION *session, const char *what, struct error *err)
{
	char *text = NULL;
	int code = libssh2_session_last_error(session, &text, NULL, 0);
	bool gone = code == LIBSSH2_ERROR_SOCKET_SEND || code == LIBSSH2_ERROR_SOCKET_RECV ||
		    code == LIBSSH2_ERROR_SOCKET_DISCONNECT ||
		    code == LIBSSH2_ERROR_CHANNEL_CLOSED || code == LIBSSH2_ERROR_CHANNEL_EOF_SENT;
	return error_set(err, gone ? ERROR_PEER : ERROR_SYSTEM, code, "ssh: %s: %s", what,
			 text && *text ? text : "failed");
}

/* After EAGAIN: until libssh2 can go on. */
static int wait_turn(struct ssh_session *ssh, const struct io_limit *limit, struct error *err)
{
	int directions = libssh2_session_block_directions(ssh->session);
	short events = 0;
	if (directions & LIBSSH2_SESSION_BLOCK_OUTBOUND)
		events |= POLLOUT;
	if (directions & LIBSSH2_SESSION_BLOCK_INBOUND || events == 0)
		events |= POLLIN;
	return ssh_batch_wait(&ssh->batch, events, limit, err);
}

LIBSSH2_SESSION *ssh_session_library(struct ssh_session *ssh)
{
	return ssh->session;
}

int ssh_session_wait(struct ssh_session *ssh, struct error *err)
{
	return wait_turn(ssh, &ssh->limit, err);
}

int ssh_session_failed(const struct ssh_session *ssh, const char *what, struct error *err)
{
	return failed(ssh->session, what, err);
}

bool ssh_session_is_own_library(void)
{
#ifdef LINEFILL_LIBSSH2_OWN
	return true;
#else
	return false;
#endif
}

void ssh_session_version(char *text, size_t size)
{
	snprintf(text, size, "libssh2 %s%s", libssh2_version(0),
		 ssh_session_is_own_library() ? " (built by scripts/build-libssh2)" : "");
}

static bool is_supported(const char *const *names, int count, const char *name, size_t length)
{
	for (int i = 0; i < count; i++)
		if (strncmp(names[i], name, length) == 0 && names[i][length] == '\0')
			return true;
	return false;
}

static void add_name(struct text *list, const char *name, size_t length)
{
	if (list->length > 0)
		text_add(list, ",");
	text_add_bytes(list, name, length);
}

/* The names of a list that this libssh2 knows, and all that it knows. It could drop the others
 * itself, but does that with overlapping copies (1.10). */
static void keep_supported(LIBSSH2_SESSION *session, int method, const char *list,
			   struct text *known, struct text *all)
{
	const char **names = NULL;
	int count = libssh2_session_supported_algs(session, method, &names);
	for (int i = 0; i < count; i++)
		add_name(all, names[i], strlen(names[i]));
	for (const char *name = list; *name;) {
		size_t length = strcspn(name, ",");
		if (length > 0 && is_supported(names, count, name, length))
			add_name(known, name, length);
		name += length + (name[length] == ',');
	}
	if (count > 0)
		libssh2_free(session, names);
}

static int prefer(LIBSSH2_SESSION *session, int method, const char *list, struct error *err)
{
	AUTO_TEXT known = { 0 };
	AUTO_TEXT all = { 0 };
	if (!list[0])
		return 0;
	keep_supported(session, method, list, &known, &all);
	if (known.length > 0 &&
	    libssh2_session_method_pref(session, method, text_string(&known)) == 0)
		return 0;
	if (strcmp(list, "none") == 0)
		return error_set(
			err, ERROR_UNAVAILABLE, 0,
			"libssh2 %s was built without none: scripts/build-libssh2 makes one "
			"that has it, then build again",
			libssh2_version(0));
	return error_set(err, ERROR_UNSUPPORTED, 0, "libssh2 %s does not have %s; it has %s",
			 libssh2_version(0), list, text_string(&all));
}

static int prefer_all(LIBSSH2_SESSION *session, const char *cipher, const char *mac,
		      struct error *err)
{
	if (prefer(session, LIBSSH2_METHOD_CRYPT_CS, cipher, err) < 0 ||
	    prefer(session, LIBSSH2_METHOD_CRYPT_SC, cipher, err) < 0 ||
	    prefer(session, LIBSSH2_METHOD_MAC_CS, mac, err) < 0 ||
	    prefer(session, LIBSSH2_METHOD_MAC_SC, mac, err) < 0)
		return -1;
	return prefer(session, LIBSSH2_METHOD_HOSTKEY, HOST_KEYS, err);
}

static LIBSSH2_SESSION *new_session(void *abstract)
{
	/* Reference-counted inside; without flags it also sets up the cryptography. */
	if (libssh2_init(0) != 0)
		abort();
	LIBSSH2_SESSION *session = libssh2_session_init_ex(NULL, NULL, NULL, abstract);
	if (!session)
		abort();
	libssh2_session_set_blocking(session, 0);
	return session;
}

int ssh_session_check(const char *cipher, const char *mac, struct error *err)
{
	LIBSSH2_SESSION *session = new_session(NULL);
	int result = prefer_all(session, cipher, mac, err);
	libssh2_session_free(session);
	libssh2_exit();
	return result;
}

static int check_host_key(const struct ssh_session *ssh, const struct service *service,
			  struct error *err)
{
	size_t length = 0;
	int type = 0;
	const char *key = libssh2_session_hostkey(ssh->session, &length, &type);
	LIBSSH2_KNOWNHOSTS *hosts = libssh2_knownhost_init(ssh->session);
	if (!key || !hosts) {
		libssh2_knownhost_free(hosts);
		return failed(ssh->session, "server key", err);
	}
	int lines = libssh2_knownhost_readfile(hosts, service->known_hosts,
					       LIBSSH2_KNOWNHOST_FILE_OPENSSH);
	int check = libssh2_knownhost_checkp(
		hosts, service->host, service->port, key, length,
		LIBSSH2_KNOWNHOST_TYPE_PLAIN | LIBSSH2_KNOWNHOST_KEYENC_RAW, NULL);
	libssh2_knownhost_free(hosts);
	if (lines < 0)
		return error_set(err, ERROR_SYSTEM, 0, "ssh: %s cannot be read",
				 service->known_hosts);
	if (check != LIBSSH2_KNOWNHOST_CHECK_MATCH)
		return error_set(err, ERROR_PEER, 0, "ssh: the server's key is not in %s",
				 service->known_hosts);
	return 0;
}

/* Is method one of the names in the list? */
static bool is_listed(const char *list, const char *method)
{
	size_t length = strlen(method);
	for (const char *name = list; name; name = strchr(name, ',')) {
		name += *name == ',';
		if (strncmp(name, method, length) == 0 &&
		    (name[length] == ',' || name[length] == '\0'))
			return true;
	}
	return list[0] == '\0';
}

static int check_method(const struct ssh_session *ssh, int method, const char *list,
			struct error *err)
{
	const char *name = libssh2_session_methods(ssh->session, method);
	/* An authenticated cipher needs no MAC; libssh2 then names a made-up one. */
	if (name && (is_listed(list, name) || strncmp(name, "INTEGRATED", 10) == 0))
		return 0;
	return error_set(err, ERROR_PEER, 0, "ssh: %s was asked for, %s was negotiated", list,
			 name ? name : "nothing");
}

static int check_compression(const struct ssh_session *ssh, bool wanted, struct error *err)
{
	const char *name = libssh2_session_methods(ssh->session, LIBSSH2_METHOD_COMP_CS);
	if (name && (strncmp(name, "zlib", 4) == 0) == wanted)
		return 0;
	return error_set(err, wanted ? ERROR_UNSUPPORTED : ERROR_PEER, 0,
			 "ssh: compression %s was negotiated", name ? name : "nothing");
}

static int log_in(struct ssh_session *ssh, const struct service *service, struct error *err)
{
	int result;
	while ((result = libssh2_userauth_publickey_fromfile_ex(
			ssh->session, service->user, (unsigned)strlen(service->user),
			service->public_key_file, service->key_file, NULL)) == LIBSSH2_ERROR_EAGAIN)
		if (wait_turn(ssh, &ssh->limit, err) < 0)
			return -1;
	return result < 0 ? failed(ssh->session, "login", err) : 0;
}

static int shake_hands(struct ssh_session *ssh, const struct ssh_target *target, struct error *err)
{
	int result;
	while ((result = libssh2_session_handshake(ssh->session, ssh->fd)) == LIBSSH2_ERROR_EAGAIN)
		if (wait_turn(ssh, &ssh->limit, err) < 0)
			return -1;
	if (result < 0)
		return failed(ssh->session, "handshake", err);
	if (check_host_key(ssh, target->service, err) < 0 ||
	    check_method(ssh, LIBSSH2_METHOD_CRYPT_CS, target->cipher, err) < 0 ||
	    check_method(ssh, LIBSSH2_METHOD_CRYPT_SC, target->cipher, err) < 0 ||
	    check_method(ssh, LIBSSH2_METHOD_MAC_CS, target->mac, err) < 0 ||
	    check_method(ssh, LIBSSH2_METHOD_MAC_SC, target->mac, err) < 0)
		return -1;
	return check_compression(ssh, target->compress, err);
}

int ssh_session_open(struct ssh_session **session, const struct ssh_target *target,
		     const struct io_limit *limit, struct error *err)
{
	struct endpoint endpoint = { .port = target->service->port };
	const struct gate_call call = { .options = target->socket, .limit = *limit };
	text_copy(endpoint.host, sizeof(endpoint.host), target->service->host);
	struct ssh_session *ssh = calloc(1, sizeof(*ssh));
	if (!ssh)
		abort();
	*session = ssh;
	ssh->limit = *limit;
	ssh->fd = -1;
	ssh->session = new_session(&ssh->batch);
	ssh_batch_attach(&ssh->batch, ssh->session);
	if (prefer_all(ssh->session, target->cipher, target->mac, err) < 0 ||
	    gate_dial(&call, &endpoint, &ssh->fd, err) < 0)
		return -1;
	ssh->batch.fd = ssh->fd;
	libssh2_session_flag(ssh->session, LIBSSH2_FLAG_COMPRESS, target->compress);
	if (shake_hands(ssh, target, err) < 0)
		return -1;
	return log_in(ssh, target->service, err);
}

void ssh_session_methods(const struct ssh_session *ssh, struct xfer_report *report)
{
	const char *cipher = libssh2_session_methods(ssh->session, LIBSSH2_METHOD_CRYPT_CS);
	const char *mac = libssh2_session_methods(ssh->session, LIBSSH2_METHOD_MAC_CS);
	text_copy(report->cipher, sizeof(report->cipher), cipher ? cipher : "");
	text_copy(report->mac, sizeof(report->mac), mac ? mac : "");
}

/* Something came back while we were sending, or the command ended: it will take no more. */
static bool has_answered(const struct ssh_session *ssh)
{
	unsigned long waiting = 0;
	libssh2_channel_window_read_ex(ssh->channel, &waiting, NULL);
	return waiting > 0 || libssh2_channel_eof(ssh->channel) == 1;
}

static int write_all(struct ssh_session *ssh, const struct channel *channel, const void *bytes,
		     size_t count, struct error *err)
{
	for (size_t done = 0; done < count;) {
		ssize_t n = libssh2_channel_write(ssh->channel, (const char *)bytes + done,
						  count - done);
		if (n >= 0)
			done += (size_t)n;
		else if (n != LIBSSH2_ERROR_EAGAIN)
			return failed(ssh->session, "send", err);
		else if (has_answered(ssh))
			return error_set(err, ERROR_PEER, 0, "the peer stopped taking data");
		else if (wait_turn(ssh, &channel->limit, err) < 0)
			return -1;
	}
	return 0;
}

static int ssh_write(const struct channel *channel, const void *bytes, size_t count,
		     struct error *err)
{
	struct ssh_session *ssh = channel->context;
	if (channel_check_limit(channel, err) < 0)
		return -1;
	ssh_batch_begin(&ssh->batch);
	int result = write_all(ssh, channel, bytes, count, err);
	/* After a failure too: the peer is to get what is complete, such as the reason. */
	int ended = ssh_batch_end(&ssh->batch, &channel->limit, result < 0 ? NULL : err);
	return result < 0 ? result : ended;
}

static ssize_t ssh_read(const struct channel *channel, void *bytes, size_t least, size_t most,
			struct error *err)
{
	struct ssh_session *ssh = channel->context;
	size_t done = 0;
	while (done < least) {
		ssize_t n = libssh2_channel_read(ssh->channel, (char *)bytes + done, most - done);
		if (n > 0)
			done += (size_t)n;
		else if (n == 0 && libssh2_channel_eof(ssh->channel) == 1)
			break;
		else if (n < 0 && n != LIBSSH2_ERROR_EAGAIN)
			return failed(ssh->session, "receive", err);
		else if (wait_turn(ssh, &channel->limit, err) < 0)
			return -1;
	}
	return (ssize_t)done;
}

static int open_channel(struct ssh_session *ssh, struct error *err)
{
	while (!(ssh->channel = libssh2_channel_open_session(ssh->session))) {
		if (libssh2_session_last_errno(ssh->session) != LIBSSH2_ERROR_EAGAIN)
			return failed(ssh->session, "open channel", err);
		if (wait_turn(ssh, &ssh->limit, err) < 0)
			return -1;
	}
	return 0;
}

int ssh_session_exec(struct ssh_session *ssh, const char *command, struct channel *channel,
		     struct error *err)
{
	int result;
	if (open_channel(ssh, err) < 0)
		return -1;
	while ((result = libssh2_channel_exec(ssh->channel, command)) == LIBSSH2_ERROR_EAGAIN)
		if (wait_turn(ssh, &ssh->limit, err) < 0)
			return -1;
	if (result < 0)
		return failed(ssh->session, "start command", err);
	*channel = (struct channel){
		.read = ssh_read,
		.write = ssh_write,
		.in = -1,
		.out = -1,
		.limit = ssh->limit,
		.context = ssh,
	};
	return 0;
}

int ssh_session_end_channel(struct ssh_session *ssh, struct error *err)
{
	int result;
	while ((result = libssh2_channel_send_eof(ssh->channel)) == LIBSSH2_ERROR_EAGAIN)
		if (wait_turn(ssh, &ssh->limit, err) < 0)
			return -1;
	if (result < 0)
		return failed(ssh->session, "end of data", err);
	while ((result = libssh2_channel_close(ssh->channel)) == LIBSSH2_ERROR_EAGAIN)
		if (wait_turn(ssh, &ssh->limit, err) < 0)
			return -1;
	if (result < 0)
		return failed(ssh->session, "close channel", err);
	libssh2_channel_free(ssh->channel);
	ssh->channel = NULL;
	return 0;
}

void ssh_session_explain(struct ssh_session *ssh, struct error *err)
{
	char text[STDERR_BYTES];
	struct error why = *err;
	if (!ssh || !ssh->channel || err->kind != ERROR_PEER)
		return;
	ssize_t n = libssh2_channel_read_stderr(ssh->channel, text, sizeof(text) - 1);
	if (n <= 0)
		return;
	text[n] = '\0';
	error_set(err, why.kind, why.code, "%s; it said: %s", why.message, text_trim(text));
}

void ssh_session_close(struct ssh_session *ssh)
{
	if (!ssh)
		return;
	/* One try each: what does not fit in the socket now is not worth waiting for. */
	libssh2_session_disconnect(ssh->session, "done");
	if (ssh->fd >= 0)
		close(ssh->fd);
	/* Frees the channel too. */
	if (libssh2_session_free(ssh->session) == LIBSSH2_ERROR_EAGAIN)
		libssh2_session_free(ssh->session);
	ssh_batch_free(&ssh->batch);
	libssh2_exit();
	free(ssh);
}
