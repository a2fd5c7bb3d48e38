/* Tools that are not there, hang, fail, lie, or leave something behind. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/files.h"
#include "tests/cli/program.h"

#define SMALL "small-files:files=10,size=1KiB"

/* Results go to a new folder. */
static void forget_results(const struct bench *bench)
{
	struct error err = { 0 };
	if (folder_remove(bench->out, &err) < 0)
		fail_msg("%s", err.message);
}

static void missing_tool_is_unavailable(void **state)
{
	struct bench *bench = *state;
	bench_add_tool(
		bench, "nowhere",
		"[tool]\nprobe = lf-no-such-program --version\nrun = lf-no-such-program {src} "
		"{dst}\n[preserve]\nmode =\n");
	PROGRAM_STUDY(bench, "-t", "nowhere", "-t", "tcp", "--dataset", SMALL, "--rounds", "2");
	ASSERT_EXIT(bench, 0);
	assert_int_equal(bench->results.count, 3);
	const struct result *row = bench_row(bench, "nowhere", 0);
	ASSERT_ROW(row, STATUS_UNAVAILABLE);
	ASSERT_HOLDS(row->error, "lf-no-such-program");
	ASSERT_ROW(bench_row(bench, "tcp", 1), STATUS_OK);
	ASSERT_ROW(bench_row(bench, "tcp", 2), STATUS_OK);
	bench_check_clean(bench);
}

#define HUNG_PROBES 15

/* Side by side, each with a limit: one after the other they would use up the time of all. */
static void hung_probes_are_unavailable(void **state)
{
	struct bench *bench = *state;
	const char *arguments[2 * HUNG_PROBES + 8] = { "-t",  "tcp",      "--dataset",
						       SMALL, "--rounds", "1" };
	char names[HUNG_PROBES][20];
	size_t count = 6;
	for (int i = 0; i < HUNG_PROBES; i++) {
		snprintf(names[i], sizeof(names[i]), "hung%d", i);
		bench_add_tool(bench, names[i],
			       "[tool]\nprobe = %s hold 300\nrun = cp {src} {dst}\n[preserve]\n"
			       "mode =\n",
			       FAULT_TOOL);
		arguments[count++] = "-t";
		arguments[count++] = names[i];
	}
	program_run_study(bench, arguments);
	ASSERT_EXIT(bench, 0);
	ASSERT_ROW(bench_row(bench, "tcp", 1), STATUS_OK);
	for (int i = 0; i < HUNG_PROBES; i++) {
		ASSERT_ROW(bench_row(bench, names[i], 0), STATUS_UNAVAILABLE);
		ASSERT_HOLDS(bench_row(bench, names[i], 0)->error, "limit of 5 s");
	}
	bench_check_clean(bench);
}

static void probing_heeds_cancel(void **state)
{
	struct bench *bench = *state;
	bench_add_tool(bench, "hung",
		       "[tool]\nprobe = %s mark %s/probing hold 300\nrun = cp {src} {dst}\n"
		       "[preserve]\nmode =\n",
		       FAULT_TOOL, bench->files);
	PROGRAM_START_STUDY(bench, "-t", "hung", "-t", "tcp", "--dataset", SMALL, "--rounds", "1");
	bench_await_file(bench, "probing");
	kill(bench->pid, SIGINT);
	program_wait(bench);
	ASSERT_EXIT(bench, 130);
	ASSERT_LACKS(bench->error, "killed");
	bench_read_results(bench);
	ASSERT_ROW(bench_row(bench, "tcp", 1), STATUS_CANCELLED);
	bench_check_clean(bench);
}

