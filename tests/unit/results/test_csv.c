#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "results/csv.h"

static char folder[64];
static char path[128];

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/linefill-test-csv-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/runs.csv", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	return folder_remove(folder, NULL);
}

static const struct {
	const char *value, *alone, *second;
} quoting[] = {
	{ "plain", "plain", ",plain" },
	{ "", "\"\"", "," },
	{ "a,b", "\"a,b\"", ",\"a,b\"" },
	{ "say \"x\"", "\"say \"\"x\"\"\"", ",\"say \"\"x\"\"\"" },
	/* A record is one line of UTF-8, whatever is in it. */
	{ "two\nlines", "two\\x0alines", ",two\\x0alines" },
	{ "cr\rx", "cr\\x0dx", ",cr\\x0dx" },
	{ "\x1b[2J\x7f", "\\x1b[2J\\x7f", ",\\x1b[2J\\x7f" },
	{ "\xc3\xa9\xc3", "\xc3\xa9\\xc3", ",\xc3\xa9\\xc3" },
	{ "a\\xff", "a\\xff", ",a\\xff" },
	{ " blanks ", " blanks ", ", blanks " },
	{ "\xff\xfe", "\\xff\\xfe", ",\\xff\\xfe" },
};

static void test_quoting(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(quoting); i++) {
		AUTO_TEXT record = { 0 };
		csv_add_field(&record, quoting[i].value);
		assert_string_equal(text_string(&record), quoting[i].alone);
		csv_add_field(&record, quoting[i].value);
		assert_string_equal(text_string(&record) + strlen(quoting[i].alone),
				    quoting[i].second);
	}
}

static struct result make_row(int64_t round, const char *name, const char *error)
{
	struct result row;
	result_init(&row);
	row.round = round;
	row.total_s = 1.25;
	row.status = *error ? STATUS_FAILED : STATUS_OK;
	row.verified = *error ? VERIFIED_NO : VERIFIED_YES;
	text_copy(row.case_name, sizeof(row.case_name), name);
	text_copy(row.error, sizeof(row.error), error);
	return row;
}

static void write_rows(size_t count)
{
	struct csv_writer writer;
	assert_int_equal(csv_open(&writer, path, NULL), 0);
	for (size_t i = 0; i < count; i++) {
		struct result row = make_row((int64_t)i + 1, i % 2 ? "scp, \"x\"\nx 4" : "tcp",
					     i % 2 ? "exit status 1:\r\nno space" : "");
		assert_int_equal(csv_row(&writer, &row, NULL), 0);
	}
	csv_close(&writer);
	csv_close(&writer);
}

static void test_round_trip(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	struct error err = { 0 };
	write_rows(150);
	assert_int_equal(csv_read_results(path, &results, &err), 0);
	assert_int_equal(results.count, 150);
	assert_string_equal(results.rows[149].case_name, "scp, \"x\"\\x0ax 4");
	assert_string_equal(results.rows[149].error, "exit status 1:\\x0d\\x0ano space");
	assert_int_equal(results.rows[149].round, 150);
	assert_int_equal(results.rows[149].status, STATUS_FAILED);
	assert_int_equal(results.rows[148].verified, VERIFIED_YES);
	assert_true(results.rows[148].total_s == 1.25);
	assert_true(isnan(results.rows[148].setup_s));
	assert_int_equal(results.rows[148].files, RESULT_UNKNOWN_COUNT);
}

