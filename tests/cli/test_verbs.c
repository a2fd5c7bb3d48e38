/* Help, version, and words that linefill does not know. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/cleanup.h"
#include "tests/cli/program.h"

static const char *const verbs[] = { "run", "list", "dataset", "report", "tool" };
#define VERBS (sizeof(verbs) / sizeof(verbs[0]))

static void help_shows_every_verb(void **state)
{
	struct bench *bench = *state;
	static const char *const spellings[] = { "--help", "-h", "help" };
	for (size_t i = 0; i < 3; i++) {
		PROGRAM_RUN(bench, spellings[i]);
		ASSERT_EXIT(bench, 0);
		assert_string_equal(bench->error, "");
		for (size_t verb = 0; verb < VERBS; verb++)
			ASSERT_HOLDS(bench->output, verbs[verb]);
	}
}

/* To standard error, as there was nothing to do. */
static void nothing_is_a_mistake(void **state)
{
	struct bench *bench = *state;
	program_run(bench, (const char *const[]){ NULL });
	ASSERT_EXIT(bench, 2);
	assert_string_equal(bench->output, "");
	ASSERT_HOLDS(bench->error, "Usage: linefill");
}

static void version_is_one_line(void **state)
{
	struct bench *bench = *state;
	PROGRAM_RUN(bench, "--version");
	ASSERT_EXIT(bench, 0);
	assert_int_equal(strncmp(bench->output, "linefill ", 9), 0);
	assert_ptr_equal(strchr(bench->output, '\n'), bench->output + strlen(bench->output) - 1);
}

static void every_verb_has_help(void **state)
{
	struct bench *bench = *state;
	for (size_t i = 0; i < VERBS; i++) {
		PROGRAM_RUN(bench, verbs[i], "--help");
		ASSERT_EXIT(bench, 0);
		assert_string_equal(bench->error, "");
		ASSERT_HOLDS(bench->output, "Usage: linefill");
		ASSERT_HOLDS(bench->output, verbs[i]);
		AUTO_FREE char *help = strdup(bench->output);
		PROGRAM_RUN(bench, verbs[i], "-h");
		ASSERT_EXIT(bench, 0);
		assert_string_equal(bench->output, help);
		PROGRAM_RUN(bench, "help", verbs[i]);
		ASSERT_EXIT(bench, 0);
		assert_string_equal(bench->output, help);
		PROGRAM_RUN(bench, verbs[i], "--usage");
		ASSERT_EXIT(bench, 0);
	}
	PROGRAM_RUN(bench, "run", "--help");
	static const char *const options[] = { "--transport", "--dataset", "--rounds", "--seed",
					       "--out",       "--set",     "--case",   "--plan",
					       "--tools",     "default",   "130" };
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		ASSERT_HOLDS(bench->output, options[i]);
}

/* What linefill starts itself, too. */
static void inner_verbs_have_help(void **state)
{
	static const char *const inner[] = { "agent", "receive" };
	struct bench *bench = *state;
	for (size_t i = 0; i < sizeof(inner) / sizeof(inner[0]); i++) {
		PROGRAM_RUN(bench, inner[i], "--help");
		ASSERT_EXIT(bench, 0);
		assert_string_equal(bench->error, "");
		ASSERT_HOLDS(bench->output, "started by linefill itself");
		PROGRAM_RUN(bench, inner[i]);
		ASSERT_EXIT(bench, 2);
	}
}

/* Options may stand behind arguments, whatever the user's environment. */
static void options_may_come_last(void **state)
{
	struct bench *bench = *state;
	assert_int_equal(setenv("POSIXLY_CORRECT", "1", 1), 0);
	PROGRAM_RUN(bench, "run", "first-study", "-t", "tcp", "--plan");
	unsetenv("POSIXLY_CORRECT");
	ASSERT_EXIT(bench, 0);
	ASSERT_HOLDS(bench->output, "tcp");
}

struct slip {
	const char *arguments[6];
	const char *answers[3]; /* all of them must be in what is said */
};

