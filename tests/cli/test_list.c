/* What `linefill list` shows, as text and as JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "tests/cli/program.h"

static json_t *list_json(struct bench *bench, const char *what)
{
	json_error_t problem;
	PROGRAM_RUN(bench, "list", what, "--json");
	ASSERT_EXIT(bench, 0);
	assert_string_equal(bench->error, "");
	json_t *list = json_loads(bench->output, 0, &problem);
	if (!list)
		fail_msg("list %s: line %d: %s", what, problem.line, problem.text);
	assert_true(json_is_array(list));
	return list;
}

static const json_t *named(const json_t *list, const char *name)
{
	size_t i;
	const json_t *item;
	json_array_foreach(list, i, item)
	{
		const char *own = json_string_value(json_object_get(item, "name"));
		if (own && strcmp(own, name) == 0)
			return item;
	}
	fail_msg("'%s' is not listed", name);
	return NULL;
}

static void check_names(struct bench *bench, const char *what, const char *const *names)
{
	json_t *list = list_json(bench, what);
	for (size_t i = 0; names[i]; i++)
		assert_true(json_is_string(json_object_get(named(list, names[i]), "summary")));
	PROGRAM_RUN(bench, "list", what);
	ASSERT_EXIT(bench, 0);
	for (size_t i = 0; names[i]; i++)
		ASSERT_HOLDS(bench->output, names[i]);
	json_decref(list);
}

static void everything_is_listed(void **state)
{
	static const char *const transports[] = { "null", "tcp",       "multi",   "ssh",
						  "scp",  "rsync-ssh", "tar-ssh", NULL };
	static const char *const datasets[] = { "single",    "small-files", "linux-repo",
						"lognormal", "directory",   NULL };
	static const char *const studies[] = { "first-study", NULL };
	struct bench *bench = *state;
	check_names(bench, "transports", transports);
	check_names(bench, "datasets", datasets);
	check_names(bench, "studies", studies);
}

static void fields_are_the_columns(void **state)
{
	struct bench *bench = *state;
	json_t *list = list_json(bench, "fields");
	assert_int_equal(json_array_size(list), result_fields_count);
	for (size_t i = 0; i < result_fields_count; i++) {
		const json_t *field = json_array_get(list, i);
		assert_string_equal(json_string_value(json_object_get(field, "name")),
				    result_fields[i].name);
		assert_true(json_string_length(json_object_get(field, "summary")) > 0);
	}
	json_decref(list);
}

/* Asking programs for their version leaves nothing at home: neither at $HOME, nor at the one that
 * the user database knows, where programs look that are not told of any. */
static void check_home(struct bench *bench)
{
	char home[112], path[128];
	snprintf(home, sizeof(home), "%s/home", bench->files);
	snprintf(path, sizeof(path), "%s/mine.ini", bench->tools);
	bench_add_tool(bench, "mine",
		       "[tool]\nprobe = sh -c 'test -n \"$HOME\" && mkdir -p \"$HOME/.config\" ||\n"
		       "  echo no place at \"<$HOME>\"' \nversion = no place at <(.+)>\n"
		       "run = cp -r {src} {dst}\n");
	assert_int_equal(mkdir(home, 0700), 0);
	assert_int_equal(chown(home, bench->uid, (gid_t)bench->uid), 0);
	char *kept = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
	setenv("HOME", home, 1);
	PROGRAM_RUN(bench, "list", "transports");
	int listed = bench->status;
	PROGRAM_RUN(bench, "tool", "check", "--no-copy", path);
	if (kept)
		setenv("HOME", kept, 1);
	else
		unsetenv("HOME");
	free(kept);
	assert_int_equal(listed, 0);
	ASSERT_EXIT(bench, 0);
	ASSERT_HOLDS(bench->output, "version /");
	if (rmdir(home) < 0)
		fail_msg("something was left in %s", home);
}

static void home_is_left_alone(void **state)
{
	check_home(*state);
}