/* What is escaped takes more room: a field never gets longer than what can be read again. */
static void test_long_odd_texts_come_back(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	struct csv_writer writer;
	struct error err = { 0 };
	struct result row = make_row(1, "x", "");
	memset(row.case_name, '\xff', sizeof(row.case_name) - 1);
	memset(row.label, 'x', sizeof(row.label) - 2);
	row.label[sizeof(row.label) - 2] = '\xc3';
	assert_int_equal(csv_open(&writer, path, NULL), 0);
	assert_int_equal(csv_row(&writer, &row, NULL), 0);
	csv_close(&writer);
	if (csv_read_results(path, &results, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(strlen(results.rows[0].case_name), (sizeof(row.case_name) - 1) / 4 * 4);
	assert_int_equal(strncmp(results.rows[0].case_name, "\\xff\\xff", 8), 0);
	/* No room for half of a letter's escape. */
	assert_int_equal(strlen(results.rows[0].label), sizeof(row.label) - 2);
}

static void test_header_once_when_going_on(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	AUTO_FREE char *bytes = NULL;
	write_rows(2);
	write_rows(2);
	assert_int_equal(csv_read_results(path, &results, NULL), 0);
	assert_int_equal(results.count, 4);
	assert_int_equal(file_read_all(path, 1 << 20, &bytes, NULL, NULL), 0);
	assert_memory_equal(bytes, "schema,study_id,run_id,round,case,", 34);
	assert_null(strstr(bytes + 1, "schema,study_id"));
}

static void test_foreign_file_is_left_alone(void **state)
{
	(void)state;
	struct csv_writer writer;
	struct error err = { 0 };
	assert_int_equal(file_write_all(path, "a,b\n1,2\n", 8, 0600, NULL), 0);
	assert_int_equal(csv_open(&writer, path, &err), -1);
	assert_int_equal(err.kind, ERROR_CONFIG);
	assert_non_null(strstr(err.message, path));
	struct stat status;
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_size, 8);
}

static void test_torn_file_is_refused(void **state)
{
	(void)state;
	struct csv_writer writer;
	struct error err = { 0 };
	write_rows(2);
	struct stat status;
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(truncate(path, status.st_size - 5), 0);
	assert_int_equal(csv_open(&writer, path, &err), -1);
	assert_non_null(strstr(err.message, "middle of a row"));
}

/* A file size limit stands in for a full disk. */
static void test_row_that_does_not_fit_leaves_nothing(void **state)
{
	(void)state;
	struct csv_writer writer;
	struct error err = { 0 };
	AUTO_RESULTS results = { 0 };
	struct rlimit before;
	struct stat status;
	struct result row = make_row(1, "tcp", "");
	assert_int_equal(csv_open(&writer, path, NULL), 0);
	assert_int_equal(csv_row(&writer, &row, NULL), 0);
	assert_int_equal(fstat(writer.fd, &status), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	struct rlimit small = { .rlim_cur = (rlim_t)status.st_size + 10,
				.rlim_max = before.rlim_max };
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	int failed = csv_row(&writer, &row, &err);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(failed, -1);
	assert_int_equal(err.kind, ERROR_SYSTEM);
	assert_non_null(strstr(err.message, path));
	csv_close(&writer);
	assert_int_equal(csv_read_results(path, &results, NULL), 0);
	assert_int_equal(results.count, 1);
}

static void test_open_fails_clearly(void **state)
{
	(void)state;
	struct csv_writer writer;
	struct error err = { 0 };
	assert_int_equal(csv_open(&writer, "/nonexistent/runs.csv", &err), -1);
	assert_non_null(strstr(err.message, "/nonexistent/runs.csv"));
	assert_int_equal(writer.fd, -1);
	AUTO_RESULTS results = { 0 };
	assert_int_equal(csv_read_results("/nonexistent/runs.csv", &results, &err), -1);
}

/* The columns without which nothing can be said, and a row of a case. */
#define ESSENTIAL    "case,round,status,verified,goodput_bps"
#define HEAD         ESSENTIAL "\n"
#define FAILED(name) name ",1,failed,no,"
#define NUL_BYTE     HEAD "x,1,failed,no,\0\n"
#define RATED        ESSENTIAL ",payload_bytes,total_s\n"
#define STUDY        ESSENTIAL ",study_id,dataset\n"

static const struct {
	const char *text;
	size_t length; /* 0: strlen */
	int rows;      /* -1: refused, with message */
	const char *message;
} parses[] = {
	{ HEAD FAILED("tcp") "\n", 0, 1, NULL },
	{ ESSENTIAL "\r\n" FAILED("tcp") "\r\n" FAILED("scp") "\r\n", 0, 2, NULL },
	{ HEAD FAILED("tcp"), 0, 1, NULL },
	{ "\n\n" HEAD "\n" FAILED("tcp") "\n\n", 0, 1, NULL },
	{ "status,future,case,verified,goodput_bps,round\nok,\"1,\n2\",tcp,yes,,1\n", 0, 1, NULL },
	{ HEAD, 0, 0, NULL },
	{ HEAD FAILED("\"\"") "\n", 0, 1, NULL },
	{ "", 0, -1, "f.csv: is empty" },
	{ "round,status,verified,goodput_bps\n", 0, -1, "line 1: there is no column 'case'" },
	{ "case,status,verified,goodput_bps\n", 0, -1, "there is no column 'round'" },
	{ "case,round,verified,goodput_bps\n", 0, -1, "there is no column 'status'" },
	{ "case,round,status,goodput_bps\n", 0, -1, "there is no column 'verified'" },
	{ "case,round,status,verified\n", 0, -1, "there is no column 'goodput_bps'" },
	{ ESSENTIAL ",case\n", 0, -1, "line 1, column 6: 'case' appears twice" },
	{ HEAD "tcp\n", 0, -1, "line 2: 1 fields instead of 5" },
	{ HEAD FAILED("tcp") ",1\n", 0, -1, "line 2: 6 fields instead of 5" },
	{ HEAD FAILED("\"a\n\n\"") "\nx,1,okay,no,\n", 0, -1, "line 5, column 3: status = okay" },
	{ HEAD "x,one,ok,yes,\n", 0, -1, "line 2, column 2: round = one" },
	{ HEAD "\"open\n", 0, -1, "line 2: a quote is not closed" },
	{ HEAD "a\"b\n", 0, -1, "line 2: a quote inside" },
	{ HEAD "\"a\"b\n", 0, -1, "line 2: something after a closing quote" },
	{ NUL_BYTE, sizeof(NUL_BYTE) - 1, -1, "line 2: a NUL byte" },
	{ ESSENTIAL ",schema\n" FAILED("x") ",2\n", 0, -1, "line 2, column 6: written by a newer" },
	/* Numbers that cannot be. */
	{ HEAD "x,1,ok,yes,1e308\n", 0, -1, "line 2, column 5: goodput_bps = 1e308 cannot be" },
	{ HEAD "x,1,ok,yes,1e15\n", 0, 1, NULL },
	{ HEAD "x,1,ok,yes,-5\n", 0, -1, "line 2, column 5: goodput_bps = -5 cannot be" },
	{ HEAD "x,1,ok,yes,nan\n", 0, -1, "line 2, column 5: goodput_bps = nan" },
	{ HEAD "x,1,ok,yes,inf\n", 0, -1, "line 2, column 5: goodput_bps = inf" },
	{ HEAD "x,0,ok,yes,1\n", 0, -1, "line 2, column 2: round = 0" },
	{ HEAD "x,1000001,ok,yes,1\n", 0, -1, "line 2, column 2: round = 1000001" },
	{ HEAD "x,-1,ok,yes,1\n", 0, -1, "line 2, column 2: round = -1" },
	{ ESSENTIAL ",cpu_sink_host_pct\nx,1,ok,yes,1,100.5\n", 0, -1,
	  "line 2, column 6: cpu_sink_host_pct = 100.5 cannot be: 0 to 100 % is expected" },
	{ ESSENTIAL ",setup_s\nx,1,ok,yes,1,-0.1\n", 0, -1, "column 6: setup_s = -0.1 cannot be" },
	/* A rate is what follows from the other columns. */
	{ RATED "x,1,ok,yes,8000,1000,1\n", 0, 1, NULL },
	{ RATED "x,1,ok,yes,8000.07,1000,1\n", 0, 1, NULL },
	{ RATED "x,1,ok,yes,8001,1000,1\n", 0, -1,
	  "line 2, column 5: goodput_bps = 8001, but payload_bytes * 8 / total_s is 8000" },
	{ RATED "x,1,ok,yes,8000,1000,0\n", 0, -1, "column 5: goodput_bps = 8000, but" },
	{ RATED "x,1,ok,yes,8000,,1\n", 0, -1, "column 5: goodput_bps = 8000, but" },
	{ RATED "x,1,ok,yes,8000,1000,\n", 0, -1, "column 5: goodput_bps = 8000, but" },
	{ RATED "x,1,ok,yes,,0,1\n", 0, 1, NULL },
	/* Two studies in one file. */
	{ STUDY FAILED("x") ",s,d\n" FAILED("y") ",s,d\n", 0, 2, NULL },
	{ STUDY FAILED("x") ",s,d\n" FAILED("y") ",s,e\n", 0, -1,
	  "line 3, column 7: dataset = e, but line 2 has d" },
	{ STUDY FAILED("x") ",s,d\n" FAILED("y") ",s,d\n" FAILED("x") ",t,d\n", 0, -1,
	  "line 4, column 6: study_id = t, but line 2 has s" },
};

static void test_parse(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(parses); i++) {
		AUTO_RESULTS results = { 0 };
		struct error err = { 0 };
		size_t length = parses[i].length ? parses[i].length : strlen(parses[i].text);
		int status = csv_parse_results("f.csv", parses[i].text, length, &results, &err);
		if (parses[i].rows < 0) {
			assert_int_equal(status, -1);
			if (!strstr(err.message, parses[i].message))
				fail_msg("'%s' is not in '%s'", parses[i].message, err.message);
			assert_int_equal(strncmp(err.message, "f.csv: ", 7), 0);
		} else {
			assert_int_equal(status, 0);
			assert_int_equal(results.count, parses[i].rows);
		}
	}
}

static void test_bounds(void **state)
{
	(void)state;
	AUTO_RESULTS results = { 0 };
	struct error err = { 0 };
	AUTO_TEXT wide = { 0 };
	text_add(&wide, ESSENTIAL);
	for (int i = 0; i < CSV_FIELDS_MAX; i++)
		text_add(&wide, ",x");
	assert_int_equal(csv_parse_results("f", wide.data, wide.length, &results, &err), -1);
	assert_non_null(strstr(err.message, "too many fields"));
	for (int quoted = 0; quoted < 2; quoted++) {
		AUTO_TEXT longer = { 0 };
		text_add(&longer, quoted ? HEAD "\"" : HEAD);
		for (int i = 0; i <= CSV_FIELD_MAX; i++)
			text_add(&longer, "x");
		assert_int_equal(csv_parse_results("f", longer.data, longer.length, &results, &err),
				 -1);
		assert_non_null(strstr(err.message, "line 2: a field is too long"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quoting),
		cmocka_unit_test_setup_teardown(test_round_trip, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_long_odd_texts_come_back, make_folder,
						remove_folder),
		cmocka_unit_test_setup_teardown(test_header_once_when_going_on, make_folder,
						remove_folder),
		cmocka_unit_test_setup_teardown(test_foreign_file_is_left_alone, make_folder,
						remove_folder),
		cmocka_unit_test_setup_teardown(test_torn_file_is_refused, make_folder,
						remove_folder),
		cmocka_unit_test_setup_teardown(test_row_that_does_not_fit_leaves_nothing,
						make_folder, remove_folder),
		cmocka_unit_test(test_open_fails_clearly),
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_bounds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
