#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "harness/base/error.h"

static void test_set(void **state)
{
	(void)state;
	struct error err = { 0 };
	assert_int_equal(error_set(&err, ERROR_TOOL, 3, "%s has %d", "it", 4), -1);
	assert_int_equal(err.kind, ERROR_TOOL);
	assert_int_equal(err.code, 3);
	assert_string_equal(err.message, "it has 4");
	assert_int_equal(error_set(NULL, ERROR_TOOL, 0, "nobody listens"), -1);
}

static void test_system(void **state)
{
	(void)state;
	struct error err = { 0 };
	errno = ENOSPC;
	assert_int_equal(error_system(&err, "write %s", "x"), -1);
	assert_int_equal(err.kind, ERROR_SYSTEM);
	assert_int_equal(err.code, ENOSPC);
	assert_string_equal(err.message, "write x: No space left on device");
	assert_int_equal(error_system(NULL, "x"), -1);
}

static void test_wrap_keeps_kind_and_code(void **state)
{
	(void)state;
	struct error err = { 0 };
	error_set(&err, ERROR_PEER, 7, "inner");
	assert_int_equal(error_wrap(&err, "outer %d", 1), -1);
	assert_int_equal(error_wrap(&err, "top"), -1);
	assert_int_equal(err.kind, ERROR_PEER);
	assert_int_equal(err.code, 7);
	assert_string_equal(err.message, "top: outer 1: inner");
	assert_int_equal(error_wrap(NULL, "x"), -1);
}

static void test_long_messages_are_cut(void **state)
{
	(void)state;
	struct error err = { 0 };
	char big[2000];
	memset(big, 'b', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	error_set(&err, ERROR_CONFIG, 0, "%s", big);
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
	error_wrap(&err, "context");
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
	assert_int_equal(strncmp(err.message, "context: bbb", 12), 0);
	error_wrap(&err, "%s", big);
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
	errno = EIO;
	error_system(&err, "%s", big);
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
}

static void test_kind_names_read_back(void **state)
{
	(void)state;
	for (int kind = 0; kind < ERROR_KINDS; kind++) {
		const char *name = error_kind_name((enum error_kind)kind);
		assert_int_equal(error_kind_from_name(name), kind);
	}
	assert_int_equal(error_kind_from_name("no such kind"), ERROR_SYSTEM);
	assert_string_equal(error_kind_name(ERROR_KINDS), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_system),
		cmocka_unit_test(test_wrap_keeps_kind_and_code),
		cmocka_unit_test(test_long_messages_are_cut),
		cmocka_unit_test(test_kind_names_read_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