static void hung_tool_is_ended_in_time(void **state)
{
	struct bench *bench = *state;
	bench_add_tool(bench, "hung",
		       "[tool]\nrun = %s hold 300 hang {src} {dst}\n[preserve]\nmode =\n",
		       FAULT_TOOL);
	PROGRAM_STUDY(bench, "-t", "hung", "-t", "tcp", "--dataset", SMALL, "--rounds", "2",
		      "--set", "study.timeout=1.5");
	ASSERT_EXIT(bench, 1);
	ASSERT_ROW(bench_row(bench, "hung", 1), STATUS_TIMEOUT);
	ASSERT_ROW(bench_row(bench, "hung", 2), STATUS_TIMEOUT);
	ASSERT_ROW(bench_row(bench, "tcp", 1), STATUS_OK);
	ASSERT_ROW(bench_row(bench, "tcp", 2), STATUS_OK);
	assert_true(bench_row(bench, "hung", 1)->goodput_bps !=
		    bench_row(bench, "hung", 1)->goodput_bps);
	bench_check_clean(bench);
}

/* Deaf to all but SIGKILL, at either end. */
static void hung_module_is_ended_in_time(void **state)
{
	struct bench *bench = *state;
	PROGRAM_STUDY(bench, "-t", "null:hang=source,label=a", "-t", "null:hang=sink", "-t", "tcp",
		      "--dataset", SMALL, "--rounds", "1", "--set", "study.timeout=1");
	ASSERT_EXIT(bench, 1);
	ASSERT_ROW(bench_row(bench, "null:hang=source", 1), STATUS_TIMEOUT);
	ASSERT_ROW(bench_row(bench, "null:hang=sink", 1), STATUS_TIMEOUT);
	ASSERT_ROW(bench_row(bench, "tcp", 1), STATUS_OK);
	bench_check_clean(bench);
}

static void failing_tool_is_quoted(void **state)
{
	struct bench *bench = *state;
	bench_add_tool(bench, "broken",
		       "[tool]\nrun = %s say first say 'no such luck' exit 1 {src} {dst}\n"
		       "[preserve]\nmode =\n",
		       FAULT_TOOL);
	PROGRAM_STUDY(bench, "-t", "broken", "--dataset", SMALL, "--rounds", "1");
	ASSERT_EXIT(bench, 1);
	const struct result *row = bench_row(bench, "broken", 1);
	ASSERT_ROW(row, STATUS_FAILED);
	ASSERT_HOLDS(row->error, "exit status 1");
	ASSERT_HOLDS(row->error, "no such luck");
	assert_int_equal(row->verified, VERIFIED_NO);
	assert_int_equal(row->payload_bytes, RESULT_UNKNOWN_COUNT);
	bench_check_clean(bench);
}

/* What a tool says cannot drive the terminal, nor the report. */
static void rude_tool_is_escaped(void **state)
{
	struct bench *bench = *state;
	bench_add_tool(
		bench, "rude",
		"[tool]\nrun = %s say '\033]0;owned\007<script>x</script>' exit 3 {src} {dst}\n"
		"[preserve]\nmode =\n",
		FAULT_TOOL);
	PROGRAM_STUDY(bench, "-t", "rude", "--dataset", SMALL, "--rounds", "1");
	ASSERT_EXIT(bench, 1);
	ASSERT_ROW(bench_row(bench, "rude", 1), STATUS_FAILED);
	ASSERT_LACKS(bench->output, "\033");
	ASSERT_LACKS(bench->error, "\033");
	char *report = bench_read_out(bench, "report.html");
	ASSERT_LACKS(report, "<script>x");
	ASSERT_LACKS(report, "\033");
	free(report);
	bench_check_clean(bench);
}

static void wrong_copy_is_integrity(void **state)
{
	static const struct {
		const char *name, *words;
	} cases[] = {
		{ "nothing", "sleep 0 {src} {dst}" },
		{ "flips", "copy {src} {dst} flip '{dst}/*/*'" },
		{ "forgets", "copy {src} {dst} remove '{dst}/*/*'" },
		{ "adds", "copy {src} {dst} litter {dst}" },
	};
	struct bench *bench = *state;
	const char *arguments[24] = { "--dataset", SMALL, "--rounds", "1" };
	size_t count = 4;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool used = strncmp(cases[i].words, "sleep", 5) != 0;
		bench_add_tool(bench, cases[i].name, "[tool]\nrun = %s %.*s\n[preserve]\nmode =\n",
			       FAULT_TOOL, used ? 200 : 7, cases[i].words);
		arguments[count++] = "-t";
		arguments[count++] = cases[i].name;
	}
	program_run_study(bench, arguments);
	ASSERT_EXIT(bench, 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct result *row = bench_row(bench, cases[i].name, 1);
		ASSERT_ROW(row, STATUS_INTEGRITY);
		assert_int_equal(row->verified, VERIFIED_NO);
		assert_true(row->goodput_bps != row->goodput_bps);
	}
	bench_check_clean(bench);
}

