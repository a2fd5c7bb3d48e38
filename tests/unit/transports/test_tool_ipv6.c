/* Every shipped tool that is installed copies a small tree to ::1. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/files.h"
#include "harness/base/net.h"
#include "tests/contract/pair.h"
#include "tests/contract/trees.h"
#include "tests/unit/transports/private_sshd.h"
#include "transports/tool/tool.h"
#include "transports/wire/server_process.h"

#define HOST "::1"

static char *base;
static struct private_sshd sshd;
static struct manifest files;

static bool is_runnable(const struct transport *transport)
{
	struct error err = { 0 };
	const char *need = transport->needs ? transport->needs[0] : NULL;
	if (need && strcmp(need, "sshd") != 0)
		return false;
	for (int side = 0; side < 2; side++) {
		struct probe probe = { .side = (enum xfer_side)side };
		if (transport->probe(transport, &probe, &err) < 0)
			return false;
	}
	return true;
}

static void scan(const char *root, struct manifest *manifest)
{
	const struct manifest_scan_options options = { .deadline_ns = CLOCK_NEVER };
	struct error err = { 0 };
	if (manifest_scan(manifest, root, &options, &err) < 0)
		fail_msg("%s", err.message);
}

static void check_result(const struct transport *transport, const struct pair_result *result,
			 const char *sink_root)
{
	struct manifest copy = { 0 };
	struct error err = { 0 };
	if (transport->caps & CAP_MEMORY) {
		assert_true(result->sink.report.counted_bytes >= files.bytes);
		return;
	}
	scan(sink_root, &copy);
	if (manifest_compare(&files, &copy, PRESERVE_CONTENT, &err) < 0)
		fail_msg("%s: %s", transport->name, err.message);
	manifest_free(&copy);
}

static void copy_once(const struct transport *transport)
{
	struct pair_result result;
	struct error err = { 0 };
	AUTO_FREE char *source = path_join(base, "source");
	AUTO_FREE char *sink = path_join(base, "sink");
	AUTO_FREE char *scratch = path_join(base, "scratch");
	const struct pair_spec spec = {
		.transport = transport,
		.source_root = source,
		.sink_root = sink,
		.scratch = scratch,
		.files = &files,
		.host = HOST,
		.service = transport->needs ? &sshd.service : NULL,
		.seconds = 30,
	};
	assert_int_equal(folder_clear(sink, &err), 0);
	if (pair_run(&spec, &result, &err) < 0)
		fail_msg("%s: %s", transport->name, err.message);
	check_result(transport, &result, sink);
}

static void tool_found(struct transport *transport, void *context)
{
	size_t *count = context;
	if (is_runnable(transport)) {
		copy_once(transport);
		(*count)++;
	}
	tool_free(transport);
}

static void tool_failed(const char *path, const struct error *err, void *context)
{
	(void)path;
	(void)context;
	fail_msg("%s", err->message);
}

static void test_every_tool(void **state)
{
	size_t count = 0;
	const struct tool_visitor visitor = { .found = tool_found,
					      .failed = tool_failed,
					      .context = &count };
	struct error err = { 0 };
	(void)state;
	assert_int_equal(tool_load_folder(TOOLS_FOLDER, &visitor, &err), 0);
	assert_true(count > 0);
}

static int setup(void **state)
{
	static const char *const names[] = { "source", "sink", "scratch", "server" };
	struct error err = { 0 };
	uint16_t port = 0;
	(void)state;
	base = tree_temporary();
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		AUTO_FREE char *path = path_join(base, names[i]);
		if (mkdir(path, 0700) < 0)
			return -1;
	}
	AUTO_FREE char *source = path_join(base, "source");
	AUTO_FREE char *server = path_join(base, "server");
	AUTO_FD root = tree_open(source);
	tree_file(root, "file", 70000);
	scan(source, &files);
	if (net_free_ports(HOST, 1, &port, &err) < 0) {
		print_message("there is no IPv6 here: %s\n", err.message);
		exit(0);
	}
	if (private_sshd_start_at(&sshd, HOST, server, &err) < 0)
		fail_msg("%s", err.message);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	private_sshd_stop(&sshd);
	manifest_free(&files);
	int result = folder_remove(base, NULL);
	free(base);
	return result;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_every_tool) };
	return cmocka_run_group_tests_name("tool_ipv6", tests, setup, teardown);
}
