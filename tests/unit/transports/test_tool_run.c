/* What a tool file makes a transport do: the words, the surroundings, the server. Shells stand for
 * tools, and this program itself for a server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/files.h"
#include "harness/base/net.h"
#include "harness/base/socket_table.h"
#include "harness/base/text.h"
#include "tests/unit/transports/tool_folders.h"
#include "transports/tool/tool.h"
#include "transports/wire/server_process.h"

static struct tool_folders folders;
static char self[4096]; /* this program */

static const struct service service = {
	.name = "sshd",
	.host = "127.0.0.9",
	.port = 2222,
	.user = "me",
	.key_file = "/k/key",
	.known_hosts = "/k/known",
	.ssh_config = "/k/config",
	.cipher = "aes",
	.mac = "",
};

static struct xfer xfer_for(const struct transport *transport)
{
	struct xfer xfer = tool_xfer(&folders, transport);
	xfer.service = transport->needs ? &service : NULL;
	xfer.preserve = PRESERVE_CONTENT;
	return xfer;
}

#define OPTIONS                                                                             \
	"[option fast]\ntype = flag\non = -f --fast\noff = -S\n"                            \
	"[option streams]\ntype = count\ndefault = 4\nmin = 1\nmax = 64\non = -s {value}\n" \
	"[option window]\ntype = size\ndefault = 1MiB\n"                                    \
	"[option level]\ntype = choice\nchoices = low, high\non = --level={value}\n"        \
	"[option note]\ntype = text\n"

