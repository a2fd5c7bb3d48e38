#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/control/run_row.h"

static const struct transport simple = { .name = "simple", .driver = XFER_SOURCE };

/* An answer to "run" with nothing but what must be there, and these. */
static json_t *reply(const char *members)
{
	json_t *object = json_loads(members, 0, NULL);
	message_put_text(object, "start_utc", "");
	message_put_whole(object, "counted_bytes", 0);
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

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_unknown_is_never_zero) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
