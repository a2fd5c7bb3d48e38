/* ssh-none, and ssh to the same server, against a private proftpd as the engine starts it: whole
 * trees, what is negotiated, and whether the wire can be read. As root it is all done once more as
 * an ordinary user. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/agent/workspace.h"
#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/services/ssh_client.h"
#include "harness/services/ssh_kind.h"
#include "harness/services/ssh_server.h"
#include "tests/contract/pair.h"
#include "tests/contract/trees.h"
#include "tests/lacks.h"
#include "tests/unit/processes.h"
#include "tests/unit/transports/wire_tap.h"
#include "transports/registry.h"
#include "transports/ssh/ssh_session.h"

#define CIPHERS      "aes128-ctr,aes192-ctr,aes256-ctr,aes128-cbc,aes256-cbc,none"
#define MACS         "hmac-sha2-256,hmac-sha2-512,hmac-sha1,none"
#define MARKER       "a text that is easily found again"
#define MARKED_FILE  (2u << 20)
#define ORDINARY_UID 65534

static char *base, *source_root, *sink_root, *scratch;
static struct workspace source, sink;
static struct ssh_server server;
static struct ssh_client client;
static struct wire_tap tap;
static bool ready;

static char *make_folder(const char *name)
{
	char *path = path_join(base, name);
	assert_int_equal(mkdir(path, 0700), 0);
	return path;
}

static int start_server(struct error *err)
{
	AUTO_FREE char *key = NULL;
	if (ssh_client_key(source.scratch, &key, within(60), err) < 0)
		return -1;
	const struct ssh_server_spec spec = {
		.kind = ssh_kind_find("proftpd"),
		.host = "127.0.0.1",
		.authorized_key = key,
		.cipher = CIPHERS,
		.mac = MACS,
		.scratch = sink.scratch,
		.id = sink.id,
		.linefill = "/linefill",
	};
	return ssh_server_start(&server, &spec, within(60), err);
}

static int start_all(struct error *err)
{
	workspace_sweep(); /* after a test that was killed */
	if (ssh_session_check("none", "none", err) < 0 ||
	    workspace_open(&source, "source", err) < 0 || workspace_open(&sink, "sink", err) < 0 ||
	    start_server(err) < 0 || wire_tap_start(&tap, server.keeper.port, MARKER, err) < 0)
		return -1;
	const struct ssh_server_facts facts = {
		.kind = server.kind,
		.host = "127.0.0.1",
		.port = tap.port,
		.user = server.user,
		.host_key = server.host_key,
		.cipher = "aes128-ctr",
		.mac = "hmac-sha2-256",
		.program = "/linefill",
		.scratch = sink.scratch,
	};
	if (ssh_client_setup(&client, source.scratch, &facts, err) < 0)
		return -1;
	return ssh_client_preflight(&client, within(60), err);
}

static int setup_all(void **state)
{
	struct error err = { 0 };
	(void)state;
	source = sink = WORKSPACE_NONE;
	server.keeper = SERVICE_NONE;
	base = tree_temporary();
	source_root = make_folder("source");
	sink_root = make_folder("sink");
	scratch = make_folder("scratch");
	ready = start_all(&err) == 0;
	if (ready)
		return 0;
	test_lacks("ssh-none", err.message);
	return err.kind == ERROR_UNAVAILABLE ? 0 : -1;
}

static int teardown_all(void **state)
{
	(void)state;
	if (ready)
		wire_tap_stop(&tap);
	ssh_server_stop(&server);
	ssh_client_free(&client);
	workspace_close(&source);
	workspace_close(&sink);
	assert_int_equal(folder_remove(base, NULL), 0);
	free(source_root);
	free(sink_root);
	free(scratch);
	free(base);
	return 0;
}

static void scan(const char *root, struct manifest *manifest)
{
	const struct manifest_scan_options options = { .deadline_ns = CLOCK_NEVER };
	struct error err = { 0 };
	if (manifest_scan(manifest, root, &options, &err) < 0)
		fail_msg("%s", err.message);
}