static void ordinary_home_is_left_alone(void **state)
{
	bench_use_ordinary(*state);
	check_home(*state);
}

/* What a user needs to know before it is run. */
static void transports_tell_all(void **state)
{
	struct bench *bench = *state;
	json_t *list = list_json(bench, "transports");
	const json_t *scp = named(list, "scp");
	const json_t *multi = named(list, "multi");
	assert_true(json_is_true(json_object_get(scp, "available")));
	assert_true(json_string_length(json_object_get(scp, "version")) > 0);
	assert_string_equal(json_string_value(json_object_get(scp, "driver")), "source");
	assert_true(json_is_array(json_object_get(scp, "caps")));
	const json_t *streams = named(json_object_get(multi, "options"), "streams");
	assert_true(json_is_string(json_object_get(streams, "default")));
	assert_true(json_string_length(json_object_get(streams, "help")) > 0);
	json_decref(list);
	PROGRAM_RUN(bench, "list", "transports", "multi");
	ASSERT_EXIT(bench, 0);
	ASSERT_HOLDS(bench->output, "streams");
	ASSERT_HOLDS(bench->output, "instances");
	ASSERT_HOLDS(bench->output, "\nCaps: two-ended, ");
	PROGRAM_RUN(bench, "list", "transports", "bbcp");
	ASSERT_EXIT(bench, 0);
	ASSERT_HOLDS(bench->output, ", any-address\n");
	PROGRAM_RUN(bench, "list", "datasets", "linux-repo");
	ASSERT_EXIT(bench, 0);
	ASSERT_HOLDS(bench->output, "compressible");
}

/* All that a study file may hold, section by section. */
static void keys_are_listed(void **state)
{
	static const char *const lines[] = { "[study]\n  title=", "\n  rounds=N",
					     "(default: 600)",    "\n[ssh]\n  cipher=",
					     "aes128-ctr",        "\n[hosts]\n  source=",
					     "\n[case NAME]\n",   "\n  instances=N",
					     "\n[dataset]\n",     "list transports NAME" };
	struct bench *bench = *state;
	PROGRAM_RUN(bench, "list", "keys");
	ASSERT_EXIT(bench, 0);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		ASSERT_HOLDS(bench->output, lines[i]);
	PROGRAM_RUN(bench, "list", "keys", "ssh");
	ASSERT_EXIT(bench, 0);
	ASSERT_HOLDS(bench->output, "  mac=");
	ASSERT_LACKS(bench->output, "rounds");
	PROGRAM_RUN(bench, "list", "keys", "shs");
	ASSERT_EXIT(bench, 2);
	ASSERT_HOLDS(bench->error, "'ssh'");
	json_t *list = list_json(bench, "keys");
	const json_t *timeout = named(list, "study.timeout");
	assert_string_equal(json_string_value(json_object_get(timeout, "unit")), "s");
	assert_string_equal(json_string_value(json_object_get(timeout, "default")), "600");
	named(list, "hosts.sink");
	named(list, "case NAME.label");
	json_decref(list);
	PROGRAM_RUN(bench, "run", "--help");
	ASSERT_HOLDS(bench->output, "list keys");
}

static void nothing_means_transports(void **state)
{
	struct bench *bench = *state;
	PROGRAM_RUN(bench, "list");
	ASSERT_EXIT(bench, 0);
	ASSERT_HOLDS(bench->output, "rsync-ssh");
}

/* A tool needs a file and nothing else; one with a mistake is told, one that is not installed says
 * what is missing. */
