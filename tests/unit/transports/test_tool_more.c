/* What a tool file can say beyond commands: files for a run, what is in the tree, counts, ciphers,
 * a second program at the server's end. Shells stand for tools. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/files.h"
#include "harness/base/text.h"
#include "tests/contract/pair.h"
#include "tests/unit/resident.h"
#include "tests/unit/transports/tool_folders.h"
#include "transports/tool/tool.h"
#include "transports/wire/server_process.h"

static struct tool_folders folders;
static struct manifest files;
static const struct token token = { .bytes = { 0xab, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
					       0xff } };

static struct xfer xfer_for(const struct transport *transport)
{
	struct xfer xfer = tool_xfer(&folders, transport);
	xfer.files = &files;
	xfer.token = &token;
	return xfer;
}

static struct tool_outcome drive(const char *text, const char *options)
{
	struct transport *transport = tool_of(text);
	const struct xfer xfer = xfer_for(transport);
	struct tool_outcome outcome = tool_drive(&xfer, options);
	tool_free(transport);
	return outcome;
}

/* A tree of: a (3 bytes, 0640), d/b b (4 bytes), d/, and an odd name where wanted. */
static void make_tree(const char *odd)
{
	struct error err = { 0 };
	const struct manifest_entry entries[] = {
		{ .path = "a", .size_bytes = 3, .mode = 0640, .mtime_s = 77 },
		{ .path = "d", .type = MANIFEST_FOLDER, .mode = 0755 },
		{ .path = "d/b", .size_bytes = 1048576, .mode = 0600 },
		{ .path = odd ? odd : "e", .size_bytes = 4, .mode = 0644 },
	};
	manifest_free(&files);
	for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
		assert_int_equal(manifest_add(&files, &entries[i], &err), 0);
	assert_int_equal(manifest_finish(&files, &err), 0);
}

static void test_tree_words(void **state)
{
	static const struct {
		const char *run, *options, *shown;
	} cases[] = {
		{ "x {entries}", "", "x /f/a /f/d /f/e" },
		{ "x {bytes} {mib}", "", "x 1048583 2" },
		{ "x {port} {next_port} {family}", "", "x 0 0 4" },
		{ "x {extra} end", "", "x end" },
		{ "x {extra}", "extra=-a 'b c' --d=e,f", "x -a 'b c' --d=e,f" },
		{ "x {extra}", "extra={src} $(x)", "x '{src}' '$(x)'" },
		{ "x \"{extra}\" end", "extra=a b", "x a b end" },
	};
	(void)state;
	make_tree(NULL);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_TEXT file = { 0 };
		AUTO_TEXT shown = { 0 };
		text_addf(&file,
			  "[tool]\nrun = %s\ninto = y {extra}\n[option extra]\ntype = words\n",
			  cases[i].run);
		struct transport *transport = tool_of(text_string(&file));
		struct xfer xfer = xfer_for(transport);
		AUTO_FREE void *values = tool_options_of(transport, cases[i].options);
		xfer.options = values;
		xfer.source_root = "/f";
		assert_int_equal(tool_command(&xfer, &shown, NULL), 0);
		*strstr(shown.data, " | y") = '\0';
		assert_string_equal(shown.data, cases[i].shown);
		tool_free(transport);
	}
}

static void test_single_file(void **state)
{
	(void)state;
	struct error err = { 0 };
	const struct manifest_entry only = {
		.path = "it", .size_bytes = 5, .mode = 0604, .mtime_s = 9
	};
	AUTO_FREE char *path = path_join(folders.from, "it");
	assert_int_equal(file_write_all(path, "words", 5, 0644, &err), 0);
	manifest_free(&files);
	assert_int_equal(manifest_add(&files, &only, &err), 0);
	assert_int_equal(manifest_finish(&files, &err), 0);
	struct tool_outcome outcome = drive("[tool]\ncaps = single-file\ninput = {src}/{file}\n"
					    "run = sh -c 'read -r w; echo \"$w $1 $2\" >\"$0\"'\n"
					    "  {dst}/{file} {file_mode} {file_mtime}\n",
					    "");
	if (outcome.result < 0)
		fail_msg("%s", outcome.err.message);
	AUTO_FREE char *copy = tool_folders_read(&folders, "it");
	assert_string_equal(copy, "words 0604 9\n");
	struct transport *transport = tool_of("[tool]\ncaps = single-file\nrun = x\n");
	assert_int_equal(transport_can_carry(transport, &files, &err), 0);
	make_tree(NULL);
	assert_int_equal(transport_can_carry(transport, &files, &err), -1);
	assert_int_equal(err.kind, ERROR_UNSUPPORTED);
	tool_free(transport);
}

