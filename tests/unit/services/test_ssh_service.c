/* The private OpenSSH server and its client, with the real programs: as root and as an ordinary
 * user. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/agent/workspace.h"
#include "harness/services/ssh_client.h"
#include "harness/services/ssh_kind.h"
#include "harness/services/ssh_server.h"
#include "tests/unit/processes.h"
#include "tests/unit/tree_folder.h"

/* A source's and a sink's workspace, and what runs in them. */
struct both {
	struct workspace source, sink;
	struct ssh_server server;
	struct ssh_client client;
};

static bool open_both(struct both *both, struct error *err)
{
	*both = (struct both){ .source = WORKSPACE_NONE,
			       .sink = WORKSPACE_NONE,
			       .server = { .keeper = SERVICE_NONE } };
	workspace_sweep(); /* after a test that was killed */
	return workspace_open(&both->source, "source", err) == 0 &&
	       workspace_open(&both->sink, "sink", err) == 0;
}

static void close_both(struct both *both)
{
	ssh_server_stop(&both->server);
	ssh_client_free(&both->client);
	workspace_close(&both->source);
	workspace_close(&both->sink);
}

static bool start_server(struct both *both, const char *cipher, const char *mac, struct error *err)
{
	AUTO_FREE char *key = NULL;
	if (ssh_client_key(both->source.scratch, &key, within(60), err) < 0)
		return false;
	const struct ssh_server_spec spec = {
		.kind = ssh_kind_find("sshd"),
		.host = "127.0.0.1",
		.authorized_key = key,
		.cipher = cipher,
		.mac = mac,
		.scratch = both->sink.scratch,
		.id = both->sink.id,
		.linefill = "/opt/line fill/linefill",
	};
	const char *folder = ssh_server_needs_folder(spec.kind);
	if (folder && workspace_hold_folder(&both->sink, folder, err) < 0)
		return false;
	return ssh_server_start(&both->server, &spec, within(60), err) == 0;
}

static struct ssh_server_facts facts_of(const struct both *both, const char *cipher,
					const char *mac)
{
	return (struct ssh_server_facts){
		.kind = both->server.kind,
		.host = "127.0.0.1",
		.port = both->server.keeper.port,
		.user = both->server.user,
		.host_key = both->server.host_key,
		.cipher = cipher,
		.mac = mac,
		.program = "/opt/line fill/linefill",
		.scratch = both->sink.scratch,
	};
}

static bool log_in(struct both *both, const char *cipher, const char *mac, struct error *err)
{
	const struct ssh_server_facts facts = facts_of(both, cipher, mac);
	return ssh_client_setup(&both->client, both->source.scratch, &facts, err) == 0 &&
	       ssh_client_preflight(&both->client, within(60), err) == 0;
}

static bool start_both(struct both *both, const char *cipher, const char *mac, struct error *err)
{
	return open_both(both, err) && start_server(both, cipher, mac, err) &&
	       log_in(both, cipher, mac, err);
}

static bool run_remote(const struct both *both, const char *command, struct text *output)
{
	const char *argv[] = { "ssh",      "-F",    both->client.service.ssh_config,
			       "any-name", command, NULL };
	const struct child_spec spec = { .argv = argv, .input = -1 };
	int status = -1;
	return child_capture(&spec, within(60), 100000, output, &status, NULL) == 0 && status == 0;
}

static bool report(const struct error *err)
{
	print_error("%s\n", err->message);
	return false;
}

