/* Every transport in the registry, tools included, copies every tree within its caps. A new
 * transport is tested without a line here. Those that need an sshd get a private one; where there
 * is none they are named and passed over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/files.h"
#include "tests/contract/pair.h"
#include "tests/contract/trees.h"
#include "tests/lacks.h"
#include "tests/unit/transports/private_sshd.h"
#include "transports/registry.h"
#include "transports/ssh/ssh_receive.h"
#include "transports/tool/tool.h"

static char *base; /* private folder of this program */
static char *source_root, *sink_root, *scratch;
static struct private_sshd sshd;
static bool have_sshd;

static char *make_folder(const char *name)
{
	char *path = path_join(base, name);
	assert_int_equal(mkdir(path, 0700), 0);
	return path;
}

static void tool_found(struct transport *transport, void *context)
{
	struct error err = { 0 };
	(void)context;
	if (transport_registry_add(transport, &err) < 0)
		fail_msg("%s", err.message);
}

/* README's example, which is built into this program alone. */
extern const struct transport transport_plain;

static void tool_failed(const char *path, const struct error *err, void *context)
{
	(void)context;
	fail_msg("%s: %s", path, err->message);
}

static int setup(void **state)
{
	static const struct tool_visitor visitor = { .found = tool_found, .failed = tool_failed };
	struct error err = { 0 };
	(void)state;
	if (transport_registry_add(&transport_plain, &err) < 0)
		fail_msg("%s", err.message);
	base = tree_temporary();
	source_root = make_folder("source");
	sink_root = make_folder("sink");
	scratch = make_folder("scratch");
	AUTO_FREE char *server = make_folder("server");
	if (tool_load_folder(TOOLS_FOLDER, &visitor, &err) < 0)
		fail_msg("%s", err.message);
	have_sshd = private_sshd_start(&sshd, server, &err) == 0;
	if (!have_sshd)
		test_lacks("sshd", err.message);
	return 0;
}

static int teardown(void **state)
{
	struct error err = { 0 };
	(void)state;
	private_sshd_stop(&sshd);
	if (folder_remove(base, &err) < 0)
		print_message("%s\n", err.message);
	for (const struct transport *const *all = transport_all(); *all; all++)
		if (tool_is(*all))
			tool_free((struct transport *)*all);
	free(source_root);
	free(sink_root);
	free(scratch);
	free(base);
	return 0;
}

/* Can this transport run here? Services it needs must be there; others have no driver in this
 * program. */
static bool is_runnable(const struct transport *transport)
{
	struct error err = { 0 };
	for (const char *const *need = transport->needs; need && *need; need++)
		if (strcmp(*need, "sshd") != 0 || !have_sshd)
			return false;
	for (int side = 0; side < 2; side++) {
		struct probe probe = { .side = (enum xfer_side)side };
		if (transport->probe(transport, &probe, &err) == 0)
			continue;
		print_message("%s passed over: %s\n", transport->name, err.message);
		return false;
	}
	return true;
}

/* A transport that copies only on request is asked to. */
static const char *options_of(const struct transport *transport)
{
	return option_find(transport->options, "copy") ? "copy=yes" : NULL;
}

static void scan(const char *root, struct manifest *manifest)
{
	const struct manifest_scan_options options = { .deadline_ns = CLOCK_NEVER };
	struct error err = { 0 };
	if (manifest_scan(manifest, root, &options, &err) < 0)
		fail_msg("%s", err.message);
}

static void clear(const char *root)
{
	struct error err = { 0 };
	if (folder_clear(root, &err) < 0)
		fail_msg("%s", err.message);
}

static void check_copy(const struct transport *transport, const struct manifest *files,
		       enum preserve preserve)
{
	struct manifest copy = { 0 };
	struct error err = { 0 };
	scan(sink_root, &copy);
	if (manifest_compare(files, &copy, preserve, &err) < 0)
		fail_msg("%s, preserve=%s: %s", transport->name, preserve_names[preserve],
			 err.message);
	if (transport->caps & CAP_HOLES && copy.hole_bytes < files->hole_bytes)
		fail_msg("%s: %llu bytes in holes became %llu", transport->name,
			 (unsigned long long)files->hole_bytes,
			 (unsigned long long)copy.hole_bytes);
	manifest_free(&copy);
}

