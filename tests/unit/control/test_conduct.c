/* Whole studies with real agents, seen by a watch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/control/conduct.h"
#include "harness/study/plan.h"
#include "results/csv.h"
#include "tests/unit/control/agents.h"

#define SMALL "small-files:files=5,size=1KiB"

/* What is to happen when the n-th run has ended, and what the watch saw. */
struct story {
	size_t at;
	void (*act)(struct story *story);
	struct cancel cancel;
	size_t started, ended;
	char begun[16][64];
	struct text phases, notes;
};

static void on_phase(const char *what, void *context)
{
	struct story *story = context;
	text_addf(&story->phases, "%s; ", what);
}

static void on_started(const struct study_case *item, int round, size_t position, size_t count,
		       void *context)
{
	struct story *story = context;
	assert_true(position < count);
	snprintf(story->begun[story->started++ % 16], sizeof(story->begun[0]), "%.40s %d",
		 item->name, round);
}

static void on_ended(const struct result *row, void *context)
{
	struct story *story = context;
	(void)row;
	if (++story->ended == story->at && story->act)
		story->act(story);
}

static void on_note(const char *text, void *context)
{
	struct story *story = context;
	text_addf(&story->notes, "%s; ", text);
}

static struct conduct_outcome conduct(struct story *story, const char *const *transports,
				      const char *rounds, struct results *rows)
{
	struct study study;
	struct conduct_outcome outcome;
	struct error err = { 0 };
	AUTO_TEXT location = { 0 };
	text_addf(&location, "dataset.location=%s/data", tree_folder);
	const char *sets[] = { text_string(&location), "study.memory=as-is", NULL };
	const struct study_request request = {
		.transports = transports, .dataset = SMALL, .rounds = rounds, .sets = sets
	};
	if (study_load(&study, &request, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(cancel_open(&story->cancel, NULL), 0);
	const struct conduct_watch watch = { .phase = on_phase,
					     .run_started = on_started,
					     .run_ended = on_ended,
					     .note = on_note,
					     .context = story };
	const struct conduct_order order = {
		.study = &study, .folder = "out", .cancel = &story->cancel, .watch = &watch
	};
	if (conduct_study(&order, &outcome, &err) < 0)
		fail_msg("%s", err.message);
	if (csv_read_results("out/runs.csv", rows, &err) < 0)
		fail_msg("%s", err.message);
	cancel_close(&story->cancel);
	study_free(&study);
	return outcome;
}

static void forget(struct story *story)
{
	text_free(&story->phases);
	text_free(&story->notes);
}

static size_t count_status(const struct results *rows, enum result_status status)
{
	size_t count = 0;
	for (size_t i = 0; i < rows->count; i++)
		count += rows->rows[i].status == (int64_t)status;
	return count;
}

/* Every planned run is a row, in the plan's order. */
static void test_all_of_the_plan(void **state)
{
	(void)state;
	static const char *const transports[] = { "tcp", "null:copy=yes", "multi:streams=2", NULL };
	struct story story = { 0 };
	AUTO_RESULTS rows = { 0 };
	struct conduct_outcome outcome = conduct(&story, transports, "3", &rows);
	assert_true(outcome.all_fine && !outcome.cancelled);
	assert_int_equal(rows.count, 9);
	assert_int_equal(story.started, 9);
	assert_int_equal(story.ended, 9);
	assert_int_equal(count_status(&rows, STATUS_OK), 9);
	for (size_t i = 0; i < 9; i++) {
		char wanted[64];
		snprintf(wanted, sizeof(wanted), "%.40s %lld", rows.rows[i].case_name,
			 (long long)rows.rows[i].round);
		assert_string_equal(story.begun[i], wanted);
		assert_int_equal(rows.rows[i].round, (int64_t)i / 3 + 1);
	}
	assert_non_null(strstr(text_string(&story.phases), "cleaning up; "));
	assert_string_equal(text_string(&story.notes), "");
	forget(&story);
}

/* One row a case, however many rounds there are, and before the others. */
static void test_what_cannot_run(void **state)
{
	(void)state;
	static const char *const transports[] = { "tcp:instances=9", "tcp", NULL };
	struct story story = { 0 };
	AUTO_RESULTS rows = { 0 };
	struct conduct_outcome outcome = conduct(&story, transports, "2", &rows);
	assert_true(outcome.all_fine);
	assert_int_equal(rows.count, 3);
	assert_int_equal(rows.rows[0].status, STATUS_UNSUPPORTED);
	assert_non_null(strstr(rows.rows[0].error, "9 instances, but only 5 files"));
	assert_int_equal(count_status(&rows, STATUS_OK), 2);
	assert_int_equal(story.started, 2);
	forget(&story);
}

static void test_a_failure_is_not_fine(void **state)
{
	(void)state;
	static const char *const transports[] = { "null:fail=send", "tcp", NULL };
	struct story story = { 0 };
	AUTO_RESULTS rows = { 0 };
	struct conduct_outcome outcome = conduct(&story, transports, "1", &rows);
	assert_true(!outcome.all_fine && !outcome.cancelled);
	assert_int_equal(count_status(&rows, STATUS_FAILED), 1);
	assert_int_equal(count_status(&rows, STATUS_OK), 1);
	forget(&story);
}

static void stop(struct story *story)
{
	cancel_request(&story->cancel);
}

/* What did not begin is a row, too. */
static void test_stopped_after_a_run(void **state)
{
	(void)state;
	static const char *const transports[] = { "tcp", NULL };
	struct story story = { .at = 2, .act = stop };
	AUTO_RESULTS rows = { 0 };
	struct conduct_outcome outcome = conduct(&story, transports, "5", &rows);
	assert_true(outcome.cancelled && !outcome.all_fine);
	assert_int_equal(rows.count, 5);
	assert_int_equal(count_status(&rows, STATUS_OK), 2);
	assert_int_equal(count_status(&rows, STATUS_CANCELLED), 3);
	assert_string_equal(rows.rows[4].error, "stopped before it began");
	assert_int_equal(story.started, 2);
	forget(&story);
}

/* The agents are the only children. */
static void kill_an_agent(struct story *story)
{
	char path[64];
	AUTO_FREE char *list = NULL;
	siginfo_t info;
	(void)story;
	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	assert_int_equal(file_read_all(path, 1000, &list, NULL, NULL), 0);
	pid_t pid = (pid_t)atoi(list); /* the source: it was started first */
	assert_true(pid > 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

static void assert_recorded(const char *note, bool wanted)
{
	AUTO_FREE char *record = NULL;
	assert_int_equal(file_read_all("out/study.json", 1 << 20, &record, NULL, NULL), 0);
	if ((strstr(record, note) != NULL) != wanted)
		fail_msg("'%s' is %sin %s", note, wanted ? "not " : "", record);
}

/* No row tells of it: the notes do. */
static void test_an_agent_dies_between_runs(void **state)
{
	(void)state;
	static const char *const transports[] = { "tcp", NULL };
	static const char died[] = "the source agent died: killed by SIGKILL";
	static const char again[] = "the source agent was started again";
	struct story story = { .at = 2, .act = kill_an_agent };
	AUTO_RESULTS rows = { 0 };
	struct conduct_outcome outcome = conduct(&story, transports, "4", &rows);
	assert_true(outcome.all_fine);
	assert_int_equal(count_status(&rows, STATUS_OK), 4);
	assert_non_null(strstr(text_string(&story.notes), died));
	assert_non_null(strstr(text_string(&story.notes), again));
	assert_recorded(died, true);
	assert_recorded(again, true);
	forget(&story);
}

/* Nobody needs it any more, but that it died is told. */
static void test_an_agent_dies_after_the_last_run(void **state)
{
	(void)state;
	static const char *const transports[] = { "tcp", NULL };
	struct story story = { .at = 2, .act = kill_an_agent };
	AUTO_RESULTS rows = { 0 };
	struct conduct_outcome outcome = conduct(&story, transports, "2", &rows);
	assert_true(outcome.all_fine);
	assert_recorded("the source agent died: killed by SIGKILL", true);
	assert_recorded("started again", false);
	forget(&story);
	/* It could not clean up behind itself, and no other agent was started to do it. */
	assert_int_equal(folder_remove("data", NULL), 0);
	assert_int_equal(mkdir("data", 0755), 0);
}

/* What keeps all of them from starting is the reason in every row. */
static void test_no_agent_can_start(void **state)
{
	(void)state;
	static const char *const transports[] = { "tcp", "null", NULL };
	struct story story = { 0 };
	AUTO_RESULTS rows = { 0 };
	setenv("TMPDIR", "/nonexistent", 1);
	struct conduct_outcome outcome = conduct(&story, transports, "2", &rows);
	assert_false(outcome.all_fine);
	assert_int_equal(rows.count, 4);
	assert_int_equal(count_status(&rows, STATUS_FAILED), 4);
	assert_non_null(strstr(rows.rows[3].error, "/nonexistent"));
	assert_int_equal(story.started, 0);
	forget(&story);
}

#define CONDUCT_TEST(test) cmocka_unit_test_setup_teardown(test, agents_setup, agents_teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		CONDUCT_TEST(test_all_of_the_plan),
		CONDUCT_TEST(test_what_cannot_run),
		CONDUCT_TEST(test_a_failure_is_not_fine),
		CONDUCT_TEST(test_stopped_after_a_run),
		CONDUCT_TEST(test_an_agent_dies_between_runs),
		CONDUCT_TEST(test_an_agent_dies_after_the_last_run),
		CONDUCT_TEST(test_no_agent_can_start),
	};
	agents_main(argc, argv);
	return cmocka_run_group_tests(tests, processes_adopt, processes_check);
}
