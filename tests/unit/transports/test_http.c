/* The http transport: its options, and a sink that meets servers which misbehave. Copies of all
 * kinds of trees are the contract test's business. Needs nginx. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/child.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/files.h"
#include "tests/contract/tree_pair.h"
#include "tests/contract/trees.h"
#include "tests/lacks.h"
#include "transports/http/http_fetch.h"
#include "transports/http/http_identity.h"
#include "transports/registry.h"
#include "transports/wire/channel.h"
#include "transports/wire/gate.h"

#define MIB      (1u << 20)
#define PROMPT_S 10
#define SMALL    300

static struct tree_pair trees;
static char *scratch;

static int setup_all(void **state)
{
	struct probe probe = { .side = XFER_SOURCE };
	struct error err = { 0 };
	char path[64];
	(void)state;
	const struct transport *http = transport_find("http");
	if (!http || http->probe(http, &probe, &err) < 0) {
		test_lacks("http", err.message);
		exit(0);
	}
	tree_pair_make(&trees, "so$urce; \"{1}");
	scratch = tree_pair_folder(&trees, "scratch");
	tree_file(trees.source_fd, "large", 20 * MIB + 1);
	tree_folder(trees.source_fd, "folder", 0555);
	for (int i = 0; i < SMALL; i++) {
		snprintf(path, sizeof(path), "small-%d?#%%41&=+", i);
		tree_file(trees.source_fd, path, (size_t)i);
	}
	tree_pair_scan(&trees);
	return 0;
}

static int teardown_all(void **state)
{
	(void)state;
	tree_pair_drop(&trees);
	free(scratch);
	return 0;
}

static int setup(void **state)
{
	struct error err = { 0 };
	(void)state;
	return folder_clear(trees.sink, &err) | folder_clear(scratch, &err);
}

static int run(struct pair_spec spec, struct pair_result *result, struct error *err)
{
	spec.transport = transport_find("http");
	spec.source_root = trees.source;
	spec.sink_root = trees.sink;
	spec.scratch = scratch;
	spec.files = &trees.files;
	spec.preserve = PRESERVE_ALL;
	assert_int_equal(setup(NULL), 0);
	return pair_run(&spec, result, err);
}

static void check_copy(const char *label)
{
	struct error err = { 0 };
	if (tree_pair_compare(&trees, PRESERVE_ALL, &err) < 0)
		fail_msg("%s: %s", label, err.message);
}

/* Many files travel on few connections. */
static void test_options(void **state)
{
	static const struct {
		const char *options, *host, *cipher;
		uint32_t streams;
	} cases[] = {
		{ "", NULL, "", 4 },
		{ "streams=1", "::1", "", 1 },
		{ "streams=64,workers=3", NULL, "", 64 },
		{ "tls=yes", "::1", "TLS_AES_128_GCM_SHA256", 4 },
		{ "tls=yes,cipher=aes256-gcm,streams=2", NULL, "TLS_AES_256_GCM_SHA384", 2 },
		{ "tls=yes,cipher=chacha20-poly1305", NULL, "TLS_CHACHA20_POLY1305_SHA256", 4 },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pair_result result;
		struct error err = { 0 };
		const struct pair_spec spec = { .options = cases[i].options,
						.host = cases[i].host };
		if (run(spec, &result, &err) < 0)
			fail_msg("%s: %s", cases[i].options, err.message);
		check_copy(cases[i].options);
		assert_int_equal(result.sink.progress.files, SMALL + 1);
		assert_int_equal(result.sink.progress.bytes, trees.files.bytes);
		assert_string_equal(result.sink.report.cipher, cases[i].cipher);
		assert_string_equal(result.sink.report.mac, cases[i].cipher[0] ? "implicit" : "");
		if (result.sink.report.streams == 0 ||
		    result.sink.report.streams > cases[i].streams)
			fail_msg("%s: %u connections", cases[i].options,
				 result.sink.report.streams);
	}
}

static void test_wrong_token(void **state)
{
	static const struct {
		const char *options, *says;
	} cases[] = { { "", "the server answered 404" }, { "tls=yes", "pinned" } };
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pair_result result;
		struct error err = { 0 };
		const struct pair_spec spec = { .options = cases[i].options, .wrong_token = true };
		assert_int_equal(run(spec, &result, &err), -1);
		assert_int_equal(result.sink.error.kind, ERROR_PEER);
		assert_int_equal(result.sink.progress.bytes, 0);
		if (!strstr(result.sink.error.message, cases[i].says))
			fail_msg("%s", result.sink.error.message);
	}
}