#define FILES                                                                                 \
	"[tool]\nrun = sh -c 'cat \"$1/one\" \"$1/two\" >\"$2/all\"; stat -c %a \"$1/one\"\n" \
	"  >\"$2/mode\"' sh {scratch} {dst} {flag}\n"                                         \
	"[file one]\ntext =\n  first {flag}\n  [section]\n    {{ braces }\n"                  \
	"[file two]\ntext = start {token}\neach =\n  put {file} as {file_url} {file_mode}\n"  \
	"  end\n[option flag]\ntype = flag\non = yes\noff = no\n"

static void test_files_are_written(void **state)
{
	(void)state;
	make_tree(NULL);
	struct tool_outcome outcome = drive(FILES, "flag=yes");
	if (outcome.result < 0)
		fail_msg("%s", outcome.err.message);
	AUTO_FREE char *all = tool_folders_read(&folders, "all");
	assert_string_equal(all, "first yes\n[section]\n{ braces }\n"
				 "start ab0102030405060708090a0b0c0d0eff\n"
				 "put a as a 0640\nend\nput d/b as d/b 0600\nend\n"
				 "put e as e 0644\nend\n");
	AUTO_FREE char *mode = tool_folders_read(&folders, "mode");
	assert_string_equal(mode, "600\n");
	/* A name that the file's own syntax could take for something else stops it. */
	make_tree("e \"f");
	outcome = drive(FILES, "");
	assert_int_equal(outcome.result, -1);
	assert_int_equal(outcome.err.kind, ERROR_UNSUPPORTED);
	make_tree(NULL);
}

/* A file with a line for each file of the tree is never in memory as a whole. */
static void test_long_files_take_little_memory(void **state)
{
	enum { ENTRIES = 20000, LINE_BYTES = 150 };
	char line[LINE_BYTES + 1] = "", path[32];
	AUTO_TEXT file = { 0 };
	(void)state;
	if (UNDER_SANITIZER)
		skip();
	memset(line, 'x', LINE_BYTES);
	text_addf(&file,
		  "[tool]\nrun = sh -c 'wc -c <\"$1/list\" >\"$2/count\"' sh {scratch} {dst}\n"
		  "[file list]\neach = {file} %s\n",
		  line);
	manifest_free(&files);
	for (unsigned i = 0; i < ENTRIES; i++) {
		snprintf(path, sizeof(path), "file-%05u", i);
		const struct manifest_entry entry = { .path = path, .mode = 0644 };
		assert_int_equal(manifest_add(&files, &entry, NULL), 0);
	}
	assert_int_equal(manifest_finish(&files, NULL), 0);
	struct tool_outcome outcome = drive(text_string(&file), "");
	if (outcome.result < 0)
		fail_msg("%s", outcome.err.message);
	AUTO_FREE char *count = tool_folders_read(&folders, "count");
	assert_true(strtol(count, NULL, 10) >= ENTRIES * LINE_BYTES);
	assert_true(outcome.usage.maxrss_bytes >> 10 <
		    resident_peak_kib() + ENTRIES * LINE_BYTES / 2048);
}

static void test_counts(void **state)
{
	static const struct {
		const char *said, *unit;
		enum error_kind kind;
		uint64_t bytes;
	} cases[] = {
		{ "bytes 1048583", "1", ERROR_NONE, 1048583 },
		{ "bytes 1.5", "1MiB", ERROR_NONE, 1572864 },
		{ "bytes 1048582", "1", ERROR_INTEGRITY, 1048582 },
		{ "nothing", "1", ERROR_TOOL, 0 },
		{ "bytes 9e99", "1", ERROR_TOOL, 0 },
	};
	(void)state;
	make_tree(NULL);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_TEXT file = { 0 };
		text_addf(&file,
			  "[tool]\ndriver = sink\ncaps = memory\nrun = echo %s\n"
			  "counted = bytes ([0-9.e]+)\ncounted_unit = %s\n",
			  cases[i].said, cases[i].unit);
		struct tool_outcome outcome = drive(text_string(&file), "");
		assert_int_equal(outcome.err.kind, cases[i].kind);
		assert_int_equal(outcome.result, cases[i].kind == ERROR_NONE ? 0 : -1);
		assert_int_equal(outcome.report.counted_bytes, cases[i].bytes);
	}
}

