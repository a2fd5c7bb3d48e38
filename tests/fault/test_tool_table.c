/* Fourteen ways in which a tool goes wrong: each ends inside its deadline with a row that says what
 * it was, and leaves nothing behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <jansson.h>

#include "harness/api/transport.h"
#include "harness/base/clock.h"
#include "harness/base/files.h"
#include "tests/cli/program.h"

#define TIMEOUT_S 4
/* Time for a run that fails to be ended and cleaned up, on a busy machine. */
#define SLACK_S   20
#define TOOLS_MAX 40

/* A key that is not the private server's. */
#define OTHER_KEY "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHk2mCAO3Ik0cSAUVpg4Tqf2SVvpnmiFTL4MeZ5JXyd5"

struct fault {
	const char *name;
	const char *text; /* %1$s: the faulty tool; %2$s: a folder of the test's */
	enum result_status status;
	const char *says[3];
};

static const struct fault faults[] = {
	{ "missing-at-sink",
	  "[tool]\nneeds = sshd\nrun = ssh -F {ssh_config} {host} lf-no-such {src} {dst}\n",
	  STATUS_FAILED,
	  { "exit status 127", "lf-no-such", "not found" } },
	{ "wrong-version",
	  "[tool]\nprobe = %1$s say 'tool 9.9'\nversion = tool (8[.][0-9]+)\n"
	  "run = %1$s copy {src} {dst}\n",
	  STATUS_UNAVAILABLE,
	  { "version pattern", "tool 9.9" } },
	{ "half-time",
	  "[tool]\nrun = %1$s copy {src} {dst} remove '{dst}/*/*5' say 'cut short' exit 1\n",
	  STATUS_FAILED,
	  { "exit status 1", "cut short" } },
	{ "killed",
	  "[tool]\nrun = sh -c 'kill -9 $$' {src} {dst}\n",
	  STATUS_FAILED,
	  { "killed by SIGKILL" } },
	{ "stops-reading",
	  "[tool]\nserve = %1$s listen {port}\nserve_until = exit\n"
	  "run = tar --create --file=- --directory={src} .\ninto = nc -N {host} {port}\n",
	  STATUS_TIMEOUT,
	  { "time is up" } },
	{ "chatter",
	  "[tool]\nrun = sh -c 'head -c 50000000 /dev/zero | tr \"\\\\0\" x >&2;\n"
	  "  echo >&2; echo \"that was all\" >&2; exit 4' {src} {dst}\n",
	  STATUS_FAILED,
	  { "exit status 4", "that was all" } },
	{ "grandchild",
	  "[tool]\nrun = %1$s linger 300 copy {src} {dst}\n[preserve]\nmode =\n",
	  STATUS_OK,
	  { "" } },
	{ "asks",
	  "[tool]\nrun = sh -c 'printf \"Password: \" >&2; read -r a </dev/tty || exit 5'\n"
	  "  {src} {dst}\n",
	  STATUS_FAILED,
	  { "Password: ", "/dev/tty" } },
	{ "never-listens",
	  "[tool]\nserve = sleep 300\nrun = %1$s copy {src} {dst}\n",
	  STATUS_TIMEOUT,
	  { "did not listen within" } },
	{ "port-taken",
	  "[tool]\nserve = sh -c 'if mkdir \"$0\" 2>/dev/null; then\n"
	  "  echo \"Address already in use\" >&2; exit 1; fi; exec %1$s listen \"$1\"'\n"
	  "  %2$s/taken {port}\nrun = %1$s copy {src} {dst}\n[preserve]\nmode =\n",
	  STATUS_OK,
	  { "" } },
	{ "other-host-key",
	  "[tool]\nneeds = sshd\n"
	  "run = ssh -F {ssh_config} -o UserKnownHostsFile={scratch}/hosts {host} true {src} {dst}\n"
	  "[file hosts]\ntext = linefill " OTHER_KEY "\n",
	  STATUS_FAILED,
	  { "exit status 255", "Host key verification failed" } },
};
#define FAULTS (sizeof(faults) / sizeof(faults[0]))