/* What a stranger on the same machine gets, who knows the port but not the path. */
static void ask(const struct endpoint *endpoint, void *context)
{
	static const char *const asked[] = { "/",           "/large",      "/../../etc/passwd",
					     "/tree/large", "/nginx.conf", "/key.pem" };
	const struct socket_options options = { 0 };
	const struct gate_call call = { .options = &options,
					.limit = { .deadline_ns = clock_deadline_ns(5) } };
	int *answers = context;
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		AUTO_FD fd = -1;
		char bytes[512];
		struct error err = { 0 };
		assert_int_equal(gate_dial(&call, endpoint, &fd, &err), 0);
		int n = snprintf(bytes, sizeof(bytes),
				 "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
				 asked[i]);
		if (io_write_full(fd, bytes, (size_t)n, &call.limit, &err) < 0 ||
		    io_read_full(fd, bytes, 12, &call.limit, &err) < 0)
			return;
		bytes[12] = '\0';
		if (strcmp(bytes, "HTTP/1.1 404") != 0 && strcmp(bytes, "HTTP/1.1 400") != 0)
			return;
	}
	_exit(*answers); /* as the source's process: seen by the test */
}

static void test_strangers(void **state)
{
	struct pair_result result;
	struct error err = { 0 };
	int code = 42;
	const struct pair_spec spec = { .when_listening = ask, .context = &code, .seconds = 5 };
	(void)state;
	run(spec, &result, &err);
	assert_true(WIFEXITED(result.source.wait_status));
	assert_int_equal(WEXITSTATUS(result.source.wait_status), 42);
}

static void test_lost_file(void **state)
{
	static const char *const names[] = { "gone", "shorter", "longer", "unreadable" };
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct pair_result result;
		struct error err = { 0 };
		AUTO_FREE char *path = path_join(trees.source, names[i]);
		AUTO_FD fd = tree_open(trees.source);
		if (i == 3 && geteuid() == 0)
			continue;
		tree_file(fd, names[i], 100);
		tree_pair_scan(&trees);
		assert_int_equal(i == 0   ? unlink(path)
				 : i == 3 ? chmod(path, 0)
					  : truncate(path, i == 1 ? 99 : 101),
				 0);
		assert_int_equal(run((struct pair_spec){ 0 }, &result, &err), -1);
		assert_int_equal(result.sink.error.kind, ERROR_PEER);
		if (!strstr(result.sink.error.message, names[i]))
			fail_msg("%s: %s", names[i], result.sink.error.message);
		if (i > 0)
			assert_int_equal(unlink(path), 0);
	}
	tree_pair_scan(&trees);
}

/* Answers one request on each connection with fixed bytes. */
_Noreturn static void serve(int listener, const char *answer, size_t count)
{
	const struct io_limit limit = { .deadline_ns = clock_deadline_ns(PROMPT_S) };
	for (;;) {
		char request[4096];
		struct error err = { 0 };
		if (io_wait(listener, POLLIN, &limit, &err) < 0)
			_exit(1);
		AUTO_FD fd = accept(listener, NULL, NULL);
		if (fd < 0 || io_read_some(fd, request, sizeof(request), &limit, &err) <= 0 ||
		    count == 0)
			continue;
		if (io_write_full(fd, answer, count, &limit, &err) < 0)
			continue;
		shutdown(fd, SHUT_WR);
		channel_drain_socket(fd, 1);
	}
}

