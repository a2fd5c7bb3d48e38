#include "transports/registry.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"

/* TRANSPORTS(entry) and MISSING(entry), made by add_transport() in CMakeLists.txt. */
#include "transports/registry_list.h"

#define DECLARE(name) extern const struct transport transport_##name;
TRANSPORTS(DECLARE)

#define LIST(name) &transport_##name,
static const struct transport *const built_in[] = { TRANSPORTS(LIST) };

#define MISS(name, reason) { name, reason },
static const struct {
	const char *name, *reason;
} missing[] = { MISSING(MISS){ NULL, NULL } };

/* All of them; NULL until one is added or asked for. */
static const struct transport **registered;
static size_t registered_count;

static void grow(size_t count)
{
	const struct transport **more = realloc(registered, (count + 1) * sizeof(registered[0]));
	if (!more)
		abort();
	registered = more;
}

static void start(void)
{
	if (registered)
		return;
	grow(ARRAY_SIZE(built_in));
	memcpy(registered, built_in, sizeof(built_in));
	registered_count = ARRAY_SIZE(built_in);
	registered[registered_count] = NULL;
}

const struct transport *const *transport_all(void)
{
	start();
	return registered;
}

const struct transport *transport_find(const char *name)
{
	start();
	for (size_t i = 0; i < registered_count; i++)
		if (strcmp(registered[i]->name, name) == 0)
			return registered[i];
	return NULL;
}

int transport_registry_add(const struct transport *transport, struct error *err)
{
	start();
	for (size_t i = 0; i < registered_count; i++) {
		if (strcmp(registered[i]->name, transport->name) != 0)
			continue;
		if (i < ARRAY_SIZE(built_in))
			return error_set(err, ERROR_CONFIG, 0,
					 "'%s' is the name of a built-in transport",
					 transport->name);
		registered[i] = transport;
		return 0;
	}
	grow(registered_count + 1);
	registered[registered_count++] = transport;
	registered[registered_count] = NULL;
	return 0;
}

bool transport_missing(size_t i, const char **name, const char **reason)
{
	for (size_t at = 0; missing[at].name; at++) {
		*name = missing[at].name;
		*reason = missing[at].reason;
		if (at == i)
			return true;
	}
	return false;
}