/* Tells what the server can be told that the tool cannot do, before anything is copied. */
static void test_ciphers(void **state)
{
	static const struct {
		const char *cipher, *mac;
		bool can;
		const char *reported[2];
	} cases[] = {
		{ "aes128-ctr", "hmac-sha2-256", true, { "aes128-ctr", "hmac-sha2-256" } },
		{ "", "", true, { "tool-default", "tool-default" } },
		{ "aes256-gcm,aes128-ctr",
		  "hmac-sha2-256",
		  true,
		  { "tool-default", "hmac-sha2-256" } },
		{ "chacha20", "hmac-sha2-256", false, { "", "" } },
		{ "aes128-ctr", "hmac-md5", false, { "", "" } },
		{ "aes128-gcm", "hmac-md5", true, { "aes128-gcm", "implicit" } },
	};
	(void)state;
	struct transport *transport =
		tool_of("[tool]\nneeds = sshd\nrun = true\n"
			"ciphers = aes128-ctr aes128-gcm\nmacs = hmac-sha2-256\n");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct service service = { .host = "h",
						 .cipher = cases[i].cipher,
						 .mac = cases[i].mac };
		struct xfer xfer = xfer_for(transport);
		xfer.service = &service;
		struct tool_outcome outcome = tool_worker_drive(&xfer, NULL);
		assert_int_equal(outcome.result, cases[i].can ? 0 : -1);
		if (!cases[i].can)
			assert_int_equal(outcome.err.kind, ERROR_UNSUPPORTED);
		assert_string_equal(outcome.report.cipher, cases[i].reported[0]);
		assert_string_equal(outcome.report.mac, cases[i].reported[1]);
	}
	tool_free(transport);
}

/* What the server's first program prints goes through the second, and both count. */
static void test_second_program(void **state)
{
	static const struct {
		const char *into, *says;
	} cases[] = {
		{ "sh -c 'cat >\"$0/got\"' {dst}", NULL },
		{ "sh -c 'cat >/dev/null; echo full >&2; exit 3'", "exit status 3: full" },
	};
	(void)state;
	make_tree(NULL);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_TEXT file = { 0 };
		struct pair_result result;
		struct error err = { 0 };
		text_addf(&file,
			  "[tool]\nrun = echo hello\ninto = nc -N {host} {port}\n"
			  "serve = nc -d -l {host} {port}\nserve_into = %s\nserve_until = exit\n",
			  cases[i].into);
		struct transport *transport = tool_of(text_string(&file));
		const struct pair_spec spec = { .transport = transport,
						.source_root = folders.from,
						.sink_root = folders.to,
						.scratch = folders.scratch,
						.files = &files };
		int outcome = pair_run(&spec, &result, &err);
		tool_free(transport);
		if (cases[i].says) {
			assert_int_equal(outcome, -1);
			assert_non_null(strstr(err.message, cases[i].says));
			continue;
		}
		if (outcome < 0)
			fail_msg("%s", err.message);
		AUTO_FREE char *got = tool_folders_read(&folders, "got");
		assert_string_equal(got, "hello\n");
	}
}

/* Somebody else listens on the port: that is not our server. */
static void test_foreign_listener(void **state)
{
	(void)state;
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		AUTO_FREE char *log = path_join(folders.scratch, "log");
		const char *const argv[] = { "sleep", "60", NULL };
		const struct child_spec spec = { .argv = argv, .input = -1 };
		const struct io_limit limit = { .deadline_ns = clock_deadline_ns(0.3) };
		struct server_process server = { .log = log };
		struct error err = { 0 };
		close(fd);
		int result =
			server_process_start(&server, &spec, ntohs(address.sin_port), &limit, &err);
		_exit(result < 0 && err.kind == ERROR_TIMEOUT ? 0 : 1);
	}
	int status = 1;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(fd);
}

/* Waiting for a server leaves the processor alone: the rests grow to 20 ms, so a second has some
 * fifty looks, and each costs little. Counted, not timed: a slow machine looks less often. */
static void test_waiting_is_cheap(void **state)
{
	(void)state;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		AUTO_FREE char *log = path_join(folders.scratch, "log");
		const char *const argv[] = { "sleep", "60", NULL };
		const struct child_spec spec = { .argv = argv, .input = -1 };
		const struct io_limit limit = { .deadline_ns = clock_deadline_ns(2) };
		struct server_process server = { .log = log };
		struct error err = { 0 };
		struct rusage before, after;
		getrusage(RUSAGE_SELF, &before);
		int result = server_process_start(&server, &spec, 1, &limit, &err);
		getrusage(RUSAGE_SELF, &after);
		bool timeout = result < 0 && err.kind == ERROR_TIMEOUT;
		_exit(timeout && after.ru_nvcsw - before.ru_nvcsw < 130 ? 0 : 1);
	}
	int status = 1;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static int set_up(void **state)
{
	(void)state;
	signal(SIGPIPE, SIG_IGN);
	tool_folders_make(&folders);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	manifest_free(&files);
	return tool_folders_drop(&folders);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tree_words),
		cmocka_unit_test(test_single_file),
		cmocka_unit_test(test_files_are_written),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_ciphers),
		cmocka_unit_test(test_second_program),
		cmocka_unit_test(test_foreign_listener),
		cmocka_unit_test(test_waiting_is_cheap),
		cmocka_unit_test(test_long_files_take_little_memory),
	};
	return cmocka_run_group_tests_name("tool_more", tests, set_up, tear_down);
}
