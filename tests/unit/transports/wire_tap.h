/* A TCP proxy on the loopback that looks for a known text in what passes through it to the server:
 * whether a wire can be read is seen on the wire. */
#ifndef LINEFILL_TESTS_UNIT_TRANSPORTS_WIRE_TAP_H
#define LINEFILL_TESTS_UNIT_TRANSPORTS_WIRE_TAP_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/base/error.h"

/* Shared with the proxy's process. */
struct wire_counts {
	_Atomic uint64_t bytes, seen; /* to the server: all, and markers among them */
};

struct wire_tap {
	uint16_t port; /* where clients connect */
	struct wire_counts *counts;
	pid_t pid;
};

/* One connection at a time. */
int wire_tap_start(struct wire_tap *tap, uint16_t server_port, const char *marker,
		   struct error *err);
void wire_tap_stop(struct wire_tap *tap);

#endif
