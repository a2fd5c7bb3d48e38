/* Both halves of our own transports when things go wrong: each must fail at both ends, in time, and
 * say why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/files.h"
#include "tests/contract/tree_pair.h"
#include "tests/contract/trees.h"
#include "transports/registry.h"

#define MIB (1u << 20)
/* The other end must not wait for its deadline. */
#define PROMPT_S 10

static struct tree_pair trees;

/* Our own transports that need no service, with options that make them work hard. */
static const struct {
	const char *name, *options;
} ours[] = {
	{ "tcp", "" },
	{ "tcp", "block=4096" },
	{ "tcp", "send_buffer=65536,receive_buffer=65536" },
	{ "tcp", "receive=read" },
	{ "tcp", "pretouch=yes" },
	{ "tcp", "pretouch=yes,receive=splice" },
	{ "tcp", "direct=yes,block=128KiB" },
	{ "multi", "" },
	{ "multi", "streams=1" },
	{ "multi", "streams=16,block=1MiB" },
	{ "multi", "streams=2,block=1GiB" },
	{ "multi-reverse", "" },
};

static int setup(void **state)
{
	(void)state;
	tree_pair_make(&trees, "source");
	tree_file(trees.source_fd, "a-large", 40 * MIB);
	tree_folder(trees.source_fd, "b", 0755);
	tree_file(trees.source_fd, "b/victim", 9 * MIB);
	tree_file(trees.source_fd, "c-large", 40 * MIB);
	tree_pair_scan(&trees);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tree_pair_drop(&trees);
	return 0;
}

static int run(const char *name, const char *options, struct pair_result *result, struct error *err)
{
	const struct pair_spec spec = tree_pair_spec(&trees, name, options);
	assert_int_equal(folder_clear(trees.sink, err), 0);
	return pair_run(&spec, result, err);
}

static void check_copy(const char *label)
{
	struct error err = { 0 };
	if (tree_pair_compare(&trees, PRESERVE_MODE, &err) < 0)
		fail_msg("%s: %s", label, err.message);
}

static void test_options(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ours); i++) {
		struct pair_result result;
		struct error err = { 0 };
		if (run(ours[i].name, ours[i].options, &result, &err) < 0)
			fail_msg("%s:%s: %s", ours[i].name, ours[i].options, err.message);
		check_copy(ours[i].name);
		assert_int_equal(result.sink.progress.files, 3);
		assert_int_equal(result.source.progress.bytes, trees.files.bytes);
	}
}

static void remove_victim(void)
{
	assert_int_equal(unlinkat(trees.source_fd, "b/victim", 0), 0);
}

static void resize_victim(off_t size)
{
	AUTO_FD fd = openat(trees.source_fd, "b/victim", O_WRONLY);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
}

static void shrink_victim(void)
{
	resize_victim(9 * MIB - 1);
}

static void grow_victim(void)
{
	resize_victim(9 * MIB + 1);
}

static void link_victim(void)
{
	remove_victim();
	tree_link(trees.source_fd, "b/victim", "../a-large");
}

static void fifo_victim(void)
{
	remove_victim();
	assert_int_equal(mkfifoat(trees.source_fd, "b/victim", 0600), 0);
}

static void folder_victim(void)
{
	remove_victim();
	tree_folder(trees.source_fd, "b/victim", 0755);
}

static void test_changed_source(void **state)
{
	static const struct {
		const char *name;
		void (*change)(void);
	} changes[] = {
		{ "vanished", remove_victim }, { "shorter", shrink_victim },
		{ "longer", grow_victim },     { "a link", link_victim },
		{ "a FIFO", fifo_victim },     { "a folder", folder_victim },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		struct error err = { 0 };
		assert_int_equal(folder_clear(trees.source, &err), 0);
		tree_file(trees.source_fd, "a-large", 5 * MIB);
		tree_folder(trees.source_fd, "b", 0755);
		tree_file(trees.source_fd, "b/victim", 9 * MIB);
		tree_file(trees.source_fd, "c-large", 5 * MIB);
		tree_pair_scan(&trees);
		changes[i].change();
		for (size_t j = 0; j < ARRAY_SIZE(ours); j++) {
			struct pair_result result;
			if (run(ours[j].name, ours[j].options, &result, &err) == 0)
				fail_msg("%s:%s: %s and nobody noticed", ours[j].name,
					 ours[j].options, changes[i].name);
			assert_int_equal(result.source.error.kind, ERROR_SYSTEM);
			if (!strstr(result.source.error.message, "b/victim") ||
			    !strstr(result.sink.error.message, "b/victim"))
				fail_msg("%s:%s: %s: source '%s', sink '%s'", ours[j].name,
					 ours[j].options, changes[i].name,
					 result.source.error.message, result.sink.error.message);
			assert_true(result.total_s < PROMPT_S);
		}
	}
}

