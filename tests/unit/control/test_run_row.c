#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "harness/control/run_row.h"

static const struct transport simple = { .name = "simple", .driver = XFER_SOURCE };

/* An answer to "run" with nothing but what must be there, and these. */
static json_t *reply(const char *members)
{
	json_t *object = json_loads(members, 0, NULL);
	message_put_text(object, "start_utc", "");
	message_put_whole(object, "counted_bytes", 0);
	message_put_whole(object, "progress_bytes", 0);
	message_put_whole(object, "streams", 0);
	message_put_text(object, "cipher", "");
	message_put_text(object, "mac", "");
	assert_int_equal(request_check_answer(REQUEST_RUN, object, NULL), 0);
	return object;
}

/* What one end does not know, both together do not. */
static void test_unknown_is_never_zero(void **state)
{
	(void)state;
	static const struct {
		const char *source, *sink;
		int64_t voluntary, involuntary;
	} cases[] = {
		{ "{}", "{}", RESULT_UNKNOWN_COUNT, RESULT_UNKNOWN_COUNT },
		{ "{\"voluntary\": 3}", "{\"voluntary\": 4, \"involuntary\": 5}", 7,
		  RESULT_UNKNOWN_COUNT },
		{ "{\"voluntary\": 0, \"involuntary\": 2}", "{\"involuntary\": 0}",
		  RESULT_UNKNOWN_COUNT, 2 },
	};
	struct study_case item = { .name = (char[]){ "simple" }, .transport = &simple };
	const struct run run = { .item = &item };
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pair pair = { 0 };
		struct result row;
		result_init(&row);
		pair.sides[XFER_SOURCE].peer.reply.json = reply(cases[i].source);
		pair.sides[XFER_SINK].peer.reply.json = reply(cases[i].sink);
		run_row_measured(&run, &pair, &row);
		assert_int_equal(row.csw_voluntary, cases[i].voluntary);
		assert_int_equal(row.csw_involuntary, cases[i].involuntary);
		json_decref(pair.sides[XFER_SOURCE].peer.reply.json);
		json_decref(pair.sides[XFER_SINK].peer.reply.json);
	}
}

static void test_what_cannot_be(void **state)
{
	(void)state;
	static const struct {
		double total_s, host_pct;
		int64_t payload, moved[2];
		const char *message; /* NULL: it can */
	} cases[] = {
		{ 1, 50, 1000, { 1000, 1000 }, NULL },
		{ 1, NAN, 1000, { 0, 0 }, NULL }, /* a tool's: nobody counted */
		{ 1, 0, 1000, { 0, 1000 }, NULL },
		{ 1, 100, 0, { 0, 0 }, NULL },
		{ 1,
		  50,
		  1000,
		  { 1000, 999 },
		  "the sink moved 999 bytes, and 1000 were verified at the sink" },
		{ 1,
		  50,
		  1000,
		  { 2000, 1000 },
		  "the source moved 2000 bytes, and 1000 were verified at the sink" },
		{ 1, 50, 0, { 0, 7 }, "the sink moved 7 bytes, and 0 were verified at the sink" },
		{ 0, 50, 1000, { 0, 0 }, "the run took no time, which cannot be" },
		{ 1, 100.1, 1000, { 0, 0 }, "a host's CPU was 100.1 % busy, which cannot be" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error err = { 0 };
		struct result row;
		struct pair pair = { .moved_bytes = { cases[i].moved[0], cases[i].moved[1] } };
		result_init(&row);
		row.total_s = cases[i].total_s;
		row.cpu_sink_host_pct = cases[i].host_pct;
		row.payload_bytes = cases[i].payload;
		row.verified = VERIFIED_YES;
		int outcome = run_row_implausible(&pair, &row, &err);
		assert_string_equal(err.message, cases[i].message ? cases[i].message : "");
		assert_int_equal(outcome, cases[i].message ? -1 : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unknown_is_never_zero),
		cmocka_unit_test(test_what_cannot_be),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
