#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "harness/base/cancel.h"
#include "harness/base/child.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/files.h"
#include "harness/base/said.h"
#include "harness/base/usage.h"
#include "transports/tool/tool_process.h"

static char *base;
static char self[4096]; /* this program */

/* Runs one or two shell scripts; a script is what stands for a tool here. */
static int run_scripts(const char *first, const char *second, const struct io_limit *limit,
		       struct error *err)
{
	const char *const run[] = { "/bin/sh", "-c", first, "sh", base, self, NULL };
	const char *const into[] = { "/bin/sh", "-c", second, "sh", base, self, NULL };
	const char *const env[] = { "PATH=/usr/bin:/bin", NULL };
	const struct tool_command command = { .run = run,
					      .into = second ? into : NULL,
					      .env = env };
	return tool_process_run(&command, limit, err);
}

static int run_for(double seconds, const char *first, const char *second, struct error *err)
{
	const struct io_limit limit = { .deadline_ns = clock_deadline_ns(seconds) };
	return run_scripts(first, second, &limit, err);
}

static char *read_file(const char *name)
{
	AUTO_FREE char *path = path_join(base, name);
	char *text = NULL;
	struct error err = { 0 };
	if (file_read_all(path, 1 << 20, &text, NULL, &err) < 0)
		fail_msg("%s", err.message);
	return text;
}