static bool ciphers_are_as_asked(void)
{
	static const struct {
		const char *cipher, *mac, *negotiated, *negotiated_mac;
	} cases[] = {
		{ "aes128-ctr", "hmac-sha2-256", "aes128-ctr", "hmac-sha2-256" },
		{ "aes256-ctr,aes128-ctr", "hmac-sha2-512", "aes256-ctr", "hmac-sha2-512" },
		{ "aes128-gcm@openssh.com", "", "aes128-gcm@openssh.com", "implicit" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct both both;
		struct error err = { 0 };
		bool fine = start_both(&both, cases[i].cipher, cases[i].mac, &err);
		if (!fine)
			report(&err);
		fine = fine && strcmp(both.client.negotiated_cipher, cases[i].negotiated) == 0 &&
		       strcmp(both.client.negotiated_mac, cases[i].negotiated_mac) == 0 &&
		       strncmp(both.server.version, "OpenSSH_", 8) == 0;
		close_both(&both);
		if (!fine || !processes_none())
			return false;
	}
	return true;
}

/* What a session sees, and that nothing of the user's own has a say in it. */
static bool session_is_private(void)
{
	struct both both;
	struct error err = { 0 };
	AUTO_TEXT output = { 0 };
	AUTO_TEXT wanted = { 0 };
	if (!start_both(&both, "aes128-ctr", "hmac-sha2-256", &err)) {
		close_both(&both);
		return report(&err);
	}
	text_addf(&wanted, "%s/home|sink|/opt/line fill/linefill|%s|C\n", both.sink.scratch,
		  both.sink.scratch);
	bool fine = run_remote(&both,
			       "echo \"$HOME|$LINEFILL_RUN|$LINEFILL_PROGRAM|$LINEFILL_SCRATCH|"
			       "$LC_ALL\"",
			       &output) &&
		    strcmp(text_string(&output), text_string(&wanted)) == 0;
	if (!fine)
		print_error("%s", text_string(&output));
	/* Stopping is done while a session runs. */
	const char *argv[] = {
		"ssh", "-F", both.client.service.ssh_config, "any-name", "echo here; sleep 1000",
		NULL
	};
	int ends[2];
	char here[5];
	struct child child = CHILD_NONE;
	fine = fine && pipe2(ends, O_CLOEXEC) == 0;
	const struct child_spec spec = {
		.argv = argv, .input = -1, .output = ends[1], .error = -1
	};
	fine = fine && child_start(&spec, &child, &err) == 0 &&
	       io_read_full(ends[0], here, sizeof(here), within(60), &err) == 0;
	close(ends[0]);
	close(ends[1]);
	close_both(&both);
	child_end(&child);
	/* The agent ends what sessions left. */
	child_end_strays(NULL, 0);
	return fine && processes_none();
}

static bool workspaces_are_gone(void)
{
	bool empty = false;
	return folder_is_empty(getenv("TMPDIR"), &empty, NULL) == 0 && empty;
}

static bool all_checks(void)
{
	return ciphers_are_as_asked() && session_is_private() && workspaces_are_gone();
}

static int make_folder(void **state)
{
	return tree_folder_make(state) == 0 && mkdir("tmp", 0777) == 0 &&
			       chmod("tmp", 01777) == 0 && chdir("tmp") == 0 &&
			       setenv("TMPDIR", tree_folder, 1) == 0
		       ? 0
		       : -1;
}

static bool use_own_tmp(void)
{
	AUTO_FREE char *tmp = path_join(tree_folder, "tmp");
	return setenv("TMPDIR", tmp, 1) == 0;
}

static void test_as_we_are(void **state)
{
	(void)state;
	assert_true(use_own_tmp());
	assert_true(all_checks());
}

/* sshd lets nobody in whose shell is none. */
static const struct passwd *ordinary_user(void)
{
	const struct passwd *found = NULL;
	setpwent();
	while ((found = getpwent()))
		if (found->pw_uid != 0 && access(found->pw_shell, X_OK) == 0 &&
		    strstr(found->pw_shell, "sh") && !strstr(found->pw_shell, "nologin"))
			break;
	return found;
}

static void test_as_an_ordinary_user(void **state)
{
	(void)state;
	const struct passwd *user = ordinary_user();
	if (geteuid() != 0 || !user)
		skip(); /* no root: test_as_we_are has done it; or nobody has a shell here */
	pid_t pid = fork();
	if (pid == 0) {
		bool fine = setgroups(0, NULL) == 0 && setgid(user->pw_gid) == 0 &&
			    setuid(user->pw_uid) == 0 && child_adopt_orphans(NULL) == 0 &&
			    use_own_tmp() && all_checks();
		_exit(fine ? 0 : 1);
	}
	int status = -1;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_refusals(void **state)
{
	(void)state;
	struct both both;
	struct error err = { 0 };
	assert_true(use_own_tmp());
	assert_true(start_both(&both, "aes128-ctr", "hmac-sha2-256", &err));
	/* No cipher in common. */
	assert_false(log_in(&both, "aes256-ctr", "hmac-sha2-256", &err));
	assert_int_equal(err.kind, ERROR_TOOL);
	assert_non_null(strstr(err.message, "refused a login"));
	/* One that this ssh does not have: its own words, not what follows from them. */
	assert_false(log_in(&both, "rot13", "hmac-sha2-256", &err));
	assert_non_null(strstr(err.message, "cipher spec 'rot13'"));
	assert_null(strstr(err.message, "terminating"));
	/* A key that is not authorised. */
	AUTO_FREE char *key = path_join(both.source.scratch, "client_key");
	AUTO_FREE char *public_key = path_join(both.source.scratch, "client_key.pub");
	assert_int_equal(unlink(key), 0);
	assert_int_equal(unlink(public_key), 0);
	assert_int_equal(ssh_make_key(key, within(60), &err), 0);
	assert_false(log_in(&both, "aes128-ctr", "hmac-sha2-256", &err));
	assert_int_equal(err.kind, ERROR_TOOL);
	assert_non_null(strstr(err.message, "Permission denied"));
	/* Another server's key. */
	both.server.host_key[strlen(both.server.host_key) - 12] ^= 1;
	assert_false(log_in(&both, "aes128-ctr", "hmac-sha2-256", &err));
	assert_int_equal(err.kind, ERROR_TOOL);
	AUTO_TEXT tail = { 0 };
	ssh_server_log_tail(&both.server, &tail);
	assert_true(tail.length > 0 && tail.length <= 4096);
	close_both(&both);
	assert_true(workspaces_are_gone());
}

static void test_bad_specs(void **state)
{
	(void)state;
	static const struct {
		const char *cipher, *mac, *linefill;
		enum error_kind kind;
	} cases[] = {
		{ "aes128-ctr", "", "/a\"b", ERROR_CONFIG },
		{ "aes128-ctr", "", "/a\nb", ERROR_CONFIG },
		{ "none", "", "/linefill", ERROR_UNSUPPORTED },
		{ "", "none", "/linefill", ERROR_UNSUPPORTED },
	};
	assert_true(use_own_tmp());
	assert_null(ssh_kind_find("telnetd"));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct both both;
		struct error err = { 0 };
		assert_true(open_both(&both, &err));
		const struct ssh_server_spec spec = { .kind = ssh_kind_find("sshd"),
						      .host = "127.0.0.1",
						      .authorized_key = "x",
						      .cipher = cases[i].cipher,
						      .mac = cases[i].mac,
						      .scratch = both.sink.scratch,
						      .id = both.sink.id,
						      .linefill = cases[i].linefill };
		assert_int_equal(ssh_server_start(&both.server, &spec, within(60), &err), -1);
		assert_int_equal(err.kind, cases[i].kind);
		close_both(&both);
	}
	assert_true(workspaces_are_gone());
}

static void test_log_of_the_client(void **state)
{
	(void)state;
	static const struct {
		const char *log, *cipher, *mac; /* NULL: refused */
	} cases[] = {
		{ "debug1: kex: server->client cipher: a MAC: b compression: none\n"
		  "debug1: kex: client->server cipher: c MAC: d compression: none\n",
		  "c", "d" },
		{ "kex: client->server cipher: chacha20-poly1305@openssh.com MAC: <implicit> x",
		  "chacha20-poly1305@openssh.com", "implicit" },
		/* A later exchange counts: HPN-SSH switches so. */
		{ "kex: client->server cipher: a MAC: b\nkex: client->server cipher: none MAC: c\n",
		  "none", "c" },
		{ "", NULL, NULL },
		{ "kex: client->server cipher: ", NULL, NULL },
		{ "kex: client->server cipher: a", NULL, NULL },
		{ "kex: client->server cipher: a MAC: ", NULL, NULL },
		{ "kex: server->client cipher: a MAC: b", NULL, NULL },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ssh_client client = { 0 };
		struct error err = { 0 };
		int outcome = ssh_client_parse_log(cases[i].log, &client, &err);
		assert_int_equal(outcome, cases[i].cipher ? 0 : -1);
		if (!cases[i].cipher) {
			assert_int_equal(err.kind, ERROR_TOOL);
			continue;
		}
		assert_string_equal(client.negotiated_cipher, cases[i].cipher);
		assert_string_equal(client.negotiated_mac, cases[i].mac);
	}
	/* Names of any length are cut to fit. */
	AUTO_TEXT log = { 0 };
	struct ssh_client client = { 0 };
	text_add(&log, "kex: client->server cipher: ");
	for (int i = 0; i < 1000; i++)
		text_add(&log, "x");
	text_add(&log, " MAC: y");
	assert_int_equal(ssh_client_parse_log(text_string(&log), &client, NULL), -1);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, tree_folder_drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FOLDER(test_as_we_are),
		IN_FOLDER(test_as_an_ordinary_user),
		IN_FOLDER(test_refusals),
		IN_FOLDER(test_bad_specs),
		cmocka_unit_test(test_log_of_the_client),
	};
	return cmocka_run_group_tests(tests, processes_adopt, processes_check);
}