static void lingering_grandchild_goes(void **state)
{
	struct bench *bench = *state;
	bench_add_tool(bench, "lingers",
		       "[tool]\nrun = %s linger 300 copy {src} {dst}\n[preserve]\nmode =\n",
		       FAULT_TOOL);
	bench_add_tool(bench, "holds",
		       "[tool]\nrun = %s hold 300 copy {src} {dst}\n[preserve]\nmode =\n",
		       FAULT_TOOL);
	PROGRAM_STUDY(bench, "-t", "lingers", "-t", "holds", "--dataset", SMALL, "--rounds", "1");
	ASSERT_EXIT(bench, 0);
	ASSERT_ROW(bench_row(bench, "lingers", 1), STATUS_OK);
	ASSERT_ROW(bench_row(bench, "holds", 1), STATUS_OK);
	assert_true(bench_row(bench, "holds", 1)->total_s < 60);
	bench_check_clean(bench);
}

/* Two forks and two sessions away from the tool, and about to change the copy: at the tool's own
 * end it goes with the tool; at the end of a session it is waited for, and what it did is found. */
static void daemon_does_not_outlive_its_run(void **state)
{
	struct bench *bench = *state;
	bench_add_file(
		bench, "daemon.sh",
		"cp -r \"$1\"/. \"$2\"/\n"
		"setsid sh -c 'setsid sh -c \"sleep 1; echo x >>\\\"'\"$2\"'/d00000/f00000001\\\";"
		" touch '\"$3\"'\" & ' >/dev/null 2>&1 </dev/null\n");
	bench_add_tool(bench, "near",
		       "[tool]\nrun = sh %s/daemon.sh {src} {dst} %s/near\n[preserve]\nmode =\n",
		       bench->files, bench->files);
	bench_add_tool(bench, "far",
		       "[tool]\nneeds = sshd\nrun = ssh -F {ssh_config} {host} sh %s/daemon.sh\n"
		       "  {src} {dst} %s/far\n[preserve]\nmode =\n",
		       bench->files, bench->files);
	PROGRAM_STUDY(bench, "-t", "near", "-t", "far", "--dataset", SMALL, "--rounds", "2");
	ASSERT_EXIT(bench, 1);
	for (int round = 1; round <= 2; round++) {
		ASSERT_ROW(bench_row(bench, "near", round), STATUS_OK);
		ASSERT_ROW(bench_row(bench, "far", round), STATUS_INTEGRITY);
		ASSERT_HOLDS(bench_row(bench, "far", round)->error, "f00000001");
	}
	assert_false(bench_has(bench, "files/near"));
	assert_true(bench_has(bench, "files/far"));
	bench_check_clean(bench);
}

/* The same at the far end of an ssh session. */
static void lingering_session_goes(void **state)
{
	struct bench *bench = *state;
	bench_add_tool(bench, "far",
		       "[tool]\nneeds = sshd\nrun = ssh -F {ssh_config} {host}\n  %s linger 300\n"
		       "  copy {src} {dst}\n[preserve]\nmode =\n",
		       FAULT_TOOL);
	PROGRAM_STUDY(bench, "-t", "far", "-t", "scp", "--dataset", SMALL, "--rounds", "2");
	ASSERT_EXIT(bench, 0);
	for (int round = 1; round <= 2; round++) {
		ASSERT_ROW(bench_row(bench, "far", round), STATUS_OK);
		ASSERT_ROW(bench_row(bench, "scp", round), STATUS_OK);
	}
	bench_check_clean(bench);
}

