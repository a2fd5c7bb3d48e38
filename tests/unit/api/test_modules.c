/* Modules that break the contract of transport.h or dataset.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "harness/api/dataset.h"
#include "harness/api/transport.h"
#include "harness/base/cleanup.h"

static int probe(const struct transport *transport, struct probe *found, struct error *err)
{
	(void)transport;
	(void)found;
	(void)err;
	return 0;
}

static int act(struct xfer *xfer, struct error *err)
{
	(void)xfer;
	(void)err;
	return 0;
}

static void cleanup(struct xfer *xfer)
{
	(void)xfer;
}

struct values {
	bool flag;
};
static const struct option_def options[] = {
	{ .name = "flag", .type = OPTION_FLAG, .fallback = "no", .help = "h" }, { .name = NULL }
};
static const char *const needs[] = { "sshd", NULL };

static const struct transport whole = {
	.name = "mine",
	.summary = "s",
	.driver = XFER_SOURCE,
	.caps = CAP_TWO_ENDED,
	.options = options,
	.options_size = sizeof(struct values),
	.probe = probe,
	.prepare = act,
	.send = act,
	.receive = act,
	.cleanup = cleanup,
};

static void refused(const struct transport *transport, const char *problem)
{
	struct error err = { 0 };
	assert_int_equal(transport_check_contract(transport, "mine", &err), -1);
	assert_int_equal(err.kind, ERROR_CONFIG);
	if (!strstr(err.message, problem))
		fail_msg("'%s' instead of '%s'", err.message, problem);
}

#define REFUSED(member, value, problem)       \
	do {                                  \
		struct transport bad = whole; \
		bad.member = value;           \
		refused(&bad, problem);       \
	} while (0)

static void test_what_every_transport_needs(void **state)
{
	(void)state;
	assert_int_equal(transport_check_contract(&whole, "mine", NULL), 0);
	assert_int_equal(transport_check_contract(&whole, NULL, NULL), 0);
	REFUSED(name, NULL, ".name is missing");
	REFUSED(name, "", ".name is missing");
	REFUSED(name, "null", ".name is 'null' instead of 'mine'");
	REFUSED(summary, NULL, ".summary is missing");
	REFUSED(driver, (enum xfer_side)7, ".driver is neither");
	REFUSED(caps, CAP_TWO_ENDED | 1u << 31, ".caps has the unknown bit 0x80000000");
	REFUSED(probe, NULL, ".probe is missing");
	REFUSED(prepare, NULL, ".prepare is missing");
	REFUSED(send, NULL, ".send is missing");
	REFUSED(receive, NULL, ".receive is missing");
	REFUSED(cleanup, NULL, ".cleanup is missing");
	REFUSED(options_size, 0, "option flag lies outside");
}

/* A service, or a program that is no two-ended transport, may do the listening end alone; never the
 * driving one. */
static void test_who_does_an_end(void **state)
{
	static const struct {
		enum xfer_side driver;
		const char *const *needs;
		uint32_t caps;
		bool sends, receives;
		const char *problem;
	} cases[] = {
		{ XFER_SOURCE, needs, 0, true, false, NULL },
		{ XFER_SOURCE, needs, 0, false, true, ".send" },
		{ XFER_SOURCE, needs, CAP_TWO_ENDED, true, false, ".receive" },
		{ XFER_SOURCE, NULL, 0, true, false, ".receive" },
		{ XFER_SINK, NULL, CAP_TOOL, false, true, NULL },
		{ XFER_SINK, NULL, CAP_TOOL, true, false, ".receive" },
		{ XFER_SINK, NULL, 0, false, true, ".send" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct transport one = whole;
		one.driver = cases[i].driver;
		one.needs = cases[i].needs;
		one.caps = cases[i].caps;
		one.send = cases[i].sends ? act : NULL;
		one.receive = cases[i].receives ? act : NULL;
		if (cases[i].problem)
			refused(&one, cases[i].problem);
		else
			assert_int_equal(transport_check_contract(&one, "mine", NULL), 0);
	}
}

static int plan(const void *values, struct dataset_estimate *estimate, struct error *err)
{
	(void)values;
	(void)estimate;
	(void)err;
	return 0;
}

static int make(const struct dataset_job *job, struct error *err)
{
	(void)job;
	(void)err;
	return 0;
}

static void test_datasets(void **state)
{
	static const struct dataset good = { .name = "d",
					     .summary = "s",
					     .options = options,
					     .options_size = sizeof(struct values),
					     .plan = plan,
					     .make = make };
	struct dataset bad[] = { good, good, good, good, good, good };
	static const char *const problems[] = {
		".name is missing",    ".name is 'e' instead of 'd'",
		".summary is missing", ".plan is missing",
		".make is missing",    "option flag lies outside",
	};
	(void)state;
	bad[0].name = NULL;
	bad[1].name = "e";
	bad[2].summary = NULL;
	bad[3].plan = NULL;
	bad[4].make = NULL;
	bad[5].options_size = 0;
	assert_int_equal(dataset_check_contract(&good, "d", NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error err = { 0 };
		assert_int_equal(dataset_check_contract(&bad[i], "d", &err), -1);
		assert_non_null(strstr(err.message, problems[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_every_transport_needs),
		cmocka_unit_test(test_who_does_an_end),
		cmocka_unit_test(test_datasets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
