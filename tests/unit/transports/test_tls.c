/* The tls session by itself, with somebody listening on the line, and the tls transport when things
 * go wrong. Copies of all kinds of trees are the contract test's business. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/files.h"
#include "tests/contract/tree_pair.h"
#include "tests/contract/trees.h"
#include "transports/registry.h"
#include "transports/tls/tls_session.h"
#include "transports/wire/tls_secret.h"

#define MIB       (1u << 20)
#define PROMPT_S  10
#define TAP_BYTES (16u * MIB)
#define MARK      "a mark that nobody else may read"

/* One end of a session, on a thread of its own. */
struct end {
	struct tls_terms terms;
	struct token token;
	int fd;
	size_t send, receive; /* bytes: one or the other, then it leaves */
	double seconds;
	char cipher[64];
	struct error err;
};

static int fill_and_send(const struct channel *channel, size_t count, struct error *err)
{
	static const char mark[] = MARK;
	AUTO_FREE char *bytes = malloc(count + sizeof(mark));
	assert_non_null(bytes);
	for (size_t i = 0; i < count; i += sizeof(mark))
		memcpy(bytes + i, mark, sizeof(mark));
	return channel->write(channel, bytes, count, err);
}

static int receive_and_check(const struct channel *channel, size_t count, struct error *err)
{
	static const char mark[] = MARK;
	AUTO_FREE char *bytes = malloc(count);
	assert_non_null(bytes);
	if (channel_read_full(channel, bytes, count, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (bytes[i] != mark[i % sizeof(mark)])
			return error_set(err, ERROR_INTEGRITY, 0, "byte %zu is wrong", i);
	return 0;
}

static void *run_end(void *argument)
{
	struct end *end = argument;
	struct tls_session *session = NULL;
	struct channel channel;
	struct xfer_report report = { 0 };
	const struct io_limit limit = { .deadline_ns = clock_deadline_ns(
						end->seconds > 0 ? end->seconds : PROMPT_S) };
	end->terms.token = &end->token;
	if (tls_session_open(&session, &end->terms, &end->err) == 0 &&
	    tls_session_start(session, end->fd, &limit, &channel, &end->err) == 0) {
		tls_session_report(session, &report);
		text_copy(end->cipher, sizeof(end->cipher), report.cipher);
		if (end->send > 0)
			fill_and_send(&channel, end->send, &end->err);
		if (end->receive > 0)
			receive_and_check(&channel, end->receive, &end->err);
	}
	tls_session_close(session);
	shutdown(end->fd, SHUT_RDWR);
	return NULL;
}

/* The line between the two, and all that went over it. */
struct tap {
	int fds[2];
	unsigned char *seen;
	size_t count;
};

static int pass_on(struct tap *tap, int from, int to)
{
	unsigned char bytes[65536];
	ssize_t n = recv(from, bytes, sizeof(bytes), 0);
	if (n <= 0)
		return -1;
	if (tap->count + (size_t)n <= TAP_BYTES) {
		memcpy(tap->seen + tap->count, bytes, (size_t)n);
		tap->count += (size_t)n;
	}
	const struct io_limit limit = { .deadline_ns = clock_deadline_ns(PROMPT_S) };
	return io_write_full(to, bytes, (size_t)n, &limit, NULL);
}

static void relay(struct tap *tap)
{
	bool open[2] = { true, true };
	while (open[0] || open[1]) {
		struct pollfd polled[2] = {
			{ .fd = open[0] ? tap->fds[0] : -1, .events = POLLIN },
			{ .fd = open[1] ? tap->fds[1] : -1, .events = POLLIN },
		};
		if (poll(polled, 2, -1) < 0)
			return;
		for (int i = 0; i < 2; i++)
			if (open[i] && polled[i].revents &&
			    pass_on(tap, tap->fds[i], tap->fds[!i]) < 0) {
				open[i] = false;
				shutdown(tap->fds[!i], SHUT_WR);
			}
	}
}

static void make_line(int *near, int *far)
{
	int pair[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	*near = pair[0];
	*far = pair[1];
	assert_int_equal(io_set_nonblocking(*near, NULL), 0);
}

/* Both ends with a tap between them. */
static void run_ends(struct end *client, struct end *server, struct tap *tap)
{
	pthread_t threads[2];
	server->terms.server = true;
	make_line(&client->fd, &tap->fds[0]);
	make_line(&server->fd, &tap->fds[1]);
	tap->seen = malloc(TAP_BYTES);
	assert_non_null(tap->seen);
	assert_int_equal(pthread_create(&threads[0], NULL, run_end, client), 0);
	assert_int_equal(pthread_create(&threads[1], NULL, run_end, server), 0);
	relay(tap);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	close(client->fd);
	close(server->fd);
	close(tap->fds[0]);
	close(tap->fds[1]);
}

static bool is_seen(const struct tap *tap, const void *bytes, size_t count)
{
	return memmem(tap->seen, tap->count, bytes, count) != NULL;
}

static void test_ciphers(void **state)
{
	(void)state;
	for (size_t i = 0; tls_cipher_suites[i]; i++) {
		const struct tls_terms terms = { .suite = tls_cipher_suites[i], .ktls = true };
		struct end client = { .terms = terms, .send = 3 * MIB + 7 };
		struct end server = { .terms = terms, .receive = 3 * MIB + 7 };
		struct tap tap = { .count = 0 };
		memset(client.token.bytes, 7, XFER_TOKEN_BYTES);
		server.token = client.token;
		run_ends(&client, &server, &tap);
		if (client.err.kind != ERROR_NONE || server.err.kind != ERROR_NONE)
			fail_msg("%s: '%s' '%s'", terms.suite, client.err.message,
				 server.err.message);
		assert_string_equal(client.cipher, terms.suite);
		assert_string_equal(server.cipher, terms.suite);
		assert_true(tap.count > 3 * MIB);
		assert_false(is_seen(&tap, MARK, strlen(MARK)));
		assert_false(is_seen(&tap, client.token.bytes, XFER_TOKEN_BYTES));
		free(tap.seen);
	}
}

static void test_new_keys(void **state)
{
	const struct tls_terms terms = { .suite = tls_cipher_suites[0], .rekey_bytes = 1000 };
	struct end client = { .terms = terms, .send = 5 * MIB };
	struct end server = { .terms = terms, .receive = 5 * MIB };
	struct tap tap = { .count = 0 };
	(void)state;
	run_ends(&client, &server, &tap);
	assert_int_equal(client.err.kind, ERROR_NONE);
	assert_int_equal(server.err.kind, ERROR_NONE);
	free(tap.seen);
}

/* Who has another token, or is held to something else, gets nothing. */
static void test_strangers(void **state)
{
	static const struct {
		unsigned char token;
		size_t suite;
	} strangers[] = { { 1, 0 }, { 0, 2 }, { 0, 1 } };
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(strangers); i++) {
		struct end client = { .terms.suite = tls_cipher_suites[0], .send = 1000 };
		struct end server = { .terms.suite = tls_cipher_suites[strangers[i].suite],
				      .receive = 1000 };
		struct tap tap = { .count = 0 };
		server.token.bytes[0] = strangers[i].token;
		run_ends(&client, &server, &tap);
		assert_int_equal(client.err.kind, ERROR_PEER);
		assert_int_equal(server.err.kind, ERROR_PEER);
		assert_false(is_seen(&tap, MARK, strlen(MARK)));
		free(tap.seen);
	}
}

static void test_peer_leaves(void **state)
{
	static const struct {
		size_t send, receive;
		enum error_kind sender, receiver;
	} cases[] = {
		{ 1000, 2000, ERROR_NONE, ERROR_PEER },    /* it wants more than there is */
		{ 8 * MIB, 1000, ERROR_PEER, ERROR_NONE }, /* it leaves before the end */
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct tls_terms terms = { .suite = tls_cipher_suites[0] };
		struct end client = { .terms = terms, .send = cases[i].send };
		struct end server = { .terms = terms, .receive = cases[i].receive };
		struct tap tap = { .count = 0 };
		run_ends(&client, &server, &tap);
		assert_int_equal(client.err.kind, cases[i].sender);
		assert_int_equal(server.err.kind, cases[i].receiver);
		free(tap.seen);
	}
}

/* Nobody answers, then somebody who speaks something else does. */
static void test_no_tls(void **state)
{
	static const struct {
		bool server;
		const char *says;
		enum error_kind kind;
	} cases[] = {
		{ false, "", ERROR_TIMEOUT },
		{ true, "", ERROR_TIMEOUT },
		{ false, "SSH-2.0-OpenSSH_9.2\r\n", ERROR_PEER },
		{ true, "GET / HTTP/1.1\r\n\r\n", ERROR_PEER },
		{ true, "\x16\x03\x01\xff\xff\x01\x00\xff\xff", ERROR_PEER },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int far = -1;
		struct end end = { .terms = { .suite = tls_cipher_suites[0],
					      .server = cases[i].server },
				   .seconds = 0.3 };
		make_line(&end.fd, &far);
		size_t count = strlen(cases[i].says);
		assert_int_equal(send(far, cases[i].says, count, 0), (ssize_t)count);
		run_end(&end);
		if (end.err.kind != cases[i].kind)
			fail_msg("%zu: %s: %s", i, error_kind_name(end.err.kind), end.err.message);
		close(end.fd);
		close(far);
	}
}

/* Made outside with openssl kdf -kdfopt digest:SHA256 -kdfopt hexkey:01... -kdfopt info:first HKDF.
 */
static void test_secrets(void **state)
{
	static const unsigned char known[32] =
		"\x6f\x38\x0f\xdf\xde\x4d\x8c\x4f\xb6\xe5\x0f\x25\x3b\x34\x4e\x18"
		"\xf0\x1e\x41\xff\x7c\x2c\xd3\x68\x21\xda\x1a\x51\xc1\x1b\xa1\xd5";
	struct token one = { .bytes = { 1 } };
	struct token two = { .bytes = { 2 } };
	unsigned char a[32], b[32], c[32], d[32];
	struct error err = { 0 };
	(void)state;
	assert_int_equal(tls_secret(&one, "first", a, sizeof(a), &err), 0);
	assert_int_equal(tls_secret(&one, "first", b, sizeof(b), &err), 0);
	assert_int_equal(tls_secret(&one, "second", c, sizeof(c), &err), 0);
	assert_int_equal(tls_secret(&two, "first", d, sizeof(d), &err), 0);
	assert_memory_equal(a, known, sizeof(a));
	assert_memory_equal(a, b, sizeof(a));
	assert_memory_not_equal(a, c, sizeof(a));
	assert_memory_not_equal(a, d, sizeof(a));
	assert_memory_not_equal(a, one.bytes, XFER_TOKEN_BYTES);
}

static struct tree_pair trees;

static int setup(void **state)
{
	(void)state;
	tree_pair_make(&trees, "source");
	tree_file(trees.source_fd, "a-large", 20 * MIB);
	tree_file(trees.source_fd, "victim", 9 * MIB);
	tree_pair_scan(&trees);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tree_pair_drop(&trees);
	return 0;
}

static int run(struct pair_spec spec, struct pair_result *result, struct error *err)
{
	spec.transport = transport_find("tls");
	spec.source_root = trees.source;
	spec.sink_root = trees.sink;
	spec.scratch = trees.base;
	spec.files = &trees.files;
	assert_int_equal(folder_clear(trees.sink, err), 0);
	return pair_run(&spec, result, err);
}

static void test_options(void **state)
{
	static const char *const options[] = { "cipher=aes256-gcm,ktls=off",
					       "cipher=chacha20-poly1305,block=4096",
					       "send_buffer=65536,receive_buffer=65536" };
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		struct pair_result result;
		struct error err = { 0 };
		const struct pair_spec spec = { .options = options[i], .host = i ? NULL : "::1" };
		if (run(spec, &result, &err) < 0)
			fail_msg("%s: %s", options[i], err.message);
		assert_int_equal(result.sink.progress.bytes, trees.files.bytes);
		assert_string_equal(result.source.report.cipher, result.sink.report.cipher);
		assert_string_equal(result.source.report.mac, "implicit");
		assert_string_equal(result.sink.report.mac, "implicit");
	}
}

static void test_changed_source(void **state)
{
	struct pair_result result;
	struct error err = { 0 };
	(void)state;
	AUTO_FREE char *victim = path_join(trees.source, "victim");
	assert_int_equal(truncate(victim, 5 * MIB), 0);
	assert_int_equal(run((struct pair_spec){ 0 }, &result, &err), -1);
	assert_int_equal(result.source.error.kind, ERROR_SYSTEM);
	assert_non_null(strstr(result.source.error.message, "victim"));
	assert_non_null(strstr(result.sink.error.message, "victim"));
	assert_true(result.total_s < PROMPT_S);
}

static int write_line(const char *path, const char *line)
{
	AUTO_FD fd = open(path, O_WRONLY);
	return fd >= 0 && write(fd, line, strlen(line)) == (ssize_t)strlen(line) ? 0 : -1;
}

/* In a mount namespace of its own: a target with room for less than the tree. 77: there are no such
 * namespaces here. */
static int run_on_small_target(void)
{
	struct pair_result result;
	struct error err = { 0 };
	bool root = geteuid() == 0;
	char map[2][64];
	snprintf(map[0], sizeof(map[0]), "%u %u 1", geteuid(), geteuid());
	snprintf(map[1], sizeof(map[1]), "%u %u 1", getegid(), getegid());
	if (unshare(root ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) < 0 ||
	    (!root && (write_line("/proc/self/setgroups", "deny") < 0 ||
		       write_line("/proc/self/uid_map", map[0]) < 0 ||
		       write_line("/proc/self/gid_map", map[1]) < 0)) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", trees.sink, "tmpfs", 0, "size=16m") < 0)
		return 77;
	if (run((struct pair_spec){ 0 }, &result, &err) == 0)
		return 1;
	return !strstr(result.sink.error.message, "no space left") ||
	       !strstr(result.source.error.message, "no space left") || result.total_s > PROMPT_S;
}

static void test_full_disk(void **state)
{
	int status = 0;
	(void)state;
	pid_t pid = fork();
	if (pid == 0)
		_exit(run_on_small_target());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

/* In the sink's process, once the source knows where it is. */
static void end_sink(const struct endpoint *endpoint, void *context)
{
	(void)endpoint;
	(void)context;
	pid_t sink = getpid();
	if (fork() == 0) {
		usleep(20000);
		kill(sink, SIGKILL);
		_exit(0);
	}
}

static void test_sink_dies(void **state)
{
	struct pair_result result;
	struct error err = { 0 };
	const struct pair_spec spec = { .options = "block=4096", .when_listening = end_sink };
	(void)state;
	assert_int_equal(run(spec, &result, &err), -1);
	if (result.source.error.kind == ERROR_NONE)
		skip(); /* it was done already */
	assert_int_equal(result.source.error.kind, ERROR_PEER);
	assert_int_equal(result.source.wait_status, 0);
	assert_true(result.source.seconds < PROMPT_S);
}

int main(void)
{
	/* As in a worker. */
	signal(SIGPIPE, SIG_IGN);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_secrets),
		cmocka_unit_test(test_ciphers),
		cmocka_unit_test(test_new_keys),
		cmocka_unit_test(test_strangers),
		cmocka_unit_test(test_peer_leaves),
		cmocka_unit_test(test_no_tls),
		cmocka_unit_test_setup_teardown(test_options, setup, teardown),
		cmocka_unit_test_setup_teardown(test_changed_source, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_disk, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sink_dies, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