static void test_words(void **state)
{
	(void)state;
	static const struct {
		const char *run, *options;
		enum preserve preserve;
		const char *shown;
	} cases[] = {
		{ "x {src} {dst}", "", PRESERVE_CONTENT, "x /from/a /to/b" },
		{ "x {src}/. {host_url}:{dst}/", "", PRESERVE_CONTENT,
		  "x /from/a/. 127.0.0.9:/to/b/" },
		{ "x {user}@{host} -P {port} -i {key}", "", PRESERVE_CONTENT,
		  "x me@127.0.0.9 -P 2222 -i /k/key" },
		{ "x -e \"ssh -F {ssh_config}\" {known_hosts}", "", PRESERVE_CONTENT,
		  "x -e 'ssh -F /k/config' /k/known" },
		{ "x {cipher} {mac} end", "", PRESERVE_CONTENT, "x aes end" },
		{ "x -m{mac}", "", PRESERVE_CONTENT, "x -m" },
		{ "x {preserve} end", "", PRESERVE_CONTENT, "x end" },
		{ "x {preserve} end", "", PRESERVE_MODE, "x -p end" },
		{ "x {preserve} end", "", PRESERVE_ALL, "x -p -t /from/a end" },
		{ "x \"[{preserve}]\"", "", PRESERVE_ALL, "x '[-p -t /from/a]'" },
		{ "x {fast}", "", PRESERVE_CONTENT, "x -S" },
		{ "x {fast}", "fast=yes", PRESERVE_CONTENT, "x -f --fast" },
		{ "x {streams}", "", PRESERVE_CONTENT, "x" },
		{ "x {streams}", "streams=4", PRESERVE_CONTENT, "x" },
		{ "x {streams}", "streams=8", PRESERVE_CONTENT, "x -s 8" },
		{ "x {window}", "", PRESERVE_CONTENT, "x 1048576" },
		{ "x -w{window}", "window=64KiB", PRESERVE_CONTENT, "x -w65536" },
		{ "x {level}", "level=low", PRESERVE_CONTENT, "x" },
		{ "x {level}", "level=high", PRESERVE_CONTENT, "x --level=high" },
		{ "x {note}", "", PRESERVE_CONTENT, "x" },
		{ "x {note}", "note=a b;$(c)'d", PRESERVE_CONTENT, "x 'a b;$(c)'\\''d'" },
		{ "x ''", "", PRESERVE_CONTENT, "x ''" },
		{ "x {{src} {{", "", PRESERVE_CONTENT, "x '{src}' '{'" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_TEXT file = { 0 };
		text_addf(&file, "[tool]\nneeds = sshd\nrun = %s\n", cases[i].run);
		/* Everything is used somewhere, as it must be. */
		text_add(&file, "into = y {preserve} {fast} {streams} {window} {level} {note}\n");
		text_add(&file, "[preserve]\nmode = -p\nall = -p -t {src}\n" OPTIONS);
		struct transport *transport = tool_of(text_string(&file));
		struct xfer xfer = xfer_for(transport);
		AUTO_FREE void *values = tool_options_of(transport, cases[i].options);
		AUTO_TEXT shown = { 0 };
		xfer.options = values;
		xfer.preserve = cases[i].preserve;
		xfer.source_root = "/from/a";
		xfer.sink_root = "/to/b";
		assert_int_equal(tool_command(&xfer, &shown, NULL), 0);
		char *pipe = strstr(shown.data, " | y ");
		assert_non_null(pipe);
		*pipe = '\0';
		assert_string_equal(shown.data, cases[i].shown);
		tool_free(transport);
	}
}

static void test_hosts(void **state)
{
	(void)state;
	struct transport *transport = tool_of("[tool]\nrun = x {host} {host_url}:{port}\n");
	struct xfer xfer = xfer_for(transport);
	AUTO_TEXT shown = { 0 };
	xfer.peer_host = "fe80::1";
	assert_int_equal(tool_command(&xfer, &shown, NULL), 0);
	assert_string_equal(text_string(&shown), "x fe80::1 '[fe80::1]:0'");
	tool_free(transport);
}

static void test_check(void **state)
{
	(void)state;
	struct transport *transport =
		tool_of("[tool]\nrun = x {preserve}\n[preserve]\nmode = -p\n");
	struct error err = { 0 };
	assert_int_equal(transport->check(transport, NULL, PRESERVE_CONTENT, &err), 0);
	assert_int_equal(transport->check(transport, NULL, PRESERVE_MODE, &err), 0);
	assert_int_equal(transport->check(transport, NULL, PRESERVE_ALL, &err), -1);
	assert_int_equal(err.kind, ERROR_UNSUPPORTED);
	assert_string_equal(err.message, "test cannot do preserve = all");
	tool_free(transport);
}

static void test_which_ops(void **state)
{
	(void)state;
	struct transport *push = tool_of("[tool]\nrun = x\n");
	assert_non_null(push->send);
	assert_null(push->receive);
	assert_null(push->listen);
	assert_null(push->options);
	tool_free(push);
	struct transport *pull = tool_of("[tool]\ndriver = sink\nrun = x\nserve = y {port}\n");
	assert_non_null(pull->receive);
	assert_null(pull->send); /* the server is kept until the driver is done */
	assert_non_null(pull->listen);
	assert_non_null(pull->connect);
	tool_free(pull);
	struct transport *once = tool_of("[tool]\nrun = x\nserve = y {port}\nserve_until = exit\n");
	assert_non_null(once->send);
	assert_non_null(once->receive);
	tool_free(once);
}

static struct tool_outcome drive(const char *text, const char *options)
{
	struct transport *transport = tool_of(text);
	const struct xfer xfer = xfer_for(transport);
	struct tool_outcome outcome = tool_drive(&xfer, options);
	tool_free(transport);
	return outcome;
}

static void test_real_arguments(void **state)
{
	(void)state;
	struct tool_outcome outcome =
		drive("[tool]\ndriver = sink\n"
		      "run = sh -c 'for word; do printf \"<%s>\" \"$word\"; done >{dst}/args' sh\n"
		      "  {note} {preserve} '' {src}/x\n"
		      "[preserve]\ncontent = -a 'b c'\n"
		      "[option note]\ntype = text\n",
		      "note=$(touch /tmp/x) \"'*\xff");
	if (outcome.result < 0)
		fail_msg("%s", outcome.err.message);
	AUTO_FREE char *args = tool_folders_read(&folders, "args");
	AUTO_TEXT wanted = { 0 };
	text_addf(&wanted, "<$(touch /tmp/x) \"'*\xff><-a><b c><><%s/x>", folders.from);
	assert_string_equal(args, text_string(&wanted));
}

static void test_environment(void **state)
{
	(void)state;
	setenv("SSH_AUTH_SOCK", "/secret", 1);
	setenv("LINEFILL_RUN", "mark", 1);
	struct tool_outcome outcome = drive("[tool]\n"
					    "environment = A={scratch}/x \"B=b c\" LC_ALL=C.UTF-8\n"
					    "run = sh -c 'env | sort >{dst}/env'\n",
					    "");
	unsetenv("SSH_AUTH_SOCK");
	unsetenv("LINEFILL_RUN");
	if (outcome.result < 0)
		fail_msg("%s", outcome.err.message);
	AUTO_FREE char *env = tool_folders_read(&folders, "env");
	static const char *const names[] = {
		"A=",       "B=b c\n", "HOME=", "LC_ALL=C.UTF-8\n", "LINEFILL_RUN=mark\n",
		"LOGNAME=", "PATH=",   "PWD=",  "TMPDIR=",          "USER="
	};
	size_t count = 0;
	for (const char *line = env; *line; line = strchr(line, '\n') + 1) {
		if (strncmp(line, "_=", 2) == 0 || strncmp(line, "OLDPWD", 6) == 0 ||
		    strncmp(line, "SHLVL", 5) == 0)
			continue;
		assert_true(count < ARRAY_SIZE(names));
		if (strncmp(line, names[count], strlen(names[count])) != 0)
			fail_msg("%s is not %s", line, names[count]);
		count++;
	}
	assert_int_equal(count, ARRAY_SIZE(names));
}

static void test_copy_and_time(void **state)
{
	(void)state;
	AUTO_FREE char *file = path_join(folders.from, "file");
	AUTO_FREE char *copy = path_join(folders.to, "file");
	assert_int_equal(file_write_all(file, "data", 4, 0600, NULL), 0);
	/* What prepare does is not timed, what run does is. */
	struct tool_outcome outcome =
		drive("[tool]\ndriver = sink\nprepare = sleep 1.5\n"
		      "run = sh -c 'sleep 0.2; exec cp -r \"$1/.\" \"$2/\"' sh\n"
		      "  {src} {dst}\n",
		      "");
	assert_int_equal(outcome.result, 0);
	assert_int_equal(access(copy, R_OK), 0);
	assert_true(outcome.drive_ns >= 200 * NS_PER_MS);
	assert_true(outcome.drive_ns < 1500 * NS_PER_MS);
}

static void test_failures(void **state)
{
	(void)state;
	static const struct {
		const char *file;
		enum error_kind kind;
		const char *message;
	} cases[] = {
		{ "[tool]\nrun = no-such-program\n", ERROR_UNAVAILABLE,
		  "no-such-program: not found" },
		{ "[tool]\nrun = true\ninto = no-such-program\n", ERROR_UNAVAILABLE,
		  "no-such-program: not found" },
		{ "[tool]\nrun = true\nprepare = sh -c 'echo no >&2; exit 4'\n", ERROR_TOOL,
		  "prepare: sh: exit status 4: no" },
		{ "[tool]\nrun = {note}\n[option note]\ntype = text\n", ERROR_CONFIG,
		  "the command is empty" },
		{ "[tool]\nrun = sh -c 'exit 9'\n", ERROR_TOOL, "sh: exit status 9" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct tool_outcome outcome = drive(cases[i].file, "");
		assert_int_equal(outcome.result, -1);
		assert_string_equal(outcome.err.message, cases[i].message);
		assert_int_equal(outcome.err.kind, cases[i].kind);
	}
}

static void test_service_that_does_not_run(void **state)
{
	(void)state;
	struct transport *transport = tool_of("[tool]\nneeds = sshd\nrun = true {user}\n");
	struct xfer xfer = xfer_for(transport);
	xfer.service = NULL;
	struct tool_outcome outcome = tool_worker_drive(&xfer, NULL);
	assert_int_equal(outcome.result, -1);
	assert_int_equal(outcome.err.kind, ERROR_UNAVAILABLE);
	tool_free(transport);
}

/* Spends one second of CPU time, as the kernel counts it for this very process. */
static int burn(void)
{
	struct timespec spent = { 0 };
	while (spent.tv_sec < 1)
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
	return 0;
}

static void test_burnt_cpu_is_counted(void **state)
{
	(void)state;
	AUTO_TEXT text = { 0 };
	text_addf(&text, "[tool]\nrun = sh -c '(\"$1\" burn; true) & wait' sh %s\n", self);
	struct tool_outcome outcome = drive(text_string(&text), "");
	if (outcome.result < 0)
		fail_msg("%s", outcome.err.message);
	double spent = outcome.usage.user_s + outcome.usage.system_s;
	if (spent < 0.95 || spent > 1.2)
		fail_msg("%.3f s", spent);
}

/* The server half of this program: sends a fixed text to each who connects. */
static int serve(const char *how, const char *port)
{
	if (strcmp(how, "fail") == 0) {
		fprintf(stderr, "cannot serve\n");
		return 3;
	}
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons((uint16_t)atoi(port)),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	usleep(100000); /* whoever does not wait connects too early */
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(listener, 5) < 0)
		return 1;
	do {
		int client = accept(listener, NULL, NULL);
		if (client < 0 || write(client, "served", 6) != 6)
			return 1;
		close(client);
	} while (strcmp(how, "once") != 0);
	return 0;
}

static int fetch(const char *port, const char *path)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons((uint16_t)atoi(port)),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char bytes[16] = { 0 };
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    recv(fd, bytes, 6, MSG_WAITALL) != 6)
		return 1;
	return file_write_all(path, bytes, 6, 0600, NULL) < 0;
}