/* In a mount namespace of its own: a target with room for less than the tree. 77: there are no such
 * namespaces here. */
static int run_on_small_target(const char *name, const char *options)
{
	struct pair_result result;
	struct error err = { 0 };
	if (unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) < 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", trees.sink, "tmpfs", 0, "size=16m") < 0)
		return 77;
	if (run(name, options, &result, &err) == 0)
		return 1;
	fprintf(stderr, "%s:%s: source '%s', sink '%s', %.1f s\n", name, options,
		result.source.error.message, result.sink.error.message, result.total_s);
	return result.sink.error.kind != ERROR_SYSTEM ||
	       !strstr(result.sink.error.message, "no space left") ||
	       !strstr(result.source.error.message, "no space left") || result.total_s > PROMPT_S;
}

static void check_small_target(const char *name, const char *options)
{
	int status = 0;
	pid_t pid = fork();
	if (pid == 0)
		_exit(run_on_small_target(name, options));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	if (status != 0)
		fail_msg("%s:%s: it failed otherwise than it should", name, options);
}

static void test_full_disk(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		/* It finds out before go, and then there is nobody to tell. */
		if (!strstr(ours[i].options, "pretouch"))
			check_small_target(ours[i].name, ours[i].options);
}

/* Stream 0 waits or is done when another one finds the disk full: a slow line makes it wait. */
static void test_full_disk_beside(void **state)
{
	static const char *const names[] = { "multi", "multi-reverse" };
	struct error err = { 0 };
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		check_small_target(names[i], "rate=1Gbit/s");
	assert_int_equal(folder_clear(trees.source, &err), 0);
	tree_file(trees.source_fd, "a-large", 20 * MIB);
	tree_file(trees.source_fd, "tiny", 1);
	tree_pair_scan(&trees);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		check_small_target(names[i], "streams=1,block=1GiB,rate=1Gbit/s");
		check_small_target(names[i], "streams=2,block=1GiB,rate=1Gbit/s");
		check_small_target(names[i], "streams=8,block=1GiB,rate=1Gbit/s");
	}
}

/* The sink stops dead for longer than the deadline: neither end may wait for ever. */
static void stop_sink(const struct endpoint *endpoint, void *context)
{
	(void)endpoint;
	(void)context;
	pid_t sink = getpid();
	if (fork() == 0) {
		sleep(2);
		kill(sink, SIGCONT);
		_exit(0);
	}
	raise(SIGSTOP);
}

static void test_deadline(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ours); i++) {
		struct pair_result result;
		struct error err = { 0 };
		const struct pair_spec spec = {
			.transport = transport_find(ours[i].name),
			.options = ours[i].options,
			.source_root = trees.source,
			.sink_root = trees.sink,
			.scratch = trees.base,
			.files = &trees.files,
			.seconds = 1,
			.when_listening = stop_sink,
		};
		assert_int_equal(folder_clear(trees.sink, &err), 0);
		assert_int_equal(pair_run(&spec, &result, &err), -1);
		assert_int_equal(result.source.error.kind, ERROR_TIMEOUT);
		assert_int_equal(result.sink.error.kind, ERROR_TIMEOUT);
		assert_true(result.total_s < PROMPT_S);
	}
}

