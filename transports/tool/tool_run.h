/* What a tool does in a run: the operations of a transport that is made from a tool file. */
#ifndef LINEFILL_TRANSPORTS_TOOL_TOOL_RUN_H
#define LINEFILL_TRANSPORTS_TOOL_TOOL_RUN_H

#include "harness/api/transport.h"

/* See harness/api/transport.h. */
int tool_run_probe(const struct transport *transport, struct probe *probe, struct error *err);
int tool_run_check(const struct transport *transport, const void *options, enum preserve preserve,
		   struct error *err);
int tool_run_prepare(struct xfer *xfer, struct error *err);
int tool_run_listen(struct xfer *xfer, struct endpoint *endpoint, struct error *err);
int tool_run_connect(struct xfer *xfer, const struct endpoint *endpoint, struct error *err);
/* send or receive of the driving end, and of the other one where its server ends by itself. */
int tool_run_drive(struct xfer *xfer, struct error *err);
int tool_run_await(struct xfer *xfer, struct error *err);
void tool_run_cleanup(struct xfer *xfer);

#endif
