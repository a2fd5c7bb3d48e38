/* A tool that burns a known amount of CPU at one end: the row must have it there, and not at the
 * other. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/cli/program.h"

#define BURNT_S 2.0
/* What copying a few files, and starting processes, costs beside it. */
#define BESIDE_S 0.1

struct burner {
	const char *name, *keys, *words;
	bool at_sink;
};

static void check_burner(struct bench *bench, const struct burner *burner)
{
	bench_add_tool(bench, burner->name,
		       "[tool]\n%s%s\n  copy {src} {dst}\n[preserve]\nmode =\n", burner->keys,
		       burner->words);
	PROGRAM_STUDY(bench, "-t", burner->name, "--dataset", "small-files:files=3,size=1KiB",
		      "--rounds", "1");
	ASSERT_EXIT(bench, 0);
	const struct result *row = bench_row(bench, burner->name, 1);
	ASSERT_ROW(row, STATUS_OK);
	double there = burner->at_sink ? row->cpu_sink_s : row->cpu_source_s;
	double elsewhere = burner->at_sink ? row->cpu_source_s : row->cpu_sink_s;
	if (fabs(there - BURNT_S) > BURNT_S * 0.05 + (burner->at_sink ? 0 : BESIDE_S) ||
	    elsewhere < 0 || elsewhere > BESIDE_S)
		fail_msg("%s: source %.3f s, sink %.3f s", burner->name, row->cpu_source_s,
			 row->cpu_sink_s);
	bench_check_clean(bench);
}

#define PULL "driver = sink\nrun = " FAULT_TOOL
#define PUSH "driver = source\nrun = " FAULT_TOOL
#define FAR  "needs = sshd\nrun = ssh -F {ssh_config} {host}\n  " FAULT_TOOL

#define BURNER_TEST(test, key, text, where)                                 \
	static void test(void **state)                                      \
	{                                                                   \
		check_burner(*state, &(struct burner){ .name = #test,       \
						       .keys = key,         \
						       .words = " " text,   \
						       .at_sink = where }); \
	}

BURNER_TEST(by_itself_at_the_sink, PULL, "burn 2", true)
BURNER_TEST(by_a_child_at_the_sink, PULL, "burn-child 2", true)
BURNER_TEST(by_an_orphan_at_the_sink, PULL, "burn-orphan 2", true)
BURNER_TEST(by_itself_at_the_source, PUSH, "burn 2", false)
BURNER_TEST(by_an_orphan_at_the_source, PUSH, "burn-orphan 2", false)

/* What runs in a session of the study's sshd counts at its end; the client's part is small. */
static void by_a_session_at_the_sink(void **state)
{
	struct bench *bench = *state;
	bench_add_tool(bench, "far",
		       "[tool]\n" FAR " burn-child 1 burn-orphan 1\n"
		       "  copy {src} {dst}\n[preserve]\nmode =\n");
	PROGRAM_STUDY(bench, "-t", "far", "--dataset", "small-files:files=3,size=1KiB", "--rounds",
		      "2");
	ASSERT_EXIT(bench, 0);
	for (int round = 1; round <= 2; round++) {
		const struct result *row = bench_row(bench, "far", round);
		ASSERT_ROW(row, STATUS_OK);
		if (row->cpu_sink_s < BURNT_S || row->cpu_sink_s > BURNT_S * 1.05 + 2 * BESIDE_S ||
		    row->cpu_source_s > 2 * BESIDE_S)
			fail_msg("source %.3f s, sink %.3f s", row->cpu_source_s, row->cpu_sink_s);
	}
	bench_check_clean(bench);
}

/* Before the clock starts, CPU does not count either. */
static void not_in_prepare(void **state)
{
	struct bench *bench = *state;
	bench_add_tool(
		bench, "early",
		"[tool]\nprepare = %s burn 1\nrun = %s copy {src} {dst}\n[preserve]\nmode =\n",
		FAULT_TOOL, FAULT_TOOL);
	PROGRAM_STUDY(bench, "-t", "early", "--dataset", "small-files:files=3,size=1KiB",
		      "--rounds", "1");
	ASSERT_EXIT(bench, 0);
	assert_true(bench_row(bench, "early", 1)->cpu_source_s < 2 * BESIDE_S);
	bench_check_clean(bench);
}

static void by_workers_of_a_module(void **state)
{
	struct bench *bench = *state;
	PROGRAM_STUDY(bench, "-t", "null:copy=yes,burn_source_s=0.5,burn_sink_s=1", "--dataset",
		      "small-files:files=3,size=1KiB", "--rounds", "1");
	ASSERT_EXIT(bench, 0);
	const struct result *row = &bench->results.rows[0];
	ASSERT_ROW(row, STATUS_OK);
	if (fabs(row->cpu_source_s - 0.5) > BESIDE_S || fabs(row->cpu_sink_s - 1) > BESIDE_S)
		fail_msg("source %.3f s, sink %.3f s", row->cpu_source_s, row->cpu_sink_s);
	bench_check_clean(bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(by_itself_at_the_sink),
		BENCH_TEST(by_a_child_at_the_sink),
		BENCH_TEST(by_an_orphan_at_the_sink),
		BENCH_TEST(by_itself_at_the_source),
		BENCH_TEST(by_an_orphan_at_the_source),
		BENCH_TEST(by_a_session_at_the_sink),
		BENCH_TEST(not_in_prepare),
		BENCH_TEST(by_workers_of_a_module),
	};
	cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
