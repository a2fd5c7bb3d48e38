/* What stays on the loopback unless the user says otherwise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/base/cleanup.h"
#include "harness/study/safety.h"

struct values {
	char cipher[OPTION_TEXT_SIZE];
};

static const struct option_def options[] = {
	{ .name = "cipher", .type = OPTION_LIST, .fallback = "", .plain = "none", .help = "" },
	{ 0 },
};

static void test_loopback(void **state)
{
	(void)state;
	static const struct {
		const char *host;
		bool loopback;
	} cases[] = {
		{ "127.0.0.1", true }, { "127.9.8.7", true },        { "::1", true },
		{ "10.0.0.1", false }, { "128.0.0.1", false },       { "0.0.0.0", false },
		{ "::", false },       { "fe80::1", false },         { "localhost", false },
		{ "", false },         { "::ffff:10.0.0.1", false },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(safety_is_loopback(cases[i].host), cases[i].loopback);
}

static void test_cases(void **state)
{
	static const char *const sshd[] = { "sshd", NULL };
	(void)state;
	const struct transport open = { .name = "open", .caps = CAP_OPEN_LISTENER, .plain = true };
	const struct transport any = { .name = "any",
				       .caps = CAP_OPEN_LISTENER | CAP_ANY_ADDRESS,
				       .plain = true };
	const struct transport plain = { .name = "plain", .plain = true };
	const struct transport ssh = { .name = "ssh", .needs = sshd, .options = options };
	const struct safety_leave none = { .plaintext = false };
	const struct safety_leave all = { .plaintext = true, .open_listener = true };
	const struct safety_leave text = { .plaintext = true };
	const struct {
		const struct transport *transport;
		const char *option, *cipher, *host;
		bool own;
		const struct safety_leave *leave;
		bool allowed;
	} cases[] = {
		{ &open, "", "", "127.0.0.1", true, &none, true },
		{ &open, "", "", "10.0.0.1", false, &none, false },
		{ &open, "", "", "10.0.0.1", false, &text, false },
		{ &open, "", "", "10.0.0.1", true, &all, true },
		{ &any, "", "", "127.0.0.1", false, &none, false },
		{ &any, "", "", "::1", false, &text, false },
		{ &any, "", "", "127.0.0.1", true, &all, true },
		{ &any, "", "", "10.0.0.1", false, &all, true },
		{ &plain, "", "", "10.0.0.1", false, &none, true },
		{ &plain, "", "", "10.0.0.1", true, &none, false },
		{ &plain, "", "", "10.0.0.1", true, &text, true },
		{ &ssh, "", "aes128-ctr", "10.0.0.1", true, &none, true },
		{ &ssh, "", "", "10.0.0.1", true, &none, true },
		{ &ssh, "", "none", "10.0.0.1", true, &none, false },
		{ &ssh, "none", "aes128-ctr", "10.0.0.1", true, &none, false },
		{ &ssh, "none", "none", "::1", true, &none, true },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct values values = { .cipher = "" };
		struct error err = { 0 };
		text_copy(values.cipher, sizeof(values.cipher), cases[i].option);
		const struct safety_case item = { .transport = cases[i].transport,
						  .options = &values,
						  .cipher = cases[i].cipher,
						  .listening_host = cases[i].host,
						  .users_own = cases[i].own };
		int result = safety_check(&item, cases[i].leave, &err);
		assert_int_equal(result, cases[i].allowed ? 0 : -1);
		if (!cases[i].allowed)
			assert_int_equal(err.kind, ERROR_UNSUPPORTED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loopback),
		cmocka_unit_test(test_cases),
	};
	return cmocka_run_group_tests_name("safety", tests, NULL, NULL);
}
