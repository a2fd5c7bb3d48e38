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
	if (!json_object_get(object, "progress_bytes"))
		message_put_whole(object, "progress_bytes", 0);
	if (!json_object_get(object, "unsent_bytes"))
		message_put_whole(object, "unsent_bytes", 0);
	message_put_whole(object, "streams", 0);
	message_put_text(object, "cipher", "");
	message_put_text(object, "mac", "");
	assert_int_equal(request_check_answer(REQUEST_RUN, object, NULL), 0);
	return object;
}

static void assert_alike(double value, double wanted)
{
	if (isnan(wanted) ? !isnan(value) : !(fabs(value - wanted) < 1e-9))
		fail_msg("%g instead of %g", value, wanted);
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

/* The sink's count, else the source's; a program's bytes nobody counts. */
static void test_what_was_on_the_line(void **state)
{
	(void)state;
	static const struct {
		const char *source, *sink;
		int64_t line_bytes;
	} cases[] = {
		{ "{}", "{}", RESULT_UNKNOWN_COUNT },
		{ "{\"progress_bytes\": 9}", "{\"progress_bytes\": 9, \"unsent_bytes\": 4}", 5 },
		{ "{\"progress_bytes\": 9}", "{\"progress_bytes\": 9, \"unsent_bytes\": 9}", 0 },
		{ "{\"progress_bytes\": 9}", "{}", 9 },
		{ "{}", "{\"progress_bytes\": 7}", 7 },
		{ "{}", "{\"progress_bytes\": 7, \"unsent_bytes\": 8}", RESULT_UNKNOWN_COUNT },
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
		assert_int_equal(row.line_bytes, cases[i].line_bytes);
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

/* Of 10 CPU seconds at each end's host, which is one; what both copies and both agents used is not
 * others'. */
static void test_others(void **state)
{
	(void)state;
#define USED(own, work, agent)                                                                \
	"{\"user_s\": " own ", \"system_s\": 1, \"host_total_s\": 10, \"host_work_s\": " work \
	", \"host_steal_s\": 0.5, \"agent_s\": " agent "}"
	static const struct {
		const char *source, *sink;
		double source_other, sink_other, steal;
	} cases[] = {
		{ USED("1", "8", "0.5"), USED("2", "8", "0.5"), 20, 20, 5 },
		{ USED("0", "2", "0"), USED("0", "7", "0"), 0, 50, 5 },
		/* Sampled by tick, the host's may seem to be less than the copy's own. */
		{ USED("1", "3", "0"), USED("1", "3.5", "0"), 0, 0, 5 },
		{ "{\"user_s\": 1, \"system_s\": 1}", "{\"user_s\": 1, \"system_s\": 1}", NAN, NAN,
		  NAN },
		/* One end's share is not known: so is what others had. */
		{ "{\"host_total_s\": 10, \"host_work_s\": 5, \"host_steal_s\": 0.5, "
		  "\"agent_s\": 0}",
		  USED("1", "8", "0"), NAN, NAN, 5 },
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
		assert_alike(row.cpu_source_other_pct, cases[i].source_other);
		assert_alike(row.cpu_sink_other_pct, cases[i].sink_other);
		assert_alike(row.cpu_source_steal_pct, cases[i].steal);
		assert_alike(row.cpu_sink_steal_pct, cases[i].steal);
		json_decref(pair.sides[XFER_SOURCE].peer.reply.json);
		json_decref(pair.sides[XFER_SINK].peer.reply.json);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unknown_is_never_zero),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_what_was_on_the_line),
		cmocka_unit_test(test_what_cannot_be),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