static void tool_files_are_listed(void **state)
{
	struct bench *bench = *state;
	bench_add_tool(bench, "mine", "[tool]\nsummary = a tool of mine\nrun = cp {src} {dst}\n");
	bench_add_tool(bench, "absent",
		       "[tool]\nprobe = lf-no-such\nrun = lf-no-such {src} {dst}\n");
	bench_add_tool(bench, "wrong", "[tool]\nrun = cp {sorc} {dst}\n");
	PROGRAM_RUN(bench, "list", "transports", "--tools", bench->tools);
	ASSERT_EXIT(bench, 0);
	ASSERT_HOLDS(bench->output, "a tool of mine");
	ASSERT_HOLDS(bench->output, "not available: lf-no-such");
	ASSERT_LACKS(bench->output, "wrong");
	ASSERT_HOLDS(bench->error, "wrong.ini:2");
	ASSERT_HOLDS(bench->error, "{src}");
}

/* What is missing is told with what brings it. */
static void packages_are_told(void **state)
{
	struct bench *bench = *state;
	bench_add_tool(bench, "gone",
		       "[tool]\nsummary = gone\npackages = one-package, two\n"
		       "run = lf-no-such-program {src} {dst}\n");
	PROGRAM_RUN(bench, "list", "transports", "--tools", bench->tools);
	ASSERT_EXIT(bench, 0);
	ASSERT_HOLDS(bench->output, "not available: lf-no-such-program: not found (on Debian: "
				    "apt-get install one-package two)");
}

static void default_cipher_is_marked(void **state)
{
	struct bench *bench = *state;
	PROGRAM_RUN(bench, "list", "ciphers");
	ASSERT_EXIT(bench, 0);
	const char *line = strstr(bench->output, "aes128-ctr hmac-sha2-256");
	const char *mark = strstr(bench->output, "(the default)");
	assert_non_null(line);
	assert_non_null(mark);
	assert_true(mark > line && mark < strchr(line, '\n'));
	assert_null(strstr(mark + 1, "(the default)"));
}

/* A name is not overlooked, whatever the list and its form. */
static void names_choose(void **state)
{
	struct bench *bench = *state;
	static const struct {
		const char *what, *name;
		size_t count;
	} cases[] = {
		{ "transports", "tcp", 1 }, { "datasets", "single", 1 },
		{ "fields", "status", 1 },  { "studies", "first-study", 1 },
		{ "keys", "hosts", 2 },     { "keys", "ssh.mac", 1 },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		PROGRAM_RUN(bench, "list", cases[i].what, cases[i].name, "--json");
		ASSERT_EXIT(bench, 0);
		json_t *list = json_loads(bench->output, 0, NULL);
		assert_int_equal(json_array_size(list), cases[i].count);
		json_decref(list);
		PROGRAM_RUN(bench, "list", cases[i].what, "nosuchname", "--json");
		ASSERT_EXIT(bench, 2);
		ASSERT_HOLDS(bench->error, "nosuchname");
	}
	PROGRAM_RUN(bench, "list", "fields", "status");
	ASSERT_EXIT(bench, 0);
	assert_ptr_equal(strchr(bench->output, '\n'), bench->output + strlen(bench->output) - 1);
	ASSERT_HOLDS(bench->output, "status");
}

/* Tools in the user's own folder need no option at all. */
static void own_tools_are_found(void **state)
{
	struct bench *bench = *state;
	PROGRAM_RUN(bench, "list");
	ASSERT_LACKS(bench->output, "my-own");
	bench_add_file(bench, "../.config/linefill/tools/my-own.ini",
		       "[tool]\nsummary = my own\nrun = cp {src} {dst}\n");
	PROGRAM_RUN(bench, "list");
	ASSERT_EXIT(bench, 0);
	ASSERT_HOLDS(bench->output, "my-own");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(everything_is_listed),        BENCH_TEST(fields_are_the_columns),
		BENCH_TEST(transports_tell_all),         BENCH_TEST(keys_are_listed),
		BENCH_TEST(nothing_means_transports),    BENCH_TEST(tool_files_are_listed),
		BENCH_TEST(own_tools_are_found),         BENCH_TEST(home_is_left_alone),
		BENCH_TEST(ordinary_home_is_left_alone), BENCH_TEST(names_choose),
		BENCH_TEST(packages_are_told),           BENCH_TEST(default_cipher_is_marked),
	};
	cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