static int fetch_from(const struct endpoint *endpoint, double seconds, struct error *err)
{
	struct token token = { .bytes = { 1 } };
	struct manifest wanted = { 0 };
	struct xfer_progress progress = { 0 };
	struct xfer_report report = { .streams = 0 };
	struct cancel cancel = CANCEL_NONE;
	const struct manifest_entry entry = {
		.path = "wanted", .type = MANIFEST_FILE, .size_bytes = 10, .mode = 0644
	};
	struct xfer xfer = {
		.side = XFER_SINK,
		.files = &wanted,
		.root = trees.sink,
		.token = &token,
		.deadline_ns = clock_deadline_ns(seconds),
		.progress = &progress,
		.report = &report,
		.cancel = &cancel,
	};
	const struct http_fetch_terms terms = { .xfer = &xfer, .streams = 2 };
	struct http_fetch *fetch = NULL;
	assert_int_equal(manifest_add(&wanted, &entry, err) | manifest_finish(&wanted, err), 0);
	int result = http_fetch_open(&fetch, &terms, err);
	if (result == 0)
		result = http_fetch_run(fetch, endpoint, err);
	http_fetch_close(fetch);
	manifest_free(&wanted);
	return result;
}

static void test_bad_servers(void **state)
{
	static const struct {
		const char *answer, *says;
	} cases[] = {
		{ "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789", NULL },
		{ "HTTP/1.1 200 OK\r\n\r\n0123456789", NULL },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
		  "a\r\n0123456789\r\n0\r\n\r\n",
		  NULL },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n012345678", "9 of 10 bytes" },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234", "5 of 10 bytes" },
		{ "HTTP/1.1 200 OK\r\n\r\n01234", "5 of 10 bytes" },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "0 of 10 bytes" },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n0123456789a",
		  "more than 10 bytes" },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n0123456789",
		  NULL },
		{ "HTTP/1.1 206 Partial\r\nContent-Length: 10\r\n\r\n0123456789", "answered 206" },
		{ "HTTP/1.1 204 Nothing\r\n\r\n", "answered 204" },
		{ "HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n"
		  "Content-Length: 0\r\n\r\n",
		  "answered 302" },
		{ "HTTP/1.1 404 No\r\nContent-Length: 10\r\n\r\n0123456789", "answered 404" },
		{ "HTTP/1.1 500 No\r\nContent-Length: 10\r\n\r\n0123456789", "answered 500" },
		{ "0123456789", "wanted: libcurl" },
		{ "", "wanted: libcurl" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct socket_options options = { 0 };
		AUTO_FD listener = -1;
		struct endpoint endpoint;
		struct child child = CHILD_NONE;
		struct error err = { 0 };
		int64_t start = clock_now_ns();
		assert_int_equal(setup(NULL), 0);
		assert_int_equal(gate_listen("127.0.0.1", &options, &listener, &endpoint, &err), 0);
		int side = child_fork(&child, &err);
		if (side == 0)
			serve(listener, cases[i].answer, strlen(cases[i].answer));
		assert_int_equal(side, 1);
		int result = fetch_from(&endpoint, PROMPT_S, &err);
		child_end(&child);
		assert_true(clock_now_ns() - start < PROMPT_S * NS_PER_S);
		if ((result == 0) != (cases[i].says == NULL))
			fail_msg("%zu: %d: %s", i, result, err.message);
		if (result == 0)
			continue;
		assert_int_equal(err.kind, ERROR_PEER);
		if (!strstr(err.message, cases[i].says) || !strstr(err.message, "wanted"))
			fail_msg("%zu: '%s'", i, err.message);
	}
}

/* Accepts by way of the kernel and never answers; nobody at all. */
static void test_silence(void **state)
{
	const struct socket_options options = { 0 };
	struct endpoint endpoint;
	struct error err = { 0 };
	int listener = -1;
	(void)state;
	assert_int_equal(gate_listen("127.0.0.1", &options, &listener, &endpoint, &err), 0);
	assert_int_equal(fetch_from(&endpoint, 0.5, &err), -1);
	assert_int_equal(err.kind, ERROR_TIMEOUT);
	close(listener);
	assert_int_equal(setup(NULL), 0);
	assert_int_equal(fetch_from(&endpoint, PROMPT_S, &err), -1);
	assert_int_equal(err.kind, ERROR_PEER);
}

/* In the source's process: it dies without cleaning up. */
static void die(const struct endpoint *endpoint, void *context)
{
	(void)endpoint;
	(void)context;
	kill(getpid(), SIGKILL);
}

