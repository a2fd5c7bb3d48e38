#include "transports/http/http_fetch.h"

#include <curl/curl.h>
#include <errno.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "transports/http/http_identity.h"
#include "transports/wire/tree_sink.h"
#include "transports/wire/wire.h"

#define STATUS_OK    200
#define BUFFER_BYTES (512L << 10) /* the most that this libcurl takes */
#define WAIT_MS      1000

/* One transfer at a time. */
struct slot {
	struct http_fetch *fetch;
	CURL *easy;
	const struct manifest_entry *entry; /* NULL while idle */
	int fd;
	uint64_t got;
	struct error error; /* why we stopped it */
};

struct http_fetch {
	struct xfer *xfer;
	CURLM *multi;
	const char *suite;
	char secret[HTTP_SECRET_SIZE], pin[HTTP_PIN_SIZE];
	struct text url;
	size_t base_length; /* of url, without a file's path */
	struct tree_sink sink;
	size_t next; /* entry of the manifest */
	uint32_t count, active;
	struct slot *slots;
};

void http_fetch_encode(struct text *url, const char *path)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789-._~/";
	for (const char *at = path; *at;) {
		size_t run = strspn(at, plain);
		text_add_bytes(url, at, run);
		at += run;
		if (*at)
			text_addf(url, "%%%02X", (unsigned char)*at++);
	}
}

/* What was negotiated, asked while the first contents come: later the connection is not at hand. */
static void note_cipher(struct slot *slot)
{
	struct xfer_report *report = slot->fetch->xfer->report;
	const struct curl_tlssessioninfo *session = NULL;
	if (!slot->fetch->suite || report->cipher[0])
		return;
	if (curl_easy_getinfo(slot->easy, CURLINFO_TLS_SSL_PTR, &session) == CURLE_OK && session &&
	    session->backend == CURLSSLBACKEND_OPENSSL && session->internals) {
		text_copy(report->cipher, sizeof(report->cipher),
			  SSL_get_cipher_name(session->internals));
		/* All suites of TLS 1.3 authenticate by themselves. */
		text_copy(report->mac, sizeof(report->mac), "implicit");
	}
}

static int write_all(int fd, const char *bytes, size_t count, struct error *err)
{
	for (size_t done = 0; done < count;) {
		ssize_t n = write(fd, bytes + done, count - done);
		if (n > 0)
			done += (size_t)n;
		else if (n < 0 && errno == ENOSPC)
			return error_set(err, ERROR_SYSTEM, ENOSPC, "no space left on device");
		else if (n < 0 && errno != EINTR)
			return error_system(err, "write");
	}
	return 0;
}

static int check_status(const struct slot *slot, struct error *err)
{
	long status = 0;
	curl_easy_getinfo(slot->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status == STATUS_OK)
		return 0;
	return error_set(err, ERROR_PEER, (int)status, "the server answered %ld", status);
}

static int take(struct slot *slot, const char *bytes, size_t count, struct error *err)
{
	if (slot->got == 0) {
		if (check_status(slot, err) < 0)
			return -1;
		note_cipher(slot);
	}
	if (count > slot->entry->size_bytes - slot->got)
		return error_set(err, ERROR_PEER, 0, "the server sent more than %llu bytes",
				 (unsigned long long)slot->entry->size_bytes);
	if (write_all(slot->fd, bytes, count, err) < 0)
		return -1;
	slot->got += count;
	xfer_progress_add(slot->fetch->xfer->progress, count);
	return 0;
}

/* Called by libcurl; anything but all of count stops the transfer. */
static size_t body(char *bytes, size_t size, size_t count, void *context)
{
	struct slot *slot = context;
	return take(slot, bytes, size * count, &slot->error) == 0 ? size * count : 0;
}

static bool set_number(CURL *easy, CURLoption option, long value)
{
	return curl_easy_setopt(easy, option, value) == CURLE_OK;
}

static bool set_string(CURL *easy, CURLoption option, const char *value)
{
	return curl_easy_setopt(easy, option, value) == CURLE_OK;
}

/* The key is what counts: the certificate is signed by nobody but itself. */
static bool set_up_tls(const struct http_fetch *fetch, CURL *easy)
{
	return set_number(easy, CURLOPT_SSL_VERIFYPEER, 0) &&
	       set_number(easy, CURLOPT_SSL_VERIFYHOST, 0) &&
	       set_string(easy, CURLOPT_PINNEDPUBLICKEY, fetch->pin) &&
	       set_number(easy, CURLOPT_SSL_SESSIONID_CACHE, 0) &&
	       set_number(easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_3) &&
	       set_string(easy, CURLOPT_TLS13_CIPHERS, fetch->suite);
}

