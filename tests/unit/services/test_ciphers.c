/* The cipher ceiling: every pair is there once, and each figure is one or has a reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "harness/services/ciphers.h"

struct seen {
	size_t count, unknown;
	double ctr, both, none;
};

static void take(const struct cipher_speed *speed, void *context)
{
	struct seen *seen = context;
	seen->count++;
	seen->unknown += speed->reason != NULL;
	assert_int_equal(isnan(speed->mb_per_s), speed->reason != NULL);
	if (!speed->reason)
		assert_true(speed->mb_per_s > 1 && speed->mb_per_s < 1e6);
	if (strcmp(speed->cipher, "aes128-ctr") == 0 && strcmp(speed->mac, "none") == 0)
		seen->ctr = speed->mb_per_s;
	if (strcmp(speed->cipher, "aes128-ctr") == 0 && strcmp(speed->mac, "hmac-sha2-256") == 0)
		seen->both = speed->mb_per_s;
	if (strcmp(speed->cipher, "none") == 0 && strcmp(speed->mac, "hmac-sha2-256") == 0)
		seen->none = speed->mb_per_s;
}

static void test_pairs(void **state)
{
	struct seen seen = { 0 };
	struct error err = { 0 };
	(void)state;
	if (ciphers_measure(0.02, take, &seen, NULL, &err) < 0)
		fail_msg("%s", err.message);
	/* 6 ciphers with 4 MACs each, 3 that authenticate, 2 UMACs; unknown are these and none with
	 * none. */
	assert_int_equal(seen.count, 6 * 4 + 3 + 2);
	assert_int_equal(seen.unknown, 2 + 1);
	/* Both together cost about as much as each alone; wide, for a busy machine. */
	double expected = 1 / (1 / seen.ctr + 1 / seen.none);
	assert_true(seen.both > expected / 3 && seen.both < expected * 3);
}

static void count(const char *cipher, const char *mac, void *context)
{
	assert_true(*cipher && *mac);
	++*(size_t *)context;
}

static void test_list(void **state)
{
	struct error err = { 0 };
	size_t told = 0;
	const struct ciphers_watch watch = { .measuring = count, .context = &told };
	(void)state;
	json_t *list = ciphers_list(0.001, &watch, &err);
	assert_int_equal(told, 6 * 4 + 3);
	size_t i;
	json_t *object;
	assert_non_null(list);
	json_array_foreach(list, i, object)
	{
		bool available = json_is_true(json_object_get(object, "available"));
		assert_true(json_is_string(json_object_get(object, "cipher")));
		assert_true(json_is_string(json_object_get(object, "mac")));
		assert_int_equal(json_integer_value(json_object_get(object, "packet_bytes")),
				 CIPHERS_PACKET_BYTES);
		assert_int_equal(json_object_get(object, "mb_per_s") != NULL, available);
		assert_int_equal(json_object_get(object, "reason") == NULL, available);
	}
	json_decref(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_list),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