static struct transport *make_served(const char *how, const char *until)
{
	AUTO_TEXT text = { 0 };
	text_addf(&text,
		  "[tool]\ndriver = sink\nrun = %s fetch {port} {dst}/fetched\n"
		  "serve = %s %s {port}\nserve_until = %s\n",
		  self, self, how, until);
	return tool_of(text_string(&text));
}

/* Both ends in this process; the driving one forks. */
static void test_server(void **state)
{
	static const char *const ends[][2] = { { "once", "exit" }, { "always", "driver" } };
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		struct transport *transport = make_served(ends[i][0], ends[i][1]);
		struct xfer listening = xfer_for(transport);
		struct xfer driving = xfer_for(transport);
		struct endpoint endpoint = { 0 };
		struct error err = { 0 };
		listening.side = XFER_SOURCE;
		assert_int_equal(transport->prepare(&listening, &err), 0);
		if (transport->listen(&listening, &endpoint, &err) < 0)
			fail_msg("%s", err.message);
		assert_string_equal(endpoint.host, "127.0.0.1");
		struct tool_outcome outcome = tool_worker_drive(&driving, &endpoint);
		if (outcome.result < 0)
			fail_msg("%s", outcome.err.message);
		AUTO_FREE char *fetched = tool_folders_read(&folders, "fetched");
		assert_string_equal(fetched, "served");
		if (transport->send)
			assert_int_equal(transport->send(&listening, &err), 0);
		transport->cleanup(&listening);
		assert_null(listening.private);
		tool_free(transport);
	}
}

