/* Which transports there are: the built-in ones in the order of CMakeLists.txt, then those that
 * were added while the program started. A module that breaks the contract is refused, and it is
 * said what is wrong with it. Not for use by several threads while one adds. */
#ifndef LINEFILL_TRANSPORTS_REGISTRY_H
#define LINEFILL_TRANSPORTS_REGISTRY_H

#include <stddef.h>

#include "harness/api/transport.h"

/* The transport of that name, or NULL. */
const struct transport *transport_find(const char *name);
/* All of them, ends with NULL; good until the next transport_registry_add. */
const struct transport *const *transport_all(void);
/* The transport must outlive the registry's use. One with a name that is taken replaces the one
 * added earlier and keeps its place, so that a user's tool file wins over the installed one; the
 * names of built-in transports cannot be taken, and one that breaks the contract is refused: a
 * CONFIG error. */
int transport_registry_add(const struct transport *transport, struct error *err) MUST_CHECK;
/* The i-th transport that this build lacks: its name, and why. False past the end. */
bool transport_missing(size_t i, const char **name, const char **reason);
/* The i-th built-in transport that was refused: its name, and why. False past the end. */
bool transport_refused(size_t i, const char **name, const char **reason);

#endif
