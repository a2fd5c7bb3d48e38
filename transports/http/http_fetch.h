/* Sink of the http transport: fetches the files of a manifest with libcurl, several at once, and
 * writes them beneath a folder. One thread; memory is that of the parallel transfers, however many
 * files there are. */
#ifndef LINEFILL_TRANSPORTS_HTTP_HTTP_FETCH_H
#define LINEFILL_TRANSPORTS_HTTP_HTTP_FETCH_H

#include "harness/api/xfer.h"
#include "harness/base/text.h"

struct http_fetch;

struct http_fetch_terms {
	struct xfer *xfer;
	uint32_t streams;  /* transfers at once, each on a connection that is used again */
	const char *suite; /* TLS 1.3 cipher suite; NULL: no TLS */
};

/* Makes everything that needs no connection. On failure, too, the caller closes *fetch. */
int http_fetch_open(struct http_fetch **fetch, const struct http_fetch_terms *terms,
		    struct error *err) MUST_CHECK;
/* The whole tree: contents from the server at the endpoint, all else from the manifest. A file that
 * is not there, or shorter or longer than the manifest says, is a PEER error that names it. */
int http_fetch_run(struct http_fetch *fetch, const struct endpoint *endpoint,
		   struct error *err) MUST_CHECK;
/* Safe on NULL. */
void http_fetch_close(struct http_fetch *fetch);

/* A path as part of a URL: every byte that is not unreserved (RFC 3986, 2.3) or '/' as %XX. */
void http_fetch_encode(struct text *url, const char *path);

#endif