static int set_up(struct slot *slot, struct error *err)
{
	const char *suite = slot->fetch->suite;
	CURL *easy = curl_easy_init();
	slot->easy = easy;
	/* No variable of the user's may send us elsewhere: hence no proxy. */
	if (easy && set_number(easy, CURLOPT_NOSIGNAL, 1) &&
	    set_string(easy, CURLOPT_PROTOCOLS_STR, suite ? "https" : "http") &&
	    set_number(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1) &&
	    set_string(easy, CURLOPT_PROXY, "") && set_string(easy, CURLOPT_NOPROXY, "*") &&
	    set_number(easy, CURLOPT_PATH_AS_IS, 1) && set_number(easy, CURLOPT_FAILONERROR, 1) &&
	    set_number(easy, CURLOPT_BUFFERSIZE, BUFFER_BYTES) &&
	    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, body) == CURLE_OK &&
	    curl_easy_setopt(easy, CURLOPT_WRITEDATA, slot) == CURLE_OK &&
	    curl_easy_setopt(easy, CURLOPT_PRIVATE, slot) == CURLE_OK &&
	    (!suite || set_up_tls(slot->fetch, easy)))
		return 0;
	return error_set(err, ERROR_UNAVAILABLE, 0, "this libcurl lacks something that is needed");
}

int http_fetch_open(struct http_fetch **opened, const struct http_fetch_terms *terms,
		    struct error *err)
{
	struct http_fetch *fetch = calloc(1, sizeof(*fetch));
	if (!fetch || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		abort();
	*opened = fetch;
	fetch->xfer = terms->xfer;
	fetch->suite = terms->suite;
	fetch->sink.beneath = BENEATH_CLOSED;
	fetch->multi = curl_multi_init();
	fetch->slots = calloc(terms->streams, sizeof(fetch->slots[0]));
	if (!fetch->multi || !fetch->slots)
		abort();
	curl_multi_setopt(fetch->multi, CURLMOPT_MAXCONNECTS, (long)terms->streams);
	curl_multi_setopt(fetch->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, (long)terms->streams);
	if (http_identity_secret(terms->xfer->token, fetch->secret, err) < 0 ||
	    (terms->suite && http_identity_pin(terms->xfer->token, fetch->pin, err) < 0))
		return -1;
	while (fetch->count < terms->streams) {
		struct slot *slot = &fetch->slots[fetch->count++];
		*slot = (struct slot){ .fetch = fetch, .fd = -1 };
		if (set_up(slot, err) < 0)
			return -1;
	}
	return 0;
}

static int name_it(const struct manifest_entry *entry, struct error *err)
{
	char shown[MANIFEST_SHOWN_SIZE];
	return error_wrap(err, "%s", manifest_shown(shown, entry->path));
}

static int start(struct slot *slot, const struct manifest_entry *entry, struct error *err)
{
	struct http_fetch *fetch = slot->fetch;
	if (tree_sink_file(&fetch->sink, entry->path, &slot->fd, err) < 0)
		return -1;
	slot->got = 0;
	fetch->url.length = fetch->base_length;
	http_fetch_encode(&fetch->url, entry->path);
	if (curl_easy_setopt(slot->easy, CURLOPT_URL, text_string(&fetch->url)) != CURLE_OK ||
	    curl_multi_add_handle(fetch->multi, slot->easy) != CURLM_OK) {
		error_set(err, ERROR_SYSTEM, 0, "libcurl did not take the URL");
		return name_it(entry, err);
	}
	slot->entry = entry;
	fetch->active++;
	return 0;
}

/* Folders and links are made on the way, files fetched while there is a free slot. */
static int start_more(struct http_fetch *fetch, struct error *err)
{
	const struct manifest *files = fetch->xfer->files;
	for (uint32_t i = 0; fetch->next < files->count && fetch->active < fetch->count;) {
		const struct manifest_entry *entry = &files->entries[fetch->next];
		int result = 0;
		if (entry->type == MANIFEST_FOLDER)
			result = tree_sink_folder(&fetch->sink, entry->path, entry->mode, err);
		else if (entry->type == MANIFEST_LINK)
			result = tree_sink_link(&fetch->sink, entry->path, entry->target, err);
		else {
			while (fetch->slots[i].entry)
				i++;
			result = start(&fetch->slots[i], entry, err);
		}
		if (result < 0)
			return -1;
		fetch->next++;
	}
	return 0;
}

static int judge(const struct slot *slot, CURLcode code, struct error *err)
{
	if (slot->error.kind != ERROR_NONE) {
		*err = slot->error;
		return -1;
	}
	if (code == CURLE_HTTP_RETURNED_ERROR)
		return check_status(slot, err);
	if (code == CURLE_PARTIAL_FILE ||
	    (code == CURLE_OK && slot->got < slot->entry->size_bytes &&
	     check_status(slot, err) == 0))
		return error_set(err, ERROR_PEER, 0, "the server sent %llu of %llu bytes",
				 (unsigned long long)slot->got,
				 (unsigned long long)slot->entry->size_bytes);
	if (code != CURLE_OK)
		return error_set(err, ERROR_PEER, (int)code, "libcurl: %s",
				 curl_easy_strerror(code));
	return check_status(slot, err);
}

static int conclude(struct slot *slot, CURLcode code, struct error *err)
{
	struct http_fetch *fetch = slot->fetch;
	const struct manifest_entry *entry = slot->entry;
	AUTO_FD fd = take_fd(&slot->fd);
	long connections = 0;
	curl_multi_remove_handle(fetch->multi, slot->easy);
	if (curl_easy_getinfo(slot->easy, CURLINFO_NUM_CONNECTS, &connections) == CURLE_OK)
		fetch->xfer->report->streams += (uint32_t)connections;
	int result = judge(slot, code, err);
	slot->entry = NULL;
	fetch->active--;
	if (result < 0 ||
	    tree_sink_file_done(&fetch->sink, fd, entry->mode, entry->mtime_s, err) < 0)
		return name_it(entry, err);
	if (close(take_fd(&fd)) < 0)
		return error_system(err, "close %s", entry->path);
	atomic_fetch_add_explicit(&fetch->xfer->progress->files, 1, memory_order_relaxed);
	return 0;
}

/* Takes back what has ended; *some says whether there was any. */
static int conclude_some(struct http_fetch *fetch, bool *some, struct error *err)
{
	int left = 0;
	const CURLMsg *message;
	*some = false;
	while ((message = curl_multi_info_read(fetch->multi, &left))) {
		char *slot = NULL;
		CURLcode code = message->data.result;
		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &slot);
		if (conclude((struct slot *)(void *)slot, code, err) < 0)
			return -1;
		*some = true;
	}
	return 0;
}