static void test_server_that_ends(void **state)
{
	(void)state;
	struct transport *transport = make_served("fail", "driver");
	struct xfer listening = xfer_for(transport);
	struct endpoint endpoint = { 0 };
	struct error err = { 0 };
	listening.side = XFER_SOURCE;
	assert_int_equal(transport->prepare(&listening, &err), 0);
	assert_int_equal(transport->listen(&listening, &endpoint, &err), -1);
	assert_int_equal(err.kind, ERROR_TOOL);
	assert_string_equal(err.message, "serve: test_tool_run: exit status 3: cannot serve");
	transport->cleanup(&listening);
	tool_free(transport);
}

static void test_server_that_never_listens(void **state)
{
	(void)state;
	struct transport *transport = tool_of("[tool]\nrun = x\nserve = sleep 100{port}\n");
	struct xfer listening = xfer_for(transport);
	struct endpoint endpoint = { 0 };
	struct error err = { 0 };
	listening.side = XFER_SINK;
	listening.deadline_ns = clock_deadline_ns(0.2);
	assert_int_equal(transport->prepare(&listening, &err), 0);
	assert_int_equal(transport->listen(&listening, &endpoint, &err), -1);
	assert_int_equal(err.kind, ERROR_TIMEOUT);
	transport->cleanup(&listening);
	tool_free(transport);
}

static int set_up(void **state)
{
	(void)state;
	tool_folders_make(&folders);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return tool_folders_drop(&folders);
}

int main(int argc, char **argv)
{
	if (argc == 2)
		return burn();
	if (argc == 4 && strcmp(argv[1], "fetch") == 0)
		return fetch(argv[2], argv[3]);
	if (argc == 3)
		return serve(argv[1], argv[2]);
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_which_ops),
		cmocka_unit_test(test_real_arguments),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_copy_and_time),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_service_that_does_not_run),
		cmocka_unit_test(test_burnt_cpu_is_counted),
		cmocka_unit_test(test_server),
		cmocka_unit_test(test_server_that_ends),
		cmocka_unit_test(test_server_that_never_listens),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
