#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/api/result.h"
#include "harness/base/cleanup.h"

static const char *const wanted_order[] = {
	"schema",
	"study_id",
	"run_id",
	"round",
	"case",
	"pair",
	"pairs",
	"instances",
	"factors",
	"transport",
	"transport_version",
	"options",
	"dataset",
	"files",
	"payload_bytes",
	"streams",
	"cipher",
	"mac",
	"start_utc",
	"setup_s",
	"transfer_s",
	"total_s",
	"goodput_bps",
	"cpu_source_s",
	"cpu_sink_s",
	"cpu_source_host_pct",
	"cpu_sink_host_pct",
	"cpu_scope",
	"sd_source_us_per_kib",
	"sd_sink_us_per_kib",
	"csw_voluntary",
	"csw_involuntary",
	"verified",
	"status",
	"error",
};

static void test_order(void **state)
{
	(void)state;
	const struct result_field *before = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(wanted_order); i++) {
		const struct result_field *field = result_field_find(wanted_order[i]);
		assert_non_null(field);
		if (before)
			assert_true(before < field);
		before = field;
	}
	assert_null(result_field_find("goodput"));
	assert_null(result_field_find(""));
}

static void test_table_is_sound(void **state)
{
	(void)state;
	static const size_t sizes[] = { [RESULT_COUNT] = sizeof(int64_t),
					[RESULT_REAL] = sizeof(double),
					[RESULT_WORD] = sizeof(int64_t) };
	size_t covered = 0;
	for (size_t i = 0; i < result_fields_count; i++) {
		const struct result_field *field = &result_fields[i];
		assert_non_null(field->name);
		assert_non_null(field->unit);
		assert_true(strlen(field->help) > 0);
		assert_null(strchr(field->help, '\n'));
		assert_ptr_equal(result_field_find(field->name), field);
		if (field->type != RESULT_TEXT)
			assert_int_equal(field->size, sizes[field->type]);
		assert_int_equal(field->type == RESULT_WORD, field->words != NULL);
		covered += field->size;
	}
	/* Every member has its column: what is left is padding. */
	assert_in_range(sizeof(struct result) - covered, 0, 8 * 4);
}

static void check_text(const char *name, const struct result *result, const char *wanted)
{
	AUTO_TEXT text = { 0 };
	result_field_text(result_field_find(name), result, &text);
	assert_string_equal(text_string(&text), wanted);
}

static void test_init_is_unknown(void **state)
{
	(void)state;
	struct result result;
	result_init(&result);
	for (size_t i = 0; i < result_fields_count; i++) {
		const char *name = result_fields[i].name;
		const char *wanted = strcmp(name, "schema") == 0     ? "1"
				     : strcmp(name, "verified") == 0 ? "no"
				     : strcmp(name, "ceiling") == 0  ? "no"
				     : strcmp(name, "status") == 0   ? "failed"
								     : "";
		check_text(name, &result, wanted);
	}
}

static const struct {
	const char *name, *in, *out; /* out NULL: refused */
} values[] = {
	{ "case", "multi x4", "multi x4" },
	{ "case", "", "" },
	{ "error", "a\n\"b\",c", "a\\x0a\"b\",c" },
	{ "label", "\xff\xc3\xa9\x1b", "\\xff\xc3\xa9\\x1b" },
	{ "total_s", "-0.5", NULL },
	{ "total_s", "1e10", NULL },
	{ "goodput_bps", "1e308", NULL },
	{ "cpu_sink_host_pct", "100", "100" },
	{ "cpu_sink_host_pct", "100.1", NULL },
	{ "round", "3", "3" },
	{ "round", "", "" },
	{ "round", "0", "0" },
	{ "round", "-1", NULL },
	{ "round", "1.5", NULL },
	{ "round", "9223372036854775807", "9223372036854775807" },
	{ "round", "9223372036854775808", NULL },
	{ "total_s", "1.234567891", "1.23456789" },
	{ "total_s", "0", "0" },
	{ "total_s", "", "" },
	{ "total_s", "1,5", NULL },
	{ "total_s", "inf", NULL },
	{ "total_s", "nan", NULL },
	{ "goodput_bps", "98123456789.4", "98123456789" },
	{ "status", "ok", "ok" },
	{ "status", "unsupported", "unsupported" },
	{ "status", "OK", NULL },
	{ "status", "", NULL },
	{ "verified", "count", "count" },
	{ "verified", "maybe", NULL },
	{ "durability", "flush", "flush" },
	{ "durability", "0123456789abcdef", NULL },
};

static void test_parse(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		struct result result;
		struct error err = { 0 };
		result_init(&result);
		int status = result_field_parse(result_field_find(values[i].name), &result,
						values[i].in, &err);
		assert_int_equal(status, values[i].out ? 0 : -1);
		if (values[i].out)
			check_text(values[i].name, &result, values[i].out);
		else
			assert_non_null(strstr(err.message, values[i].name));
	}
}

static void test_refused_value_changes_nothing(void **state)
{
	(void)state;
	struct result result;
	struct error err = { 0 };
	result_init(&result);
	result.status = STATUS_OK;
	assert_int_equal(result_field_parse(result_field_find("status"), &result, "okay", &err),
			 -1);
	assert_int_equal(err.kind, ERROR_CONFIG);
	assert_int_equal(result.status, STATUS_OK);
}

static void test_status_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < STATUS_COUNT; i++)
		assert_non_null(result_status_names[i]);
	assert_null(result_status_names[STATUS_COUNT]);
	assert_string_equal(result_status_names[STATUS_UNAVAILABLE], "unavailable");
	assert_string_equal(result_verified_names[VERIFIED_YES], "yes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_table_is_sound),
		cmocka_unit_test(test_init_is_unknown),
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_refused_value_changes_nothing),
		cmocka_unit_test(test_status_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