static int check_limit(const struct io_limit *limit, struct error *err)
{
	if (cancel_requested(limit->cancel))
		return error_set(err, ERROR_CANCELLED, 0, "stopped on request");
	if (clock_poll_ms(limit->deadline_ns) == 0)
		return error_set(err, ERROR_TIMEOUT, 0, "the deadline passed");
	return 0;
}

static int wait_turn(const struct http_fetch *fetch, const struct io_limit *limit,
		     struct error *err)
{
	int left = clock_poll_ms(limit->deadline_ns);
	int cancel = limit->cancel ? limit->cancel->fd : -1;
	struct curl_waitfd extra = { .fd = cancel, .events = CURL_WAIT_POLLIN };
	int wait = left >= 0 && left < WAIT_MS ? left : WAIT_MS;
	CURLMcode code = curl_multi_poll(fetch->multi, &extra, cancel >= 0, wait, NULL);
	if (code != CURLM_OK)
		return error_set(err, ERROR_SYSTEM, code, "libcurl: %s", curl_multi_strerror(code));
	return 0;
}

static int fetch_all(struct http_fetch *fetch, struct error *err)
{
	const struct io_limit limit = xfer_limit(fetch->xfer);
	for (;;) {
		int running = 0;
		bool some = false;
		if (check_limit(&limit, err) < 0 || start_more(fetch, err) < 0)
			return -1;
		if (fetch->active == 0)
			return 0;
		CURLMcode code = curl_multi_perform(fetch->multi, &running);
		if (code != CURLM_OK)
			return error_set(err, ERROR_SYSTEM, code, "libcurl: %s",
					 curl_multi_strerror(code));
		if (conclude_some(fetch, &some, err) < 0)
			return -1;
		if (!some && wait_turn(fetch, &limit, err) < 0)
			return -1;
	}
}

/* The modes that had to wait, innermost folders first. */
static int set_late_modes(struct http_fetch *fetch, struct error *err)
{
	const struct manifest *files = fetch->xfer->files;
	for (size_t i = files->count; i-- > 0;) {
		const struct manifest_entry *entry = &files->entries[i];
		if (entry->type == MANIFEST_FOLDER &&
		    wire_mode_is_late(fetch->xfer->preserve, entry->mode) &&
		    tree_sink_folder_mode(&fetch->sink, entry->path, entry->mode, err) < 0)
			return -1;
	}
	return 0;
}

int http_fetch_run(struct http_fetch *fetch, const struct endpoint *endpoint, struct error *err)
{
	bool v6 = strchr(endpoint->host, ':') != NULL;
	text_addf(&fetch->url, "%s://%s%s%s:%u/%s/", fetch->suite ? "https" : "http", v6 ? "[" : "",
		  endpoint->host, v6 ? "]" : "", endpoint->port, fetch->secret);
	fetch->base_length = fetch->url.length;
	if (tree_sink_open(&fetch->sink, fetch->xfer->root, fetch->xfer->preserve, err) < 0 ||
	    fetch_all(fetch, err) < 0)
		return -1;
	return set_late_modes(fetch, err);
}

void http_fetch_close(struct http_fetch *fetch)
{
	if (!fetch)
		return;
	for (uint32_t i = 0; i < fetch->count; i++) {
		struct slot *slot = &fetch->slots[i];
		if (slot->entry)
			curl_multi_remove_handle(fetch->multi, slot->easy);
		if (slot->fd >= 0)
			close(slot->fd);
		curl_easy_cleanup(slot->easy);
	}
	curl_multi_cleanup(fetch->multi);
	curl_global_cleanup();
	tree_sink_close(&fetch->sink);
	text_free(&fetch->url);
	free(fetch->slots);
	free(fetch);
}
