/* What a reader of the results must know of a host. */
#ifndef LINEFILL_AGENT_HOSTFACTS_H
#define LINEFILL_AGENT_HOSTFACTS_H

#include <jansson.h>

#include "harness/base/error.h"

/* Adds hostname, kernel, os, cpu_model, cpus, memory_bytes, linefill_version to an object. */
int hostfacts_collect(json_t *facts, struct error *err) MUST_CHECK;

#endif
