/* Runs both halves of a transport in two forked processes, without the engine: for tests. */
#ifndef LINEFILL_TESTS_CONTRACT_PAIR_H
#define LINEFILL_TESTS_CONTRACT_PAIR_H

#include <stdbool.h>

#include "harness/api/manifest.h"
#include "harness/api/transport.h"
#include "harness/base/usage.h"

struct pair_spec {
	const struct transport *transport;
	const char *options; /* "key=value,..." or NULL */
	const char *source_root, *sink_root, *scratch;
	const struct manifest *files;
	const char *host;              /* NULL: 127.0.0.1 */
	const struct service *service; /* NULL: none */
	enum preserve preserve;
	double seconds;   /* deadline of both halves; 0: 60 */
	bool wrong_token; /* the source shows a token that is not the sink's */
	/* Called in the listening half's process once the other one knows where. Optional. */
	void (*when_listening)(const struct endpoint *endpoint, void *context);
	/* Called in the driving half's process, which connects to what it leaves in *endpoint.
	 * Optional. */
	void (*when_known)(struct endpoint *endpoint, void *context);
	void *context;
};

struct pair_half {
	int wait_status; /* of its process: anything but 0 is a crash or a leak */
	struct error error;
	struct xfer_report report;
	struct xfer_progress progress;
	double seconds;     /* from GO until it ended */
	struct usage usage; /* of its process */
};

struct pair_result {
	struct pair_half source, sink;
	double total_s; /* from GO to the later end */
};

/* Fills *result. 0 when both halves were fine; -1 with one of their errors, the sink's if it is not
 * of kind PEER. */
int pair_run(const struct pair_spec *spec, struct pair_result *result, struct error *err);

#endif