static void test_memory(void **state)
{
	static const struct {
		const char *name, *options;
		uint64_t bytes;
	} cases[] = {
		{ "tcp", "memory=yes,bytes=100000001", 100000001 },
		{ "tcp", "memory=yes", 89 * MIB },
		{ "tcp", "memory=yes,bytes=100000001,discard=kernel", 100000001 },
		{ "multi", "memory=yes,bytes=100000001,streams=3", 100000001 },
		{ "multi", "memory=yes", 89 * MIB },
		{ "multi", "memory=yes,bytes=1B,streams=8", 1 },
		{ "null", "bytes=12345", 12345 },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pair_result result;
		struct error err = { 0 };
		bool empty = false;
		if (run(cases[i].name, cases[i].options, &result, &err) < 0)
			fail_msg("%s:%s: %s", cases[i].name, cases[i].options, err.message);
		assert_int_equal(result.sink.report.counted_bytes, cases[i].bytes);
		assert_int_equal(folder_is_empty(trees.sink, &empty, &err), 0);
		assert_true(empty);
	}
}

static void test_null(void **state)
{
	static const struct {
		const char *options;
		enum error_kind source, sink;
		bool crash;
		double least_s, most_s;
	} cases[] = {
		{ "", ERROR_NONE, ERROR_NONE, false, 0, 5 },
		{ "connect_s=0.1,send_s=0.3", ERROR_NONE, ERROR_NONE, false, 0.4, 5 },
		{ "prepare_s=0.5", ERROR_NONE, ERROR_NONE, false, 0, 0.4 },
		{ "fail=send", ERROR_SYSTEM, ERROR_NONE, false, 0, 5 },
		{ "fail=connect", ERROR_SYSTEM, ERROR_NONE, false, 0, 5 },
		{ "fail=receive", ERROR_NONE, ERROR_SYSTEM, false, 0, 5 },
		{ "fail=finish", ERROR_SYSTEM, ERROR_SYSTEM, false, 0, 5 },
		{ "crash=sink", ERROR_NONE, ERROR_NONE, true, 0, 9 },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pair_result result;
		struct error err = { 0 };
		run("null", cases[i].options, &result, &err);
		if (result.source.error.kind != cases[i].source ||
		    result.sink.error.kind != cases[i].sink)
			fail_msg("%s: '%s' '%s'", cases[i].options, result.source.error.message,
				 result.sink.error.message);
		assert_int_equal(result.sink.wait_status != 0, cases[i].crash);
		assert_true(result.source.seconds >= cases[i].least_s);
		assert_true(result.source.seconds < cases[i].most_s);
	}
}

static void test_null_burns(void **state)
{
	struct pair_result result;
	struct error err = { 0 };
	(void)state;
	assert_int_equal(run("null", "burn_source_s=0.2,burn_sink_s=0.4", &result, &err), 0);
	assert_true(result.source.usage.user_s + result.source.usage.system_s >= 0.19);
	assert_true(result.sink.usage.user_s + result.sink.usage.system_s >= 0.39);
}

static void test_null_spoils(void **state)
{
	static const char *const spoilt[] = { "flip", "truncate", "lose" };
	const struct manifest_scan_options scan_options = { .deadline_ns = CLOCK_NEVER };
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(spoilt); i++) {
		struct pair_result result;
		struct manifest copy = { 0 };
		struct error err = { 0 };
		char options[64];
		snprintf(options, sizeof(options), "copy=yes,%s=yes", spoilt[i]);
		assert_int_equal(run("null", options, &result, &err), 0);
		assert_int_equal(manifest_scan(&copy, trees.sink, &scan_options, &err), 0);
		assert_int_equal(manifest_compare(&trees.files, &copy, PRESERVE_MODE, &err), -1);
		assert_int_equal(err.kind, ERROR_INTEGRITY);
		manifest_free(&copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_options, setup, teardown),
		cmocka_unit_test_setup_teardown(test_changed_source, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_disk, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_disk_beside, setup, teardown),
		cmocka_unit_test_setup_teardown(test_deadline, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_null, setup, teardown),
		cmocka_unit_test_setup_teardown(test_null_burns, setup, teardown),
		cmocka_unit_test_setup_teardown(test_null_spoils, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