static void check_row(const struct bench *bench, const struct fault *fault)
{
	const struct result *row = bench_row(bench, fault->name, 0);
	ASSERT_ROW(row, fault->status);
	for (size_t i = 0; i < 3 && fault->says[i]; i++)
		ASSERT_HOLDS(row->error, fault->says[i]);
	if (fault->status == STATUS_OK)
		assert_string_equal(row->error, "");
	else
		assert_true(row->goodput_bps != row->goodput_bps);
}

static void add_fault(const struct bench *bench, const struct fault *fault)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	bench_add_tool(bench, fault->name, fault->text, FAULT_TOOL, bench->files);
#pragma GCC diagnostic pop
}

/* Results go to a new folder. */
static void forget_results(const struct bench *bench)
{
	struct error err = { 0 };
	if (folder_remove(bench->out, &err) < 0)
		fail_msg("%s", err.message);
}

static void faults_are_told(void **state)
{
	struct bench *bench = *state;
	for (size_t i = 0; i < FAULTS; i++) {
		char timeout[32];
		snprintf(timeout, sizeof(timeout), "study.timeout=%d", TIMEOUT_S);
		add_fault(bench, &faults[i]);
		int64_t start = clock_now_ns();
		PROGRAM_STUDY(bench, "-t", faults[i].name, "--dataset",
			      "small-files:files=48,size=1MiB", "--rounds", "1", "--set", timeout,
			      "--set", "study.preserve=content");
		double seconds = (double)(clock_now_ns() - start) / (double)NS_PER_S;
		check_row(bench, &faults[i]);
		assert_int_equal(bench->status,
				 faults[i].status == STATUS_OK ||
						 faults[i].status == STATUS_UNAVAILABLE
					 ? 0
					 : 1);
		if (seconds > TIMEOUT_S + SLACK_S)
			fail_msg("%s took %.1f s", faults[i].name, seconds);
		bench_check_clean(bench);
		forget_results(bench);
	}
}

/* Somebody's start-up file prints: that is told as what it is, not as a broken tool. */
static void banner_is_told(void **state)
{
	struct bench *bench = *state;
	char path[256], search[4096];
	const char *old = getenv("PATH");
	bench_add_file(bench, "bin/ssh",
		       "#!/bin/sh\necho 'Welcome to the machine'\nPATH='%s'\nexec ssh \"$@\"\n",
		       old);
	snprintf(path, sizeof(path), "%s/bin/ssh", bench->files);
	assert_int_equal(chmod(path, 0755), 0);
	snprintf(search, sizeof(search), "%s/bin:%s", bench->files, old);
	char *kept = strdup(old);
	setenv("PATH", search, 1);
	PROGRAM_STUDY(bench, "-t", "scp", "--dataset", "single:bytes=1KiB", "--rounds", "1");
	setenv("PATH", kept, 1);
	free(kept);
	ASSERT_EXIT(bench, 1);
	ASSERT_ROW(bench_row(bench, "scp", 1), STATUS_FAILED);
	ASSERT_HOLDS(bench_row(bench, "scp", 1)->error, "prints text (\"Welcome to the machine");
	bench_check_clean(bench);
}

static void read_only_target_is_told(void **state)
{
	struct bench *bench = *state;
	bench_use_ordinary(bench);
	bench_add_tool(bench, "sealed",
		       "[tool]\nrun = sh -c 'chmod 0555 \"$2\" && cp -r \"$1/.\" \"$2/\"' sh\n"
		       "  {src} {dst}\n");
	PROGRAM_STUDY(bench, "-t", "sealed", "--dataset", "single:bytes=1KiB", "--rounds", "1",
		      "--set", "study.preserve=content");
	ASSERT_EXIT(bench, 1);
	ASSERT_ROW(bench_row(bench, "sealed", 1), STATUS_FAILED);
	ASSERT_HOLDS(bench_row(bench, "sealed", 1)->error, "Permission denied");
	bench_check_clean(bench);
}

