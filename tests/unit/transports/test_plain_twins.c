/* What a transport names as its like without encryption is one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "transports/catalog.h"
#include "transports/registry.h"

/* Always in the clear, or by an option's default. */
static bool can_be_plain(const struct transport *transport)
{
	bool plain = transport->plain;
	for (const struct option_def *def = transport->options; def && def->name; def++)
		plain |= def->plain && strcmp(def->plain, def->fallback) == 0;
	return plain;
}

static void test_twins_are_plain(void **state)
{
	(void)state;
	size_t named = 0;
	for (const struct transport *const *all = transport_all(); *all; all++) {
		const struct transport *transport = *all;
		for (const char *const *twin = transport->plain_twins; twin && *twin; twin++) {
			struct error err = { 0 };
			const struct transport *found = catalog_transport(*twin, &err);
			if (!found && err.kind == ERROR_UNAVAILABLE)
				continue; /* not in this build */
			if (!found || !can_be_plain(found) || can_be_plain(transport))
				fail_msg("%s names %s", transport->name, *twin);
			named++;
		}
	}
	/* tls, and four tools. */
	assert_true(named >= 5);
}

static int load(void **state)
{
	(void)state;
	catalog_add_folder(TOOLS_FOLDER);
	catalog_load();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_twins_are_plain),
	};
	return cmocka_run_group_tests(tests, load, NULL);
}
