/* Source of the http transport: private nginx processes that serve one folder to whoever knows the
 * secret path. They run as this user, with all their files in a folder of ours, and die with the
 * worker. */
#ifndef LINEFILL_TRANSPORTS_HTTP_HTTP_SERVER_H
#define LINEFILL_TRANSPORTS_HTTP_HTTP_SERVER_H

#include <stdbool.h>

#include "harness/api/xfer.h"

/* nginx finds no more than this. */
#define HTTP_SERVER_PATH "/usr/bin:/bin"
#define HTTP_SERVER_MAX  64

struct http_server;

struct http_server_terms {
	const struct xfer *xfer;
	uint32_t processes;
	bool tls;
};

/* The absolute path of nginx; the caller frees it. UNAVAILABLE says which package has it. */
char *http_server_find(struct error *err) MUST_CHECK;
/* Makes the configuration and starts nginx; returns when each process takes connections. On
 * failure, too, the caller closes *server. */
int http_server_open(struct http_server **server, const struct http_server_terms *terms,
		     struct endpoint *endpoint, struct error *err) MUST_CHECK;
/* Safe on NULL. */
void http_server_close(struct http_server *server);

#endif