static const struct slip slips[] = {
	{ { "rum" }, { "'rum'", "'run'" } },
	{ { "lst" }, { "'lst'", "'list'" } },
	{ { "frobnicate" }, { "'frobnicate'", "--help" } },
	{ { "--hepl" }, { "--hepl" } },
	{ { "run", "--datset", "single" }, { "--datset", "--dataset" } },
	{ { "run", "--ronds=3" }, { "--ronds", "--rounds" } },
	{ { "run", "--set" }, { "set" } },
	{ { "run", "-t" }, { "requires an argument" } },
	{ { "run", "-x" }, { "x" } },
	{ { "run" }, { "no case" } },
	{ { "run", "-t", "scpp" }, { "'scpp'", "'scp'" } },
	{ { "run", "-t", "multi:stream=4" }, { "stream", "'streams'" } },
	{ { "run", "-t", "multi:streams=0" }, { "streams" } },
	{ { "run", "-t", "multi:streams=many" }, { "streams", "many" } },
	{ { "run", "-t", "multi:streams" }, { "streams" } },
	{ { "run", "-t", "null:hang=sinc" }, { "hang", "sink" } },
	{ { "run", "-t", "" }, { "-t", "name" } },
	{ { "run", "-t", "tcp:label=x", "-t", "scp:label=x" },
	  { "-t scp:label=x", "'tcp'", "-t tcp:label=x" } },
	{ { "run", "-t", "tcp", "--dataset", "singel" }, { "'singel'", "'single'" } },
	{ { "run", "-t", "tcp", "--dataset", "single:byts=1" }, { "byts", "'bytes'" } },
	{ { "run", "-t", "tcp", "--dataset", "single:bytes=-1" }, { "bytes", "-1" } },
	{ { "run", "-t", "tcp", "--dataset", "" }, { "dataset" } },
	{ { "run", "-t", "tcp", "--dataset", "directory" }, { "path" } },
	{ { "run", "-t", "tcp", "--dataset", "directory:path=/lf-nowhere" },
	  { "/lf-nowhere", "No such file" } },
	{ { "run", "-t", "tcp", "--rounds", "0" }, { "rounds", "0" } },
	{ { "run", "-t", "tcp", "--rounds", "1e9" }, { "rounds" } },
	{ { "run", "-t", "tcp", "--rounds", "" }, { "rounds" } },
	{ { "run", "-t", "tcp", "--seed", "x" }, { "seed", "x" } },
	{ { "run", "-t", "tcp", "--set", "rounds=1" }, { "study.rounds=1" } },
	{ { "run", "-t", "tcp", "--set", "study.ronds=1" }, { "ronds", "rounds" } },
	{ { "run", "-t", "tcp", "--set", "stduy.rounds=1" }, { "stduy", "study" } },
	{ { "run", "-t", "tcp", "--set", "case tpc.instances=1" }, { "tpc" } },
	{ { "run", "-t", "tcp", "--set", "study.preserve=modes" }, { "modes", "mode" } },
	{ { "run", "-t", "tcp", "--set", "study.cache=cold" }, { "cold", "location" } },
	{ { "run", "-t", "tcp", "--case", "tpc" }, { "'tpc'", "'tcp'" } },
	{ { "run", "-t", "tcp", "--tools", "/lf-nowhere" }, { "/lf-nowhere" } },
	{ { "run", "--rounds", "3", "--rounds=5" }, { "--rounds 3", "--rounds 5" } },
	{ { "run", "--seed", "3", "--seed=5" }, { "--seed 3", "--seed 5" } },
	{ { "run", "--dataset", "single", "--dataset=linux-repo" },
	  { "--dataset single", "--dataset linux-repo" } },
	{ { "run", "--out", "a", "--out=b" }, { "--out a", "--out b" } },
	{ { "run", "--format", "ttcp", "--format=table" }, { "--format ttcp", "--format table" } },
	{ { "run", "/lf-nowhere.ini" }, { "/lf-nowhere.ini" } },
	{ { "run", "one.ini", "two.ini" }, { "one.ini", "two.ini" } },
	{ { "run", "scp", "rsync-ssh" }, { "linefill run -t scp -t rsync-ssh" } },
	{ { "run", "multi:streams=4" }, { "linefill run -t multi:streams=4" } },
	{ { "run", "rsync" }, { "'rsync'", "-t", "'rsync-ssh'" } },
	{ { "run", "zzzzzzz" }, { "'zzzzzzz'", "linefill list studies" } },
	{ { "run", "-t", "rsync" }, { "'rsync-ssh'", "'rsync-daemon'" } },
	{ { "run", "-t", "cp" }, { "'cp'" } },
	{ { "run", "-t", "tcp", "--dataset", "/usr/include" }, { "directory:path=/usr/include" } },
	{ { "dataset", "make", "/usr/include", "x" }, { "directory:path=/usr/include" } },
	{ { "run", "-t", "tcp", "--dataset", "single:bytes=256" }, { "256B", "256MiB" } },
	{ { "run", "-t", "multi:streams=1,2,4" }, { "'streams=1 2 4'" } },
	{ { "help", "rum" }, { "'rum'", "'run'" } },
	{ { "help", "run", "list" }, { "too many", "list" } },
	{ { "--version", "run" }, { "too many", "run" } },
	{ { "list", "transport" }, { "'transport'", "'transports'" } },
	{ { "list", "transports", "scpp" }, { "scpp", "scp" } },
	{ { "list", "datasets", "singel" }, { "singel" } },
	{ { "list", "--jsn" }, { "--jsn", "--json" } },
	{ { "list", "a", "b", "c" }, { "too many" } },
	{ { "dataset" }, { "make", "verify" } },
	{ { "dataset", "mak", "single", "x" }, { "make" } },
	{ { "dataset", "make", "singel", "x" }, { "'singel'", "'single'" } },
	{ { "dataset", "make", "single:byts=1", "x" }, { "byts", "'bytes'" } },
	{ { "dataset", "make", "single", "x", "--seed=y" }, { "seed" } },
	{ { "dataset", "verify", "x", "--preserve=x" }, { "preserve" } },
	{ { "dataset", "verify", "x", "--seed=1" }, { "--seed", "make" } },
	{ { "dataset", "make", "single", "x", "--preserve=mode" }, { "--preserve", "verify" } },
	{ { "dataset", "make", "single", "--seed=1", "--seed=2" }, { "--seed 1", "--seed 2" } },
	{ { "report" }, { "folder" } },
	{ { "report", "a", "b" }, { "one folder" } },
	{ { "report", "/lf-nowhere" }, { "/lf-nowhere" } },
};