static void test_messages(void **state)
{
	(void)state;
	static const struct {
		const char *first, *second, *message;
	} cases[] = {
		{ "exit 3", NULL, "sh: exit status 3" },
		{ "echo one >&2; exit 1", NULL, "sh: exit status 1: one" },
		{ "echo out; exit 1", NULL, "sh: exit status 1: out" },
		{ "echo out; echo err >&2; exit 1", NULL, "sh: exit status 1: err" },
		{ "printf '\\n\\na\\nb\\r\\nc\\n\\n' >&2; exit 1", NULL,
		  "sh: exit status 1: a ... c" },
		/* Neither of those two has the reason, and another one has. */
		{ "printf 'a\\nb: No space left on device\\nc\\nd\\n' >&2; exit 1", NULL,
		  "sh: exit status 1: b: No space left on device ... d" },
		{ "printf 'a: Permission denied\\nb: No space left on device\\nc\\n' >&2; exit 1",
		  NULL, "sh: exit status 1: a: Permission denied ... c" },
		{ "printf 'a\\nx: Permission denied\\nb: Permission denied\\nc\\n' >&2; exit 1",
		  NULL, "sh: exit status 1: b: Permission denied ... c" },
		{ "printf 'a\\033[31m\\377b' >&2; exit 1", NULL,
		  "sh: exit status 1: a\\x1b[31m\\xffb" },
		{ "kill -9 $$", NULL, "sh: killed by SIGKILL" },
		{ "exit 2", "cat >/dev/null", "sh: exit status 2" },
		{ "echo a >&2; exit 2", "cat >/dev/null; echo b >&2; exit 3",
		  "sh: exit status 2: a" },
		{ "echo data", "cat >/dev/null; echo b >&2; exit 3", "sh: exit status 3: b" },
		/* The first dies of the closed pipe, or would never end: the second is to blame. */
		{ "exec yes", "echo gone >&2; exit 5", "sh: exit status 5: gone" },
		{ "exec sleep 100", "exec <&-; echo gone >&2; exit 5", "sh: exit status 5: gone" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = { 0 };
		assert_int_equal(run_for(20, cases[i].first, cases[i].second, &err), -1);
		assert_int_equal(err.kind, ERROR_TOOL);
		assert_string_equal(err.message, cases[i].message);
	}
}

static void test_mask(void **state)
{
	(void)state;
	static const struct {
		const char *text, *secret, *shown;
	} cases[] = {
		{ "GET /0123456789/f", "0123456789", "GET /[secret]/f" },
		{ "0123456789", "0123456789", "[secret]" },
		{ "01234567890123456789x0123456789", "0123456789", "[secret][secret]x[secret]" },
		{ "012345678", "0123456789", "012345678" },
		{ "", "0123456789", "" },
		{ "/f", "", "/f" },
		{ "/f", NULL, "/f" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[64];
		snprintf(text, sizeof(text), "%s", cases[i].text);
		said_mask(text, cases[i].secret);
		assert_string_equal(text, cases[i].shown);
	}
}

static void test_exit_status_is_the_code(void **state)
{
	(void)state;
	struct error err = { 0 };
	assert_int_equal(run_for(20, "exit 42", NULL, &err), -1);
	assert_int_equal(err.code, 42);
}

static void test_much_output(void **state)
{
	(void)state;
	struct error err = { 0 };
	/* More than pipes hold, on both; only the end is kept. */
	assert_int_equal(run_for(60,
				 "head -c 3000000 /dev/zero | tr '\\0' x; "
				 "head -c 3000000 /dev/zero | tr '\\0' y >&2; "
				 "printf '\\nlast\\n' >&2; exit 1",
				 NULL, &err),
			 -1);
	assert_string_equal(err.message, "sh: exit status 1: last");
	assert_int_equal(run_for(60, "seq 1 300000; seq 1 300000 >&2", NULL, &err), 0);
	/* A long line keeps who spoke and what is wrong. */
	assert_int_equal(run_for(20, "printf 'cp: %0400d: No space left on device' 0 >&2; exit 1",
				 NULL, &err),
			 -1);
	assert_non_null(strstr(err.message, "exit status 1: cp: 000"));
	assert_non_null(strstr(err.message, "[...]"));
	assert_non_null(strstr(err.message, "000: No space left on device"));
}

static void test_pipe(void **state)
{
	(void)state;
	struct error err = { 0 };
	assert_int_equal(run_for(20, "seq 1 100000", "cat >$1/piped", &err), 0);
	AUTO_FREE char *text = read_file("piped");
	assert_int_equal(strlen(text), 588895);
}

static void test_surroundings(void **state)
{
	(void)state;
	struct error err = { 0 };
	AUTO_FD inherited = open("/dev/null", O_RDONLY); /* as from who started us */
	assert_true(inherited >= 0);
	/* An empty input, no descriptors of ours, no variables of ours. */
	setenv("LINEFILL_TEST_LEAK", "1", 1);
	int status = run_for(20,
			     "wc -c >$1/input; ls /proc/self/fd >$1/fds; "
			     "env | grep -c LEAK >$1/leaks; true",
			     NULL, &err);
	unsetenv("LINEFILL_TEST_LEAK");
	assert_int_equal(status, 0);
	AUTO_FREE char *input = read_file("input");
	AUTO_FREE char *fds = read_file("fds");
	AUTO_FREE char *leaks = read_file("leaks");
	assert_string_equal(input, "0\n");
	assert_string_equal(fds, "0\n1\n2\n3\n"); /* 3 is the folder that ls reads */
	assert_string_equal(leaks, "0\n");
}

static void test_not_found(void **state)
{
	(void)state;
	const char *const run[] = { "/no/such/program", NULL };
	const char *const good[] = { "/bin/sh", "-c", "exec yes", NULL };
	const char *const env[] = { NULL };
	const struct io_limit limit = { .deadline_ns = clock_deadline_ns(20) };
	struct error err = { 0 };
	struct tool_command command = { .run = run, .env = env };
	assert_int_equal(tool_process_run(&command, &limit, &err), -1);
	assert_int_equal(err.kind, ERROR_UNAVAILABLE);
	/* As the second half: the first, which runs already, is ended. */
	command = (struct tool_command){ .run = good, .into = run, .env = env };
	assert_int_equal(tool_process_run(&command, &limit, &err), -1);
	assert_int_equal(err.kind, ERROR_UNAVAILABLE);
}

/* True once no process has the id that the script wrote to the file. */
static bool is_gone(const char *name)
{
	AUTO_FREE char *text = read_file(name);
	return kill((pid_t)atoi(text), 0) < 0 && errno == ESRCH;
}

static void test_deadline(void **state)
{
	(void)state;
	struct error err = { 0 };
	int64_t start = clock_now_ns();
	assert_int_equal(run_for(0.3,
				 "sleep 100 & echo $! >$1/same; "
				 "setsid sleep 100 & echo $! >$1/other; wait",
				 NULL, &err),
			 -1);
	assert_int_equal(err.kind, ERROR_TIMEOUT);
	assert_string_equal(err.message, "sh: still running at the deadline, killed");
	assert_true(clock_now_ns() - start < 10 * NS_PER_S);
	assert_true(is_gone("same"));
	assert_true(is_gone("other"));
}

static void test_cancel(void **state)
{
	(void)state;
	struct cancel cancel;
	struct error err = { 0 };
	assert_int_equal(cancel_open(&cancel, &err), 0);
	cancel_request(&cancel);
	const struct io_limit limit = { .deadline_ns = CLOCK_NEVER, .cancel = &cancel };
	assert_int_equal(run_scripts("exec sleep 100", "exec cat", &limit, &err), -1);
	assert_int_equal(err.kind, ERROR_CANCELLED);
	cancel_close(&cancel);
}

static void test_strays(void **state)
{
	(void)state;
	struct error err = { 0 };
	assert_int_equal(run_for(20,
				 "sleep 100 & echo $! >$1/same; "
				 "setsid sleep 100 & echo $! >$1/other",
				 NULL, &err),
			 0);
	assert_true(is_gone("same"));
	assert_true(is_gone("other"));
}

static double cpu_of(const char *script)
{
	struct error err = { 0 };
	struct usage before = usage_of_process();
	assert_int_equal(run_for(60, script, NULL, &err), 0);
	struct usage spent = usage_since(usage_of_process(), before);
	return spent.user_s + spent.system_s;
}

/* Spends one second of CPU time, as the kernel counts it for this very process. */
static int burn(void)
{
	struct timespec spent = { 0 };
	while (spent.tv_sec < 1)
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
	return 0;
}

static void check_burnt(const char *script)
{
	double spent = cpu_of(script);
	if (spent < 0.95 || spent > 1.4)
		fail_msg("%s: %.3f s", script, spent);
}

static void test_cpu_time(void **state)
{
	(void)state;
	/* A child, a grandchild, an orphan in a session of its own that nobody waited for. */
	check_burnt("exec $2 burn");
	check_burnt("($2 burn; true) & wait");
	check_burnt("(setsid $2 burn & echo $! >$1/burner); pid=$(cat $1/burner); "
		    "while ! grep -q '^State:.Z' /proc/$pid/status; do sleep 0.05; done");
}

static int set_up(void **state)
{
	(void)state;
	char name[] = "/tmp/linefill-test-XXXXXX";
	if (!mkdtemp(name))
		return -1;
	base = strdup(name);
	return child_adopt_orphans(NULL);
}

static int tear_down(void **state)
{
	(void)state;
	int result = folder_remove(base, NULL);
	free(base);
	return result;
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc == 2)
		return burn();
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mask),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_exit_status_is_the_code),
		cmocka_unit_test(test_much_output),
		cmocka_unit_test(test_pipe),
		cmocka_unit_test(test_surroundings),
		cmocka_unit_test(test_not_found),
		cmocka_unit_test(test_deadline),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_strays),
		cmocka_unit_test(test_cpu_time),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