static void test_source_dies(void **state)
{
	struct pair_result result;
	struct error err = { 0 };
	const struct pair_spec spec = { .when_listening = die, .options = "workers=2" };
	(void)state;
	run(spec, &result, &err);
	assert_true(WIFSIGNALED(result.source.wait_status));
	assert_true(result.total_s < PROMPT_S);
	/* Its nginx processes, seen by what they print to, are gone with it. */
	AUTO_FREE char *pid_path = path_join(scratch, "nginx/nginx-1.pid");
	AUTO_FREE char *number = NULL;
	assert_int_equal(file_read_all(pid_path, 32, &number, NULL, &err), 0);
	int64_t deadline = clock_deadline_ns(PROMPT_S);
	while (kill((pid_t)atoi(number), 0) == 0 && clock_now_ns() < deadline) {
		char stat_path[64];
		AUTO_FREE char *stat = NULL;
		snprintf(stat_path, sizeof(stat_path), "/proc/%d/stat", atoi(number));
		/* A zombie is dead, whoever should reap it. */
		if (file_read_all(stat_path, 4096, &stat, NULL, NULL) < 0 || strstr(stat, ") Z "))
			return;
		usleep(10000);
	}
	assert_true(clock_now_ns() < deadline);
}

static void test_encode(void **state)
{
	static const struct {
		const char *path, *url;
	} cases[] = {
		{ "a/b-c_d.e~f", "a/b-c_d.e~f" },
		{ "two words", "two%20words" },
		{ "100%", "100%25" },
		{ "?#[]@!$&'()*+,;=:", "%3F%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D%3A" },
		{ "\n\x01\x7f\xff\xc3\xa9\\\"", "%0A%01%7F%FF%C3%A9%5C%22" },
		{ "", "" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_TEXT url = { 0 };
		http_fetch_encode(&url, cases[i].path);
		assert_string_equal(text_string(&url), cases[i].url);
	}
}

static void test_identity(void **state)
{
	const struct token one = { .bytes = { 1 } };
	const struct token two = { .bytes = { 2 } };
	char secret[2][HTTP_SECRET_SIZE], pin[3][HTTP_PIN_SIZE];
	struct error err = { 0 };
	struct stat status;
	(void)state;
	AUTO_FREE char *key = path_join(scratch, "key");
	AUTO_FREE char *certificate = path_join(scratch, "certificate");
	assert_int_equal(http_identity_secret(&one, secret[0], &err), 0);
	assert_int_equal(http_identity_secret(&two, secret[1], &err), 0);
	assert_int_equal(strlen(secret[0]), 32);
	assert_string_not_equal(secret[0], secret[1]);
	assert_int_equal(http_identity_pin(&one, pin[0], &err), 0);
	assert_int_equal(http_identity_pin(&two, pin[1], &err), 0);
	assert_int_equal(http_identity_pin(&one, pin[2], &err), 0);
	assert_string_equal(pin[0], pin[2]);
	assert_string_not_equal(pin[0], pin[1]);
	assert_int_equal(strncmp(pin[0], "sha256//", 8), 0);
	assert_int_equal(http_identity_write(&one, key, certificate, &err), 0);
	assert_int_equal(stat(key, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
}

static void test_cipher_needs_tls(void **state)
{
	static const struct {
		const char *options;
		enum error_kind kind;
	} cases[] = {
		{ "", ERROR_NONE },
		{ "tls=yes,cipher=aes256-gcm", ERROR_NONE },
		{ "cipher=aes256-gcm", ERROR_CONFIG },
	};
	const struct transport *http = transport_find("http");
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = { 0 };
		AUTO_FREE void *options = calloc(1, http->options_size);
		assert_int_equal(option_defaults(http->options, options, &err), 0);
		assert_int_equal(option_set_all(http->options, options, cases[i].options, &err), 0);
		int result = http->check(http, options, PRESERVE_MODE, &err);
		assert_int_equal(result < 0, cases[i].kind != ERROR_NONE);
		assert_int_equal(err.kind, cases[i].kind);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_encode),      cmocka_unit_test_setup(test_identity, setup),
		cmocka_unit_test(test_options),     cmocka_unit_test(test_wrong_token),
		cmocka_unit_test(test_strangers),   cmocka_unit_test(test_lost_file),
		cmocka_unit_test(test_bad_servers), cmocka_unit_test_setup(test_silence, setup),
		cmocka_unit_test(test_source_dies), cmocka_unit_test(test_cipher_needs_tls),
	};
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, setup_all, teardown_all);
}
