/* Files served by a private nginx and fetched by libcurl, several at once. The sink pulls.
 *
 * HTTP carries the contents of files. What else a tree has (names, folders, links, modes, times)
 * the sink takes from the list of files that both ends have, as a mirror program takes it from a
 * listing. */
#include <curl/curl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/api/program.h"
#include "harness/api/transport.h"
#include "harness/base/child.h"
#include "harness/base/cleanup.h"
#include "transports/http/http_fetch.h"
#include "transports/http/http_server.h"
#include "transports/wire/tls_secret.h"

#define STREAMS_MAX  64
#define PROBE_BYTES  4096
#define VERSION_MARK "nginx/"

struct http_options {
	uint64_t streams, workers;
	bool tls;
	int cipher;
};

static const struct option_def http_option_defs[] = {
	{ .name = "streams",
	  .type = OPTION_COUNT,
	  .offset = offsetof(struct http_options, streams),
	  .fallback = "4",
	  .min = 1,
	  .max = STREAMS_MAX,
	  .help = "files fetched at once, each on a connection that is used again" },
	{ .name = "tls",
	  .type = OPTION_FLAG,
	  .offset = offsetof(struct http_options, tls),
	  .fallback = "no",
	  .plain = "no",
	  .help = "https with TLS 1.3 and a throwaway key" },
	{ .name = "cipher",
	  .type = OPTION_CHOICE,
	  .offset = offsetof(struct http_options, cipher),
	  .fallback = "aes128-gcm",
	  .choices = tls_cipher_names,
	  .help = "with tls: the cipher suite" },
	{ .name = "workers",
	  .type = OPTION_COUNT,
	  .offset = offsetof(struct http_options, workers),
	  .fallback = "1",
	  .min = 1,
	  .max = HTTP_SERVER_MAX,
	  .help = "nginx processes; the kernel spreads connections over them by chance" },
	{ .name = NULL },
};

/* One end of a run. */
struct http {
	struct http_server *server; /* source */
	struct http_fetch *fetch;   /* sink */
	struct endpoint endpoint;
};

static int find_version(const char *program, const struct probe *probe, struct text *output,
			struct error *err)
{
	const char *const argv[] = { program, "-v", NULL };
	static const char *const env[] = { "PATH=" HTTP_SERVER_PATH, NULL };
	const struct child_spec spec = { .argv = argv, .env = env, .input = -1 };
	const struct io_limit limit = program_limit(probe);
	int status = 0;
	if (child_capture(&spec, &limit, PROBE_BYTES, output, &status, err) < 0)
		return -1;
	if (status == 0 && strstr(text_string(output), VERSION_MARK))
		return 0;
	return error_set(err, ERROR_UNAVAILABLE, 0, "%s does not say its version", program);
}

static int http_probe(const struct transport *transport, struct probe *probe, struct error *err)
{
	(void)transport;
	if (probe->side == XFER_SINK) {
		snprintf(probe->version, sizeof(probe->version), "libcurl %s",
			 curl_version_info(CURLVERSION_NOW)->version);
		return 0;
	}
	AUTO_TEXT output = { 0 };
	AUTO_FREE char *program = http_server_find(err);
	if (!program || find_version(program, probe, &output, err) < 0)
		return -1;
	const char *version = strstr(text_string(&output), VERSION_MARK) + strlen(VERSION_MARK);
	char number[64];
	snprintf(number, sizeof(number), "%.*s", (int)strspn(version, "0123456789."), version);
	snprintf(probe->version, sizeof(probe->version), "nginx %s", number);
	text_copy(probe->path, sizeof(probe->path), program);
	program_add(probe, "nginx", program, number, HTTP_SERVER_PATH);
	return 0;
}

static int http_check(const struct transport *transport, const void *values, enum preserve preserve,
		      struct error *err)
{
	const struct http_options *options = values;
	(void)transport;
	(void)preserve;
	if (options->tls || options->cipher == 0)
		return 0;
	return error_set(err, ERROR_CONFIG, 0, "cipher needs tls=yes: http does not encrypt");
}

static uint32_t http_streams(const void *options)
{
	return (uint32_t)((const struct http_options *)options)->streams;
}

static int http_prepare(struct xfer *xfer, struct error *err)
{
	const struct http_options *options = xfer->options;
	struct http *http = calloc(1, sizeof(*http));
	if (!http)
		abort();
	xfer->private = http;
	if (xfer->side == XFER_SOURCE)
		return 0;
	const struct http_fetch_terms terms = {
		.xfer = xfer,
		.streams = http_streams(options),
		.suite = options->tls ? tls_cipher_suites[options->cipher] : NULL,
	};
	return http_fetch_open(&http->fetch, &terms, err);
}

static int http_listen(struct xfer *xfer, struct endpoint *endpoint, struct error *err)
{
	const struct http_options *options = xfer->options;
	struct http *http = xfer->private;
	const struct http_server_terms terms = {
		.xfer = xfer,
		.processes = (uint32_t)options->workers,
		.tls = options->tls,
	};
	return http_server_open(&http->server, &terms, endpoint, err);
}

static int http_connect(struct xfer *xfer, const struct endpoint *endpoint, struct error *err)
{
	struct http *http = xfer->private;
	(void)err;
	http->endpoint = *endpoint; /* libcurl connects when it fetches */
	return 0;
}

static int http_receive(struct xfer *xfer, struct error *err)
{
	struct http *http = xfer->private;
	return http_fetch_run(http->fetch, &http->endpoint, err);
}

static void http_cleanup(struct xfer *xfer)
{
	struct http *http = xfer->private;
	if (!http)
		return;
	http_server_close(http->server);
	http_fetch_close(http->fetch);
	free(http);
	xfer->private = NULL;
}

const struct transport transport_http = {
	.name = "http",
	.summary =
		"files from a private nginx, fetched by libcurl; folders, links and modes come from "
		"the list",
	.driver = XFER_SINK,
	.caps = CAP_TOOL | CAP_STREAMS | CAP_SYMLINKS | CAP_EMPTY_FOLDERS | CAP_ANY_NAME |
		CAP_EMPTY_TREE,
	.options = http_option_defs,
	.options_size = sizeof(struct http_options),
	.probe = http_probe,
	.check = http_check,
	.streams = http_streams,
	.prepare = http_prepare,
	.listen = http_listen,
	.connect = http_connect,
	.receive = http_receive,
	.cleanup = http_cleanup,
};
