#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "harness/base/cleanup.h"
#include "transports/registry.h"

static size_t count_all(void)
{
	size_t count = 0;
	while (transport_all()[count])
		count++;
	return count;
}

static void test_built_in(void **state)
{
	static const char *const names[] = { "null", "tcp", "multi" };
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_non_null(transport_find(names[i]));
		assert_string_equal(transport_all()[i]->name, names[i]);
	}
	assert_null(transport_find("nothing"));
	assert_null(transport_find(""));
}

/* ssh is there, or it is said why it is not. */
static void test_missing(void **state)
{
	const char *name = NULL;
	const char *reason = NULL;
	bool missing = false;
	(void)state;
	for (size_t i = 0; transport_missing(i, &name, &reason); i++) {
		assert_non_null(strstr(reason, "built without"));
		missing = missing || strcmp(name, "ssh") == 0;
	}
	assert_int_equal(missing, transport_find("ssh") == NULL);
}

static void test_add(void **state)
{
	const struct transport *tcp = transport_find("tcp");
	static struct transport first, second, other, taken; /* they outlive this */
	struct error err = { 0 };
	size_t before = count_all();
	first = second = other = taken = *tcp;
	first.name = second.name = "mine";
	other.name = "other";
	(void)state;
	assert_int_equal(transport_registry_add(&first, &err), 0);
	assert_int_equal(transport_registry_add(&other, &err), 0);
	assert_ptr_equal(transport_find("mine"), &first);
	assert_int_equal(transport_registry_add(&second, &err), 0);
	assert_ptr_equal(transport_find("mine"), &second);
	assert_int_equal(count_all(), before + 2);
	assert_ptr_equal(transport_all()[before], &second);
	assert_int_equal(transport_registry_add(&taken, &err), -1);
	assert_int_equal(err.kind, ERROR_CONFIG);
	assert_ptr_equal(transport_find("tcp"), tcp);
}

/* One that would crash when it runs is refused by its name. What is missing is known to the tests
 * of the contract; that built-in ones are refused too is shown by a copy of the tree. */
static void test_broken(void **state)
{
	static const struct transport broken = { .name = "broken", .summary = "no calls at all" };
	const char *name = NULL;
	const char *reason = NULL;
	struct error err = { 0 };
	(void)state;
	assert_int_equal(transport_registry_add(&broken, &err), -1);
	assert_string_equal(err.message, "transport 'broken' breaks the contract of "
					 "harness/api/transport.h: .probe is missing");
	assert_null(transport_find("broken"));
	assert_false(transport_refused(0, &name, &reason));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_built_in),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_add),
		cmocka_unit_test(test_broken),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
