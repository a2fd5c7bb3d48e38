#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/control/record.h"
#include "harness/protocol/message.h"
#include "tests/unit/processes.h"
#include "tests/unit/tree_folder.h"
#include "transports/catalog.h"

static struct study study;

static int setup(void **state)
{
	struct error err = { 0 };
	static const char *const transports[] = { "tcp:block=8KiB", "multi", NULL };
	static const char *const sets[] = { "study.title=a \xff title", NULL };
	const struct study_request request = { .transports = transports,
					       .dataset = "small-files:files=7",
					       .seed = "18446744073709551615",
					       .sets = sets };
	if (study_load(&study, &request, &err) < 0)
		fail_msg("%s", err.message);
	return tree_folder_make(state);
}

static int teardown(void **state)
{
	study_free(&study);
	return tree_folder_drop(state);
}

static json_t *read_back(void)
{
	json_error_t problem;
	json_t *json = json_load_file("study.json", JSON_REJECT_DUPLICATES, &problem);
	if (!json)
		fail_msg("%s", problem.text);
	return json;
}

static const json_t *at(const json_t *json, const char *a, const char *b)
{
	const json_t *value = json_object_get(json, a);
	return b ? json_object_get(value, b) : value;
}

static void assert_text(const json_t *value, const char *wanted)
{
	assert_non_null(json_string_value(value));
	assert_string_equal(json_string_value(value), wanted);
}

/* Before any agent has said a word: what is planned. */
static void test_a_plan(void **state)
{
	(void)state;
	static const char *const arguments[] = { "run", "-t", "\xff", NULL };
	json_t *probes[2] = { NULL, NULL };
	struct text commands[2] = { { 0 }, { 0 } };
	struct pair pair;
	struct error err = { 0 };
	pair_init(&pair, &study, NULL, ".");
	const struct record record = { .study = &study,
				       .study_id = "the-id",
				       .created_utc = "2026-01-01T00:00:00Z",
				       .arguments = arguments,
				       .pair = &pair,
				       .probes = probes,
				       .commands = commands,
				       .rounds = 3,
				       .first_round_s = NAN };
	if (record_write(&record, ".", &err) < 0)
		fail_msg("%s", err.message);
	json_t *json = read_back();
	assert_text(at(json, "study_id", NULL), "the-id");
	assert_text(at(json, "title", NULL), "a \\xff title");
	/* -1 where it is taken for a number. */
	assert_text(at(json, "seed", NULL), "18446744073709551615");
	assert_text(at(json, "configuration", "study.seed"), "18446744073709551615");
	assert_text(at(json, "dataset", "recipe"), "small-files:files=7");
	assert_null(at(json, "dataset", "digest"));
	const json_t *words = at(json, "command_line", NULL);
	assert_int_equal(json_array_size(words), 4);
	assert_text(json_array_get(words, 0), "linefill");
	assert_text(json_array_get(words, 3), "\\xff");
	const json_t *first = json_array_get(at(json, "cases", NULL), 0);
	assert_text(at(first, "options", NULL), "block=8KiB");
	assert_text(at(first, "option_values", "block"), "8KiB");
	assert_text(at(first, "option_values", "nodelay"), "yes");
	assert_null(at(first, "command", NULL));
	assert_int_equal(json_array_size(at(json, "cases", NULL)), 2);
	assert_int_equal(json_array_size(at(json, "notes", NULL)), 0);
	json_decref(json);
	pair_close(&pair);
}

/* What agents told, whatever bytes it is made of. */
static void test_what_was_found(void **state)
{
	(void)state;
	struct text commands[2] = { { 0 }, { 0 } };
	struct pair pair;
	struct error err = { 0 };
	json_t *probes[2];
	pair_init(&pair, &study, NULL, ".");
	const struct error missing = { .kind = ERROR_UNAVAILABLE, .message = "not installed" };
	for (int i = 0; i < 2; i++) {
		probes[i] = message_object();
		json_t *found = message_object();
		message_put_text(found, "version", "1.0 \xfe");
		message_put_text(found, "path", "/bin/scp");
		message_put(probes[i], "scp", found);
		message_put(probes[i], "to\xffol", message_from_error(&missing));
		pair.sides[i].facts = message_object();
		message_put_text(pair.sides[i].facts, "hostname", "h\xff");
		message_put_whole(pair.sides[i].facts, "cpus", 2);
		pair.sides[i].data = strdup("/data");
	}
	text_add(&commands[1], "scp -r");
	strcpy(pair.dataset.digest, "abc");
	pair.dataset.totals.files = 7;
	message_append_text(pair.notes, "the sink agent was started again");
	const struct record record = { .study = &study,
				       .study_id = "id",
				       .created_utc = "now",
				       .pair = &pair,
				       .probes = probes,
				       .commands = commands,
				       .rounds = 10,
				       .first_round_s = 1.26 };
	if (record_write(&record, ".", &err) < 0)
		fail_msg("%s", err.message);
	json_t *json = read_back();
	/* The rounds that were made, and why. */
	assert_int_equal(json_integer_value(at(json, "rounds", NULL)), 10);
	assert_text(at(json, "configuration", "study.rounds"), "10");
	assert_text(at(json, "rounds_why", NULL), "not set; the first round took 1.3 s");
	const json_t *sink = at(json, "hosts", "sink");
	assert_text(at(sink, "hostname", NULL), "h\\xff");
	assert_int_equal(json_integer_value(at(sink, "cpus", NULL)), 2);
	assert_text(at(sink, "location", NULL), "/data");
	const json_t *versions = at(json, "versions", "source");
	assert_text(at(versions, "scp", NULL), "1.0 \\xfe");
	assert_text(at(versions, "to\\xffol", NULL), "unavailable: not installed");
	assert_int_equal(json_integer_value(at(json, "dataset", "files")), 7);
	assert_text(json_array_get(at(json, "notes", NULL), 0), "the sink agent was started again");
	const json_t *second = json_array_get(at(json, "cases", NULL), 1);
	assert_text(json_array_get(at(second, "command", NULL), 0), "scp -r");
	json_decref(json);
	for (int i = 0; i < 2; i++)
		json_decref(probes[i]);
	text_free(&commands[1]);
	pair_close(&pair);
}

/* The old one stays whole where the new one cannot be written. */
static void test_a_folder_that_is_none(void **state)
{
	(void)state;
	json_t *probes[2] = { NULL, NULL };
	struct text commands[2] = { { 0 }, { 0 } };
	struct pair pair;
	struct error err = { 0 };
	pair_init(&pair, &study, NULL, ".");
	const struct record record = { .study = &study,
				       .study_id = "id",
				       .created_utc = "now",
				       .pair = &pair,
				       .probes = probes,
				       .commands = commands,
				       .rounds = 3,
				       .first_round_s = NAN };
	assert_int_equal(record_write(&record, "none", &err), -1);
	assert_int_equal(err.kind, ERROR_SYSTEM);
	assert_non_null(strstr(err.message, "none/"));
	pair_close(&pair);
}

#define RECORD_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RECORD_TEST(test_a_plan),
		RECORD_TEST(test_what_was_found),
		RECORD_TEST(test_a_folder_that_is_none),
	};
	catalog_load();
	return cmocka_run_group_tests(tests, NULL, processes_check);
}