static void check_counts(const struct transport *transport, const struct manifest *files,
			 const struct pair_result *result)
{
	if (!(transport->caps & CAP_TWO_ENDED))
		return;
	if (result->sink.progress.bytes != files->bytes)
		fail_msg("%s: counted %llu bytes at the sink, not %llu", transport->name,
			 (unsigned long long)result->sink.progress.bytes,
			 (unsigned long long)files->bytes);
	if ((result->sink.progress.first_byte_ns != 0) != (files->bytes > 0))
		fail_msg("%s: the first byte's time is wrong", transport->name);
}

/* A tool that moves no files. Ours do so only on request. */
static bool counts_only(const struct transport *transport)
{
	return transport->caps & CAP_MEMORY && transport->caps & CAP_TOOL;
}

/* What arrived was counted, and nothing was written. */
static void check_memory(const struct transport *transport, const struct manifest *files,
			 const struct pair_result *result)
{
	bool empty = false;
	assert_int_equal(folder_is_empty(sink_root, &empty, NULL), 0);
	assert_true(empty);
	if (result->sink.report.counted_bytes < files->bytes)
		fail_msg("%s: counted %llu bytes at the sink, not %llu", transport->name,
			 (unsigned long long)result->sink.report.counted_bytes,
			 (unsigned long long)files->bytes);
}

/* Can it be asked for this at all? What cannot must say so. */
static bool is_asked(const struct transport *transport, const struct manifest *files,
		     enum preserve preserve)
{
	struct error why = { 0 };
	AUTO_FREE void *options = calloc(1, transport->options_size + 1);
	assert_non_null(options);
	if (option_defaults(transport->options, options, &why) < 0)
		fail_msg("%s: %s", transport->name, why.message);
	if (counts_only(transport))
		return files->bytes > 0;
	if (transport_can_carry(transport, files, &why) == 0 &&
	    (!transport->check || transport->check(transport, options, preserve, &why) == 0))
		return true;
	assert_int_equal(why.kind, ERROR_UNSUPPORTED);
	assert_false(transport->caps & CAP_TWO_ENDED);
	return false;
}

static void copy_once(const struct transport *transport, const struct manifest *files,
		      enum preserve preserve)
{
	struct pair_result result;
	struct error err = { 0 };
	const struct pair_spec spec = {
		.transport = transport,
		.options = options_of(transport),
		.source_root = source_root,
		.sink_root = sink_root,
		.scratch = scratch,
		.files = files,
		.service = transport->needs ? &sshd.service : NULL,
		.preserve = preserve,
	};
	clear(sink_root);
	clear(scratch);
	if (pair_run(&spec, &result, &err) < 0)
		fail_msg("%s, preserve=%s: %s", transport->name, preserve_names[preserve],
			 err.message);
	if (counts_only(transport)) {
		check_memory(transport, files, &result);
		return;
	}
	check_copy(transport, files, preserve);
	check_counts(transport, files, &result);
}

static void test_tree(void **state)
{
	const struct tree_case *tree = *state;
	struct manifest files = { 0 };
	clear(source_root);
	AUTO_FD root = tree_open(source_root);
	tree->make(root);
	scan(source_root, &files);
	for (const struct transport *const *all = transport_all(); *all; all++) {
		if (!is_runnable(*all))
			continue;
		if (is_asked(*all, &files, PRESERVE_MODE))
			copy_once(*all, &files, PRESERVE_MODE);
		else if (is_asked(*all, &files, PRESERVE_CONTENT))
			copy_once(*all, &files, PRESERVE_CONTENT);
	}
	manifest_free(&files);
}