/* ---- one copy ---- */

struct way {
	const char *transport, *options, *cipher, *mac;
};

static const struct way ways[] = {
	{ "ssh-none", "", "none", "none" },
	{ "ssh-none", "mac=hmac-sha2-256", "none", "hmac-sha2-256" },
	{ "ssh", "server=proftpd", "aes128-ctr", "hmac-sha2-256" },
	{ "ssh", "server=proftpd,compress=yes", "aes128-ctr", "hmac-sha2-256" },
	{ "ssh", "server=proftpd,cipher=none,mac=none", "none", "none" },
	{ "ssh", "server=proftpd,cipher=none,mac=hmac-sha2-512", "none", "hmac-sha2-512" },
	{ "ssh", "server=proftpd,cipher=aes192-ctr,mac=hmac-sha1", "aes192-ctr", "hmac-sha1" },
	{ "ssh", "server=proftpd,cipher=aes256-ctr,mac=none", "aes256-ctr", "none" },
	{ "ssh", "server=proftpd,cipher=aes128-cbc", "aes128-cbc", "hmac-sha2-256" },
	{ "ssh", "server=proftpd,cipher=aes256-cbc,mac=hmac-sha2-512", "aes256-cbc",
	  "hmac-sha2-512" },
};

static void copy(const struct way *way, const struct manifest *files, enum preserve preserve)
{
	struct pair_result result;
	struct manifest made = { 0 };
	struct error err = { 0 };
	const struct pair_spec spec = {
		.transport = transport_find(way->transport),
		.options = way->options,
		.source_root = source_root,
		.sink_root = sink_root,
		.scratch = scratch,
		.files = files,
		.service = &client.service,
		.preserve = preserve,
	};
	assert_int_equal(folder_clear(sink_root, &err), 0);
	if (pair_run(&spec, &result, &err) < 0)
		fail_msg("%s:%s: %s", way->transport, way->options, err.message);
	assert_string_equal(result.source.report.cipher, way->cipher);
	assert_string_equal(result.source.report.mac, way->mac);
	assert_int_equal(result.source.progress.bytes, files->bytes);
	scan(sink_root, &made);
	if (manifest_compare(files, &made, preserve, &err) < 0)
		fail_msg("%s:%s, preserve=%s: %s", way->transport, way->options,
			 preserve_names[preserve], err.message);
	manifest_free(&made);
}

/* ---- the tests ---- */

static void test_tree(void **state)
{
	const struct tree_case *tree = *state;
	struct manifest files = { 0 };
	struct error err = { 0 };
	if (!ready)
		skip();
	assert_int_equal(folder_clear(source_root, &err), 0);
	AUTO_FD root = tree_open(source_root);
	tree->make(root);
	scan(source_root, &files);
	copy(&ways[0], &files, PRESERVE_MODE);
	copy(&ways[2], &files, PRESERVE_MODE);
	manifest_free(&files);
}

static void test_preserve(void **state)
{
	struct manifest files = { 0 };
	struct error err = { 0 };
	(void)state;
	if (!ready)
		skip();
	assert_int_equal(folder_clear(source_root, &err), 0);
	AUTO_FD root = tree_open(source_root);
	tree_modes(root);
	scan(source_root, &files);
	for (int preserve = 0; preserve_names[preserve]; preserve++)
		copy(&ways[0], &files, (enum preserve)preserve);
	manifest_free(&files);
}

static void make_marked_file(void)
{
	AUTO_TEXT text = { 0 };
	AUTO_FREE char *path = path_join(source_root, "marked");
	struct error err = { 0 };
	while (text.length < MARKED_FILE)
		text_add(&text, MARKER);
	assert_int_equal(file_write_all(path, text.data, text.length, 0644, &err), 0);
}

