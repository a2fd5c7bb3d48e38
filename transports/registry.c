#include "transports/registry.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/text.h"

/* TRANSPORTS(entry) and MISSING(entry), made by add_transport() in CMakeLists.txt. */
#include "transports/registry_list.h"

#define DECLARE(name) extern const struct transport transport_##name;
TRANSPORTS(DECLARE)

#define LIST(name) { #name, &transport_##name },
static const struct {
	const char *identifier; /* with '_' where the name has '-' */
	const struct transport *transport;
} built_in[] = { TRANSPORTS(LIST) };

static struct {
	char name[64];
	struct error reason;
} refused[ARRAY_SIZE(built_in)];
static size_t refused_count;

#define MISS(name, reason) { name, reason },
static const struct {
	const char *name, *reason;
} missing[] = { MISSING(MISS){ NULL, NULL } };

/* All of them; NULL until one is added or asked for. */
static const struct transport **registered;
static size_t registered_count, good_count; /* the latter: of those that are built in */

static void grow(size_t count)
{
	const struct transport **more = realloc(registered, (count + 1) * sizeof(registered[0]));
	if (!more)
		abort();
	registered = more;
}

static int broken(const char *name, struct error *err)
{
	return error_wrap(err, "transport '%s' breaks the contract of harness/api/transport.h",
			  name);
}

static void take_built_in(const char *identifier, const struct transport *transport)
{
	char name[sizeof(refused[0].name)];
	struct error reason = { 0 };
	text_copy(name, sizeof(name), identifier);
	for (char *s = name; *s; s++)
		*s = *s == '_' ? '-' : *s;
	if (transport_check_contract(transport, name, &reason) == 0) {
		registered[registered_count++] = transport;
		return;
	}
	broken(name, &reason);
	text_copy(refused[refused_count].name, sizeof(name), name);
	refused[refused_count++].reason = reason;
}

static void start(void)
{
	if (registered)
		return;
	grow(ARRAY_SIZE(built_in));
	for (size_t i = 0; i < ARRAY_SIZE(built_in); i++)
		take_built_in(built_in[i].identifier, built_in[i].transport);
	good_count = registered_count;
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
	if (transport_check_contract(transport, NULL, err) < 0)
		return broken(transport->name ? transport->name : "", err);
	for (size_t i = 0; i < registered_count; i++) {
		if (strcmp(registered[i]->name, transport->name) != 0)
			continue;
		if (i < good_count)
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

bool transport_refused(size_t i, const char **name, const char **reason)
{
	start();
	if (i >= refused_count)
		return false;
	*name = refused[i].name;
	*reason = refused[i].reason.message;
	return true;
}