static void test_preserve(void **state)
{
	struct manifest files = { 0 };
	(void)state;
	clear(source_root);
	AUTO_FD root = tree_open(source_root);
	tree_modes(root);
	scan(source_root, &files);
	for (const struct transport *const *all = transport_all(); *all; all++)
		for (int preserve = 0; preserve_names[preserve] && is_runnable(*all); preserve++)
			if (is_asked(*all, &files, (enum preserve)preserve))
				copy_once(*all, &files, (enum preserve)preserve);
	manifest_free(&files);
}

/* What every transport must have, so that it can be listed, planned and run. */
static void test_descriptions(void **state)
{
	(void)state;
	for (const struct transport *const *all = transport_all(); *all; all++) {
		const struct transport *transport = *all;
		struct error err = { 0 };
		AUTO_FREE void *options = calloc(1, transport->options_size + 1);
		assert_non_null(options);
		assert_true(transport->name[0] && transport->summary[0]);
		assert_ptr_equal(transport_find(transport->name), transport);
		assert_non_null(transport->probe);
		assert_non_null(transport->prepare);
		assert_non_null(transport->cleanup);
		assert_non_null(transport->driver == XFER_SOURCE ? transport->send
								 : transport->receive);
		if (option_defaults(transport->options, options, &err) < 0)
			fail_msg("%s: %s", transport->name, err.message);
		/* The least that can be asked for. */
		if (transport->check &&
		    transport->check(transport, options, PRESERVE_CONTENT, &err) < 0)
			fail_msg("%s: %s", transport->name, err.message);
	}
}

/* Our own listeners let nobody in who has another token, and no byte of such a run is written. */
static void test_wrong_token(void **state)
{
	struct manifest files = { 0 };
	(void)state;
	clear(source_root);
	AUTO_FD root = tree_open(source_root);
	tree_file(root, "secret", 5000);
	scan(source_root, &files);
	for (const struct transport *const *all = transport_all(); *all; all++) {
		struct pair_result result;
		struct error err = { 0 };
		const struct pair_spec spec = {
			.transport = *all,
			.source_root = source_root,
			.sink_root = sink_root,
			.scratch = scratch,
			.files = &files,
			.seconds = 2,
			.wrong_token = true,
			.service = (*all)->needs ? &sshd.service : NULL,
		};
		bool empty = false;
		if (!((*all)->caps & CAP_TWO_ENDED) || options_of(*all) || !is_runnable(*all))
			continue;
		clear(sink_root);
		if (pair_run(&spec, &result, &err) == 0)
			fail_msg("%s let a wrong token in", (*all)->name);
		if (result.source.error.kind == ERROR_NONE || result.sink.error.kind == ERROR_NONE)
			fail_msg("%s with a wrong token: source '%s' (0x%x), sink '%s' (0x%x)",
				 (*all)->name, result.source.error.message,
				 (unsigned)result.source.wait_status, result.sink.error.message,
				 (unsigned)result.sink.wait_status);
		assert_int_equal(result.source.wait_status | result.sink.wait_status, 0);
		assert_int_equal(folder_is_empty(sink_root, &empty, &err), 0);
		if (!empty)
			fail_msg("%s: a run with a wrong token wrote something", (*all)->name);
	}
	manifest_free(&files);
}

static int run_all(void)
{
	struct CMUnitTest tests[32] = { 0 };
	size_t count = 0;
	tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_descriptions);
	for (const struct tree_case *tree = tree_cases; tree->name; tree++)
		tests[count++] = (struct CMUnitTest){ .name = tree->name,
						      .test_func = test_tree,
						      .initial_state = (void *)(uintptr_t)tree };
	tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_preserve);
	tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_wrong_token);
	return cmocka_run_group_tests_name("contract", tests, setup, teardown);
}

int main(int argc, char **argv)
{
	struct error err = { 0 };
	/* The private sshd starts this program as the receiver. */
	if (argc == 3 && strcmp(argv[1], "receive") == 0)
		return ssh_receive(getenv("LINEFILL_SCRATCH"), argv[2], &err) < 0;
	return run_all();
}
