/* One run after the other with two real agents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "harness/control/run.h"
#include "tests/unit/control/agents.h"

#define FILES 5
#define BYTES (FILES * 1024)

static struct study study;
static struct pair pair;
static struct cancel cancel;

/* A study of these transports, and its agents. */
static void begin(const char *const *transports, const char *timeout)
{
	AUTO_TEXT location = { 0 };
	AUTO_TEXT limit = { 0 };
	struct error err = { 0 };
	text_addf(&location, "dataset.location=%s/data", tree_folder);
	text_addf(&limit, "study.timeout=%s", timeout);
	const char *sets[] = { text_string(&location), text_string(&limit), "study.memory=as-is",
			       NULL };
	const struct study_request request = { .transports = transports,
					       .dataset = "small-files:files=5,size=1KiB",
					       .sets = sets };
	if (study_load(&study, &request, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(cancel_open(&cancel, NULL), 0);
	pair_init(&pair, &study, NULL, "out");
}

static void end(void)
{
	pair_close(&pair);
	study_free(&study);
	cancel_close(&cancel);
}

static struct result run_item(size_t item)
{
	struct result row;
	const struct run run = { .study = &study,
				 .item = &study.cases[item],
				 .pairs = &pair,
				 .pairs_count = 1,
				 .study_id = "test",
				 .version = "1.0",
				 .round = 3 };
	run_case(&run, &row, &cancel);
	return row;
}

static void assert_row(const struct result *row, enum result_status status, const char *error)
{
	if (row->status != (int64_t)status || !strstr(row->error, error))
		fail_msg("%s: '%s' instead of %s: '%s'", result_status_names[row->status],
			 row->error, result_status_names[status], error);
	if (status == STATUS_OK)
		return;
	/* Nothing of what was measured on the way. */
	assert_int_equal(row->payload_bytes, RESULT_UNKNOWN_COUNT);
	assert_true(isnan(row->total_s) && isnan(row->goodput_bps));
	assert_int_equal(row->verified, VERIFIED_NO);
}

/* No copy lies there any more. */
static void assert_cleaned(void)
{
	AUTO_FREE char *copies = path_join(pair.sides[XFER_SINK].data, "copy");
	assert_int_equal(access(copies, F_OK), -1);
}

static void test_rows_that_are_ok(void **state)
{
	(void)state;
	static const char *const transports[] = { "tcp", "tcp:instances=2", "null:bytes=9B", NULL };
	begin(transports, "60");
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < 3; i++) {
			struct result row = run_item(i);
			assert_row(&row, STATUS_OK, "");
			assert_int_equal(row.payload_bytes, i < 2 ? BYTES : 9);
			assert_int_equal(row.verified, i < 2 ? VERIFIED_YES : VERIFIED_COUNT);
			assert_int_equal(row.instances, i == 1 ? 2 : 1);
			assert_int_equal(row.files, FILES);
			assert_int_equal(row.round, 3);
			assert_string_equal(row.transport_version, "1.0");
			assert_true(row.total_s > 0);
			assert_true(row.goodput_bps == (double)row.payload_bytes * 8 / row.total_s);
			assert_true(row.cpu_source_s >= 0 && row.cpu_sink_s >= 0);
			assert_cleaned();
		}
	}
	end();
}

/* Each of these is a row of its own kind, and the next run is none the worse for it. */
static void test_rows_that_are_not(void **state)
{
	(void)state;
	static const char *const transports[] = { "null:fail=prepare",
						  "null:fail=send",
						  "null:crash=sink",
						  "null:hang=source",
						  "null:copy=yes,flip=yes",
						  "null:copy=yes,miscount=yes",
						  "tcp",
						  NULL };
	static const struct {
		enum result_status status;
		const char *error;
	} wanted[] = {
		{ STATUS_FAILED, "prepare" },
		{ STATUS_FAILED, "send" },
		{ STATUS_FAILED, "sink died: killed by SIGABRT" },
		{ STATUS_TIMEOUT, "its timeout of 1 s" },
		{ STATUS_INTEGRITY, "differs" },
		{ STATUS_INVALID, "the sink moved" },
	};
	begin(transports, "1");
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		struct result row = run_item(i);
		assert_row(&row, wanted[i].status, wanted[i].error);
		assert_cleaned();
		row = run_item(6);
		assert_row(&row, STATUS_OK, "");
	}
	end();
}

static void test_stopped_by_the_user(void **state)
{
	(void)state;
	static const char *const transports[] = { "null:copy=yes,send_s=60", "tcp", NULL };
	begin(transports, "120");
	struct result row = run_item(1);
	assert_row(&row, STATUS_OK, "");
	pid_t canceller = fork();
	if (canceller == 0) {
		usleep(300000);
		cancel_request(&cancel); /* its descriptor is ours, too */
		_exit(0);
	}
	row = run_item(0);
	/* The flag is the other process's: what counts here is that nobody waited for 60 s. */
	assert_true(row.status == STATUS_CANCELLED || row.status == STATUS_FAILED);
	assert_int_equal(waitpid(canceller, NULL, 0), canceller);
	cancel_request(&cancel);
	row = run_item(1);
	assert_row(&row, STATUS_CANCELLED, "stopped on request");
	end();
}

static void wait_for_end(pid_t pid)
{
	siginfo_t info;
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

static void assert_note(size_t i, const char *part)
{
	const char *note = json_string_value(json_array_get(pair.notes, i));
	if (!note || !strstr(note, part))
		fail_msg("note %zu: '%s' instead of '%s'", i, note ? note : "none", part);
}

/* It costs no row, and is told. */
static void test_an_agent_dies_between_runs(void **state)
{
	(void)state;
	static const char *const transports[] = { "tcp", NULL };
	static const char *const names[] = { "source", "sink" };
	begin(transports, "60");
	struct result row = run_item(0);
	assert_row(&row, STATUS_OK, "");
	assert_int_equal(json_array_size(pair.notes), 0);
	for (int i = 0; i < 2; i++) {
		AUTO_TEXT death = { 0 };
		AUTO_TEXT again = { 0 };
		pid_t pid = pair.sides[i].peer.child.pid;
		kill(pid, i == 0 ? SIGKILL : SIGTERM);
		wait_for_end(pid);
		row = run_item(0);
		assert_row(&row, STATUS_OK, "");
		text_addf(&death, "the %s agent died: killed by %s", names[i],
			  i == 0 ? "SIGKILL" : "SIGTERM");
		text_addf(&again, "the %s agent was started again", names[i]);
		assert_int_equal(json_array_size(pair.notes), (size_t)(2 * i + 2));
		assert_note((size_t)(2 * i), text_string(&death));
		assert_note((size_t)(2 * i + 1), text_string(&again));
	}
	/* What a killed agent left is swept by the next one that starts. */
	end();
}

#define RUN_TEST(test) cmocka_unit_test_setup_teardown(test, agents_setup, agents_teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		RUN_TEST(test_rows_that_are_ok),
		RUN_TEST(test_rows_that_are_not),
		RUN_TEST(test_stopped_by_the_user),
		RUN_TEST(test_an_agent_dies_between_runs),
	};
	agents_main(argc, argv);
	return cmocka_run_group_tests(tests, processes_adopt, processes_check);
}
