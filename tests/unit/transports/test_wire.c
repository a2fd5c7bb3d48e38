#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "transports/wire/wire.h"

static void test_paths(void **state)
{
	static const struct {
		const char *path;
		bool safe;
	} cases[] = {
		{ "a", true },      { "a/b/c", true },   { "...", true },    { "..a", true },
		{ "a..", true },    { ".a/..b", true },  { "\xff\n", true }, { "-x", true },
		{ "", false },      { "/", false },      { "/a", false },    { "a/", false },
		{ "a//b", false },  { ".", false },      { "..", false },    { "a/.", false },
		{ "./a", false },   { "a/../b", false }, { "../a", false },  { "a/..", false },
		{ "a/./b", false },
	};
	static char longest[WIRE_PATH_MAX + 1];
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (wire_path_is_safe(cases[i].path, strlen(cases[i].path)) != cases[i].safe)
			fail_msg("'%s'", cases[i].path);
	assert_false(wire_path_is_safe("a\0b", 3));
	memset(longest, 'x', sizeof(longest));
	assert_true(wire_path_is_safe(longest, WIRE_PATH_MAX));
	assert_false(wire_path_is_safe(longest, WIRE_PATH_MAX + 1));
}

static void test_hello(void **state)
{
	struct token token = { { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 } };
	unsigned char hello[WIRE_HELLO_BYTES];
	uint32_t stream = 0;
	(void)state;
	wire_hello_encode(hello, &token, 2, 4);
	assert_true(wire_hello_check(hello, &token, 4, &stream));
	assert_int_equal(stream, 2);
	assert_false(wire_hello_check(hello, &token, 5, &stream));
	wire_hello_encode(hello, &token, 4, 4);
	assert_false(wire_hello_check(hello, &token, 4, &stream));
	/* Any single changed byte of magic and token is noticed. */
	for (size_t i = 0; i < 24; i++) {
		wire_hello_encode(hello, &token, 0, 1);
		hello[i] ^= 0x40;
		assert_false(wire_hello_check(hello, &token, 1, &stream));
	}
}

static void test_record(void **state)
{
	const struct wire_record record = { .type = WIRE_FILE,
					    .flags = WIRE_FLAG_SPLIT,
					    .mode = 0644,
					    .text_bytes = 4095,
					    .size = UINT64_C(0x0123456789abcdef),
					    .extra = UINT64_MAX };
	unsigned char bytes[WIRE_RECORD_BYTES];
	struct wire_record back;
	struct error err = { 0 };
	(void)state;
	wire_record_encode(bytes, &record);
	assert_int_equal(wire_record_decode(bytes, &back, &err), 0);
	assert_memory_equal(&record, &back, sizeof(back));
	/* Little-endian on every machine. */
	assert_int_equal(bytes[8], 0xef);
	assert_int_equal(bytes[2], 0xff);
	assert_int_equal(bytes[3], 0x0f);
}

static void test_bad_records(void **state)
{
	static const struct {
		unsigned char type, flags;
		uint32_t text_bytes;
	} cases[] = {
		{ 0, 0, 0 },
		{ WIRE_TYPES, 0, 0 },
		{ 255, 0, 0 },
		{ WIRE_FILE, 4, 1 },
		{ WIRE_FOLDER, 1, 1 },
		{ WIRE_FILE, 0, 0 },
		{ WIRE_FILE, 0, WIRE_PATH_MAX + 1 },
		{ WIRE_MODE, 0, 65535 },
		{ WIRE_DATA, 0, 1 },
		{ WIRE_END, 0, 1 },
		{ WIRE_ABORT, 0, WIRE_ERROR_MAX + 1 },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		unsigned char bytes[WIRE_RECORD_BYTES];
		struct wire_record record = { .type = WIRE_FILE,
					      .text_bytes = cases[i].text_bytes };
		struct error err = { 0 };
		wire_record_encode(bytes, &record);
		bytes[0] = cases[i].type;
		bytes[1] = cases[i].flags;
		assert_int_equal(wire_record_decode(bytes, &record, &err), -1);
		assert_int_equal(err.kind, ERROR_PEER);
	}
}

static void open_channels(int fds[2], struct channel channels[2])
{
	struct error err = { 0 };
	const struct io_limit limit = { .deadline_ns = clock_deadline_ns(5) };
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(io_set_nonblocking(fds[i], &err), 0);
		channels[i] = channel_on_socket(fds[i], &limit);
	}
}

static void test_answers(void **state)
{
	int fds[2];
	struct channel channels[2];
	struct error err = { 0 };
	struct error full = { 0 };
	(void)state;
	open_channels(fds, channels);
	assert_int_equal(wire_answer_send(&channels[0], 100, 3, &err), 0);
	assert_int_equal(wire_answer_read(&channels[1], 100, 3, &err), 0);
	assert_int_equal(wire_answer_send(&channels[0], 99, 3, &err), 0);
	assert_int_equal(wire_answer_read(&channels[1], 100, 3, &err), -1);
	assert_int_equal(err.kind, ERROR_INTEGRITY);
	error_set(&full, ERROR_SYSTEM, 0, "f: no space left on device");
	wire_answer_failure(&channels[0], &full);
	assert_int_equal(wire_answer_read(&channels[1], 100, 3, &err), -1);
	assert_int_equal(err.kind, ERROR_SYSTEM);
	assert_string_equal(err.message, "sink: f: no space left on device");
	/* A peer may not claim that the user's study is wrong. */
	error_set(&full, ERROR_CONFIG, 0, "x");
	wire_answer_failure(&channels[0], &full);
	error_set(&err, ERROR_PEER, 0, "closed");
	wire_answer_explain(&channels[1], &err);
	assert_int_equal(err.kind, ERROR_PEER);
	assert_string_equal(err.message, "sink: x");
	close(fds[0]);
	assert_int_equal(wire_answer_read(&channels[1], 0, 0, &err), -1);
	assert_int_equal(err.kind, ERROR_PEER);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),   cmocka_unit_test(test_hello),
		cmocka_unit_test(test_record),  cmocka_unit_test(test_bad_records),
		cmocka_unit_test(test_answers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