/* Plain for none, whoever asks for it, and for nothing else. */
static void test_wire(void **state)
{
	struct manifest files = { 0 };
	struct error err = { 0 };
	(void)state;
	if (!ready)
		skip();
	assert_int_equal(folder_clear(source_root, &err), 0);
	make_marked_file();
	scan(source_root, &files);
	const uint64_t markers = files.bytes / strlen(MARKER);
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		atomic_store(&tap.counts->seen, 0);
		atomic_store(&tap.counts->bytes, 0);
		copy(&ways[i], &files, PRESERVE_MODE);
		uint64_t seen = atomic_load(&tap.counts->seen);
		uint64_t bytes = atomic_load(&tap.counts->bytes);
		/* A packet's header falls into one of a thousand; compression makes few bytes. */
		if (strcmp(ways[i].cipher, "none") == 0)
			assert_true(seen > markers / 100 * 99 && seen <= markers);
		else
			assert_int_equal(seen, 0);
		assert_int_equal(bytes < files.bytes, strstr(ways[i].options, "compress") != NULL);
	}
	manifest_free(&files);
}

static void test_plain(void **state)
{
	(void)state;
	const struct transport *none = transport_find("ssh-none");
	const struct transport *ssh = transport_find("ssh");
	struct error err = { 0 };
	AUTO_FREE void *options = calloc(1, ssh->options_size);
	assert_non_null(options);
	assert_true(none->plain);
	assert_int_equal(option_defaults(ssh->options, options, &err), 0);
	assert_false(ssh->plain || option_is_plain(ssh->options, options));
	assert_int_equal(option_set_all(ssh->options, options, "cipher=none", &err), 0);
	assert_true(option_is_plain(ssh->options, options));
	/* OpenSSH has no such cipher, and none is not hidden in a list. */
	assert_int_equal(ssh->check(ssh, options, PRESERVE_MODE, &err), -1);
	assert_int_equal(err.kind, ERROR_UNSUPPORTED);
	assert_int_equal(option_set_all(ssh->options, options, "cipher=none,aes128-ctr", &err), 0);
	assert_int_equal(ssh->check(ssh, options, PRESERVE_MODE, &err), -1);
	assert_int_equal(err.kind, ERROR_CONFIG);
}

/* What the server cannot do is an error with its words, not a short copy. */
static void test_refused(void **state)
{
	struct manifest files = { 0 };
	struct pair_result result;
	struct error err = { 0 };
	(void)state;
	if (!ready)
		skip();
	assert_int_equal(folder_clear(source_root, &err) | folder_clear(sink_root, &err), 0);
	make_marked_file();
	scan(source_root, &files);
	AUTO_FREE char *blocked = path_join(sink_root, "marked");
	assert_int_equal(mkdir(blocked, 0700), 0);
	const struct pair_spec spec = {
		.transport = transport_find("ssh-none"),
		.source_root = source_root,
		.sink_root = sink_root,
		.scratch = scratch,
		.files = &files,
		.service = &client.service,
		.seconds = 20,
	};
	assert_int_equal(pair_run(&spec, &result, &err), -1);
	assert_int_equal(result.source.error.kind, ERROR_PEER);
	assert_non_null(strstr(result.source.error.message, "scp server"));
	manifest_free(&files);
}

static int run_all(void)
{
	struct CMUnitTest tests[32] = { 0 };
	size_t count = 0;
	for (const struct tree_case *tree = tree_cases; tree->name; tree++)
		tests[count++] = (struct CMUnitTest){ .name = tree->name,
						      .test_func = test_tree,
						      .initial_state = (void *)(uintptr_t)tree };
	tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_preserve);
	tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_wire);
	tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_plain);
	tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_refused);
	return cmocka_run_group_tests_name("ssh_none", tests, setup_all, teardown_all);
}

/* In a process of its own. */
static int run_as_ordinary_user(void)
{
	int status = -1;
	pid_t pid = fork();
	if (pid == 0) {
		if (setgroups(0, NULL) < 0 || setgid(ORDINARY_UID) < 0 || setuid(ORDINARY_UID) < 0)
			_exit(1);
		exit(run_all() != 0);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
}

int main(void)
{
	int failures = geteuid() == 0 ? run_as_ordinary_user() : 0;
	return failures != 0 || run_all() != 0;
}