/* The -t words of every tool that is here and moves files; the caller frees names. */
static size_t list_tools(struct bench *bench, bool single, const char **arguments, json_t **list)
{
	size_t i, count = 0;
	const json_t *item;
	PROGRAM_RUN(bench, "list", "transports", "--json");
	ASSERT_EXIT(bench, 0);
	*list = json_loads(bench->output, 0, NULL);
	assert_non_null(*list);
	json_array_foreach(*list, i, item)
	{
		uint32_t caps = 0;
		size_t j;
		const json_t *cap;
		json_array_foreach(json_object_get(item, "caps"), j, cap) caps |=
			transport_cap_from_name(json_string_value(cap));
		if (!(caps & CAP_TOOL) || caps & CAP_MEMORY ||
		    !(caps & CAP_SINGLE_FILE) == single ||
		    !json_is_true(json_object_get(item, "available")))
			continue;
		assert_true(count + 1 < 2 * TOOLS_MAX);
		arguments[count++] = "-t";
		arguments[count++] = json_string_value(json_object_get(item, "name"));
	}
	return count;
}

/* Those that know of no reasons: SFTP version 3 has none for a full disk, and curl tells none. What
 * the other end of rsync says may come too late, and mscp and scp are told nothing, either. */
static bool knows_reasons(const char *tool)
{
	static const char *const knowing[] = { "tar-ssh", "tar-nc",    "tar-socat", "scp-legacy",
					       "cat-ssh", "lftp-http", "wget-http" };
	for (size_t i = 0; i < sizeof(knowing) / sizeof(knowing[0]); i++)
		if (strcmp(knowing[i], tool) == 0)
			return true;
	return false;
}

/* A path that is a secret of the run's. */
static bool has_secret(const char *text)
{
	for (; *text; text++)
		if (strspn(text, "0123456789abcdef") >= 2 * XFER_TOKEN_BYTES)
			return true;
	return false;
}

static void fill_target(struct bench *bench, bool single, const char *dataset)
{
	const char *arguments[2 * TOOLS_MAX + 14] = { NULL };
	json_t *list = NULL;
	size_t count = list_tools(bench, single, arguments, &list);
	static const char *const rest[] = { "-t",
					    "filler",
					    "--rounds",
					    "1",
					    "--set",
					    "study.preserve=content",
					    "--set",
					    "study.timeout=50",
					    "--allow-open-listener",
					    "--dataset" };
	size_t tools = count / 2;
	for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]); i++)
		arguments[count++] = rest[i];
	arguments[count] = dataset;
	program_run_study(bench, arguments);
	json_decref(list);
	ASSERT_EXIT(bench, 1);
	assert_int_equal(bench->results.count, tools + 1);
	for (size_t i = 0; i < tools + 1; i++) {
		const struct result *row = &bench->results.rows[i];
		if (strcmp(row->transport, "filler") == 0)
			continue;
		ASSERT_ROW(row, STATUS_FAILED);
		assert_true(row->error[0]);
		if (knows_reasons(row->transport))
			ASSERT_HOLDS(row->error, "o space left on device");
		if (has_secret(row->error))
			fail_msg("%s: %s", row->transport, row->error);
	}
	bench_check_clean(bench);
}

/* Every tool that comes with the program and is here. */
static void full_target_is_told(void **state)
{
	struct bench *bench = *state;
	bench_use_tiny_data(bench, 5 << 20);
	bench_add_filler(bench, FAULT_TOOL);
	fill_target(bench, false, "small-files:files=8,size=256KiB");
	forget_results(bench);
	fill_target(bench, true, "single:bytes=2MiB");
}

int main(int argc, char **argv)
{
	cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
	const struct CMUnitTest tests[] = {
		BENCH_TEST(faults_are_told),
		BENCH_TEST(banner_is_told),
		BENCH_TEST(read_only_target_is_told),
		BENCH_TEST(full_target_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
