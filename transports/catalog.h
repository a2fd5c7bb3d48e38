/* All transports there are for a user: the built-in ones, and the tools described by files in
 * linefill's own folder, the user's (~/.config/linefill/tools) and folders given on the command
 * line. */
#ifndef LINEFILL_TRANSPORTS_CATALOG_H
#define LINEFILL_TRANSPORTS_CATALOG_H

#include <stddef.h>

#include "harness/api/transport.h"
#include "harness/base/error.h"

/* Loads the shipped and the user's folder. Once a process. Files with mistakes become problems, and
 * so do built-in modules that were refused. */
void catalog_load(void);
/* Adds a folder's tool files; they win over earlier ones of the same name. */
void catalog_add_folder(const char *folder);
/* CONFIG, with the nearest name, when there is none; UNAVAILABLE when this build lacks it. */
const struct transport *catalog_transport(const char *name, struct error *err) MUST_CHECK;
/* The i-th tool file that could not be loaded, or module that was refused, and why; NULL past the
 * end. */
const char *catalog_problem(size_t i);

#endif
