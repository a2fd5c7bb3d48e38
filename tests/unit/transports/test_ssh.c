/* The ssh transport against a private OpenSSH server; this program plays the receiver too. Copies
 * of all kinds of trees are the contract test's business. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "tests/contract/tree_pair.h"
#include "tests/contract/trees.h"
#include "tests/unit/transports/private_sshd.h"
#include "transports/registry.h"
#include "transports/ssh/ssh_receive.h"
#include "transports/ssh/ssh_session.h"

static struct tree_pair trees;
static char *server;
static struct private_sshd sshd;
static struct service service; /* a copy that tests may spoil */

static int setup_all(void **state)
{
	struct error err = { 0 };
	(void)state;
	tree_pair_make(&trees, "source");
	server = tree_pair_folder(&trees, "server");
	tree_file(trees.source_fd, "large", 30 << 20);
	tree_folder(trees.source_fd, "folder", 0555);
	tree_file(trees.source_fd, "small", 100);
	tree_pair_scan(&trees);
	if (private_sshd_start(&sshd, server, &err) == 0)
		return 0;
	print_message("%s\n", err.message);
	return -1;
}

static int teardown_all(void **state)
{
	(void)state;
	private_sshd_stop(&sshd);
	tree_pair_drop(&trees);
	free(server);
	return 0;
}

static int setup(void **state)
{
	struct error err = { 0 };
	(void)state;
	service = sshd.service;
	return folder_clear(trees.sink, &err);
}

static int run(const char *options, struct pair_result *result, struct error *err)
{
	struct pair_spec spec = tree_pair_spec(&trees, "ssh", options);
	spec.service = &service;
	spec.seconds = 3;
	return pair_run(&spec, result, err);
}

/* Nothing of a transfer stays in the server's folder. */
static void check_clean(void)
{
	AUTO_DIR dir = opendir(server);
	assert_non_null(dir);
	for (struct dirent *entry; (entry = readdir(dir));)
		assert_int_not_equal(strncmp(entry->d_name, "receive-", 8), 0);
}

static void test_reports(void **state)
{
	struct pair_result result;
	struct error err = { 0 };
	(void)state;
	if (run("", &result, &err) < 0)
		fail_msg("%s", err.message);
	assert_string_equal(result.source.report.cipher, "aes128-ctr");
	assert_string_equal(result.source.report.mac, "hmac-sha2-256");
	assert_int_equal(result.source.report.streams, 1);
	assert_int_equal(result.sink.progress.bytes, trees.files.bytes);
	assert_int_equal(result.sink.progress.files, 2);
	assert_true(result.sink.progress.first_byte_ns > 0);
	check_clean();
}

/* Fails at the source with these words; the sink waits until the engine stops it, here the
 * deadline. */
static void check_failure(const char *options, enum error_kind kind, const char *says)
{
	struct pair_result result;
	struct error err = { 0 };
	service.scratch = server;
	assert_int_equal(run(options, &result, &err), -1);
	if (result.source.error.kind != kind || !strstr(result.source.error.message, says))
		fail_msg("%s: %s", error_kind_name(result.source.error.kind),
			 result.source.error.message);
	assert_int_equal(result.source.wait_status | result.sink.wait_status, 0);
	check_clean();
}

static void test_wrong_server(void **state)
{
	struct error err = { 0 };
	(void)state;
	AUTO_FREE char *strange = path_join(trees.base, "strange_hosts");
	static const char line[] =
		"other ssh-ed25519 "
		"AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n";
	assert_int_equal(file_write_all(strange, line, sizeof(line) - 1, 0600, &err), 0);
	service.known_hosts = strange;
	check_failure("", ERROR_PEER, "key is not in");
}

static void test_wrong_user(void **state)
{
	(void)state;
	service.user = "no-such-user";
	check_failure("", ERROR_SYSTEM, "login");
}

static void test_other_cipher(void **state)
{
	(void)state;
	/* libssh2 has it, the server does not offer it. */
	check_failure("cipher=aes256-ctr", ERROR_SYSTEM, "handshake");
}

static void test_check(void **state)
{
	static const struct {
		const char *cipher, *mac;
		enum error_kind kind;
	} cases[] = {
		{ "", "", ERROR_NONE },
		{ "aes128-ctr", "hmac-sha2-256", ERROR_NONE },
		{ "rot13", "", ERROR_UNSUPPORTED },
		{ "", "crc32", ERROR_UNSUPPORTED },
		{ "rot13,aes128-ctr", "", ERROR_NONE },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = { 0 };
		int result = ssh_session_check(cases[i].cipher, cases[i].mac, &err);
		assert_int_equal(result < 0, cases[i].kind != ERROR_NONE);
		assert_int_equal(err.kind, cases[i].kind);
	}
}

/* Libssh2's own order, whatever the study holds its tools to. */
static void test_tool_default(void **state)
{
	static const char options[] = "cipher=tool-default,mac=tool-default";
	const struct transport *transport = transport_find("ssh");
	struct pair_result result;
	struct error err = { 0 };
	(void)state;
	void *values = calloc(1, transport->options_size);
	assert_non_null(values);
	assert_int_equal(option_defaults(transport->options, values, &err), 0);
	assert_int_equal(option_set_all(transport->options, values, options, &err), 0);
	if (transport->check(transport, values, PRESERVE_MODE, &err) < 0)
		fail_msg("%s", err.message);
	free(values);
	if (run(options, &result, &err) < 0)
		fail_msg("%s", err.message);
	check_clean();
}

/* The receiver cannot write: the sink's worker hears why, and so does the source. */
static void test_sink_fails(void **state)
{
	struct pair_result result;
	struct error err = { 0 };
	(void)state;
	AUTO_FD fd = tree_open(trees.sink);
	tree_file(fd, "large", 1);
	assert_int_equal(run("", &result, &err), -1);
	assert_non_null(strstr(result.sink.error.message, "exists already"));
	if (!strstr(result.source.error.message, "exists already"))
		fail_msg("%s", result.source.error.message);
	assert_true(result.total_s < 5);
	check_clean();
}

static void test_ids(void **state)
{
	static const char *const bad[] = { "",
					   "1",
					   "../../etc/passwd",
					   "0123456789abcdeF",
					   "0123456789abcdef0",
					   "0123456789abcde/" };
	static const struct token token = { { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef } };
	char id[SSH_RECEIVE_ID_SIZE];
	struct error err = { 0 };
	(void)state;
	ssh_receive_id(&token, id);
	assert_string_equal(id, "0123456789abcdef");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(ssh_receive(server, bad[i], &err), -1);
		assert_int_equal(err.kind, ERROR_CONFIG);
	}
	assert_int_equal(ssh_receive(server, id, &err), -1);
	assert_int_equal(err.kind, ERROR_SYSTEM);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_reports, setup),
		cmocka_unit_test_setup(test_wrong_server, setup),
		cmocka_unit_test_setup(test_wrong_user, setup),
		cmocka_unit_test_setup(test_other_cipher, setup),
		cmocka_unit_test_setup(test_check, setup),
		cmocka_unit_test_setup(test_tool_default, setup),
		cmocka_unit_test_setup(test_sink_fails, setup),
		cmocka_unit_test_setup(test_ids, setup),
	};
	struct error err = { 0 };
	if (argc == 3 && strcmp(argv[1], "receive") == 0)
		return ssh_receive(getenv("LINEFILL_SCRATCH"), argv[2], &err) < 0;
	return cmocka_run_group_tests(tests, setup_all, teardown_all);
}