/* A server that others can reach is ended before anything is connected to it, unless that is
 * allowed. */
static void server_for_all_is_ended(void **state)
{
	struct bench *bench = *state;
	bench_add_tool(bench, "for-all",
		       "[tool]\nserve = nc -d -l {port}\nserve_into = tar -x -f - -C {dst}\n"
		       "serve_until = exit\nrun = tar -c -f - -C {src} .\n"
		       "into = nc -N {host} {port}\n[preserve]\nmode =\n");
	PROGRAM_STUDY(bench, "-t", "for-all", "-t", "tar-nc", "--dataset", SMALL, "--rounds", "1");
	ASSERT_EXIT(bench, 0);
	const struct result *row = bench_row(bench, "for-all", 1);
	ASSERT_ROW(row, STATUS_UNSUPPORTED);
	ASSERT_HOLDS(row->error, "for-all");
	ASSERT_HOLDS(row->error, "nc listens on 0.0.0.0 port ");
	ASSERT_HOLDS(row->error, "{host}");
	ASSERT_HOLDS(row->error, "--allow-open-listener");
	ASSERT_ROW(bench_row(bench, "tar-nc", 1), STATUS_OK);
	bench_check_clean(bench);
	forget_results(bench);
	PROGRAM_STUDY(bench, "-t", "for-all", "--dataset", SMALL, "--rounds", "1",
		      "--allow-open-listener");
	ASSERT_EXIT(bench, 0);
	ASSERT_ROW(bench_row(bench, "for-all", 1), STATUS_OK);
	bench_check_clean(bench);
}

/* What is known to listen on all addresses is not even started. */
static void known_for_all_is_not_started(void **state)
{
	struct bench *bench = *state;
	bench_add_tool(bench, "known",
		       "[tool]\ncaps = any-address\nserve = %s listen {port}\n"
		       "run = %s copy {src} {dst}\n[preserve]\nmode =\n",
		       FAULT_TOOL, FAULT_TOOL);
	PROGRAM_STUDY(bench, "-t", "known", "--dataset", SMALL, "--rounds", "2");
	ASSERT_EXIT(bench, 0);
	assert_int_equal(bench->results.count, 1);
	ASSERT_ROW(bench_row(bench, "known", 0), STATUS_UNSUPPORTED);
	ASSERT_HOLDS(bench_row(bench, "known", 0)->error, "--allow-open-listener");
	bench_check_clean(bench);
}

/* A mistake in one tool file is told, and does not keep the others from working. */
static void bad_tool_file_is_told(void **state)
{
	struct bench *bench = *state;
	bench_add_tool(bench, "bad", "[tool]\nrunn = true {src} {dst}\n");
	PROGRAM_STUDY(bench, "-t", "tcp", "--dataset", SMALL, "--rounds", "1");
	ASSERT_EXIT(bench, 0);
	ASSERT_HOLDS(bench->error, "bad.ini:2");
	ASSERT_HOLDS(bench->error, "runn");
	bench_check_clean(bench);
}

int main(int argc, char **argv)
{
	cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
	const struct CMUnitTest tests[] = {
		BENCH_TEST(missing_tool_is_unavailable),
		BENCH_TEST(hung_probes_are_unavailable),
		BENCH_TEST(probing_heeds_cancel),
		BENCH_TEST(hung_tool_is_ended_in_time),
		BENCH_TEST(hung_module_is_ended_in_time),
		BENCH_TEST(failing_tool_is_quoted),
		BENCH_TEST(rude_tool_is_escaped),
		BENCH_TEST(wrong_copy_is_integrity),
		BENCH_TEST(lingering_grandchild_goes),
		BENCH_TEST(lingering_session_goes),
		BENCH_TEST(daemon_does_not_outlive_its_run),
		BENCH_TEST(bad_tool_file_is_told),
		BENCH_TEST(server_for_all_is_ended),
		BENCH_TEST(known_for_all_is_not_started),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