static void mistakes_are_answered_with_the_nearest(void **state)
{
	struct bench *bench = *state;
	for (size_t i = 0; i < sizeof(slips) / sizeof(slips[0]); i++) {
		program_run(bench, slips[i].arguments);
		if (bench->status != 2)
			print_error("slip %zu: %s %s\n", i, slips[i].arguments[0],
				    slips[i].arguments[1] ? slips[i].arguments[1] : "");
		ASSERT_EXIT(bench, 2);
		assert_string_equal(bench->output, "");
		for (size_t j = 0; j < 3 && slips[i].answers[j]; j++)
			ASSERT_HOLDS(bench->error, slips[i].answers[j]);
	}
	/* None of them made a folder for results. */
	assert_false(bench_has(bench, "files/linefill-results"));
	assert_false(bench_has(bench, "files/x"));
	bench_check_clean(bench);
}

/* What nobody got to read was not done well. */
static void full_output_is_an_error(void **state)
{
	static const struct {
		const char *arguments[8];
	} cases[] = {
		{ { "--version" } },
		{ { "--help" } },
		{ { "list" } },
		{ { "list", "fields", "--json" } },
		{ { "list", "--help" } },
		{ { "list", "datasets", "single" } },
		{ { "run", "first-study", "--plan" } },
		{ { "dataset", "make", "single:bytes=1B", "made" } },
		{ { "dataset", "verify", "made" } },
		{ { "tool", "check", "--no-copy", "cp.ini" } },
		{ { "run", "-t", "null", "--rounds=1", "--dataset", "single:bytes=1B",
		    "--out=out" } },
		{ { "report", "out" } },
	};
	struct bench *bench = *state;
	bench_add_file(bench, "cp.ini", "[tool]\nrun = cp {src} {dst}\n");
	bench->printed_to = "/dev/full";
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		program_run(bench, cases[i].arguments);
		if (bench->status != 1)
			print_error("%s %s\n", cases[i].arguments[0],
				    cases[i].arguments[1] ? cases[i].arguments[1] : "");
		ASSERT_EXIT(bench, 1);
		ASSERT_HOLDS(bench->error, "linefill: standard output could not be written");
	}
	assert_true(bench_has(bench, "files/out/report.html"));
	/* A mistake stays one. */
	PROGRAM_RUN(bench, "lst");
	ASSERT_EXIT(bench, 2);
	ASSERT_LACKS(bench->error, "standard output");
	bench_check_clean(bench);
}

/* Arguments cannot drive the terminal, nor overrun anything. */
static void odd_arguments_are_shown_escaped(void **state)
{
	static char huge[100000];
	static const char *const odd[] = { "\033]0;owned\007", "%s%n%d", "\xff\xfe", huge };
	struct bench *bench = *state;
	memset(huge, 'A', sizeof(huge) - 1);
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		PROGRAM_RUN(bench, odd[i]);
		ASSERT_EXIT(bench, 2);
		ASSERT_LACKS(bench->error, "\033");
		PROGRAM_RUN(bench, "run", "-t", odd[i]);
		ASSERT_EXIT(bench, 2);
		ASSERT_LACKS(bench->error, "\033");
		PROGRAM_RUN(bench, "list", odd[i]);
		ASSERT_EXIT(bench, 2);
		ASSERT_LACKS(bench->error, "\033");
		PROGRAM_RUN(bench, "run", "-t", "tcp", "--dataset", odd[i]);
		ASSERT_EXIT(bench, 2);
		ASSERT_LACKS(bench->error, "\033");
	}
	bench_check_clean(bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(help_shows_every_verb),
		BENCH_TEST(nothing_is_a_mistake),
		BENCH_TEST(version_is_one_line),
		BENCH_TEST(every_verb_has_help),
		BENCH_TEST(inner_verbs_have_help),
		BENCH_TEST(options_may_come_last),
		BENCH_TEST(mistakes_are_answered_with_the_nearest),
		BENCH_TEST(full_output_is_an_error),
		BENCH_TEST(odd_arguments_are_shown_escaped),
	};
	cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
