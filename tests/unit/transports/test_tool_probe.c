/* What a tool's probe looks for at each end, and what it tells. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/text.h"
#include "tests/unit/transports/tool_folders.h"
#include "transports/tool/tool.h"

static struct tool_folders folders;

static void test_probe(void **state)
{
	(void)state;
	static const struct {
		const char *file, *version, *message;
	} cases[] = {
		{ "[tool]\nrun = sh\n", "", NULL },
		{ "[tool]\nrun = sh\nprobe = sh -c 'echo x; echo v1.2 >&2'\nversion = v([0-9.]+)\n",
		  "1.2", NULL },
		{ "[tool]\nrun = no-such-program\n", NULL, "no-such-program: not found" },
		{ "[tool]\nrun = sh\ninto = no-such-program\n", NULL,
		  "no-such-program: not found" },
		{ "[tool]\nrun = sh\nprobe = sh -c 'exit 127'\n", NULL,
		  "probe sh: exit status 127" },
		{ "[tool]\nrun = sh\nprobe = no-such-program\n", NULL,
		  "no-such-program: not found" },
		{ "[tool]\nrun = sh\nprobe = sh -c 'echo v1'\nversion = w([0-9.]+)\n", NULL,
		  "the version pattern does not match what the probe printed: v1" },
		{ "[tool]\nrun = {note}\n[option note]\ntype = text\n", "", NULL },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct transport *transport = tool_of(cases[i].file);
		struct probe probe = { .version = "old" };
		struct error err = { 0 };
		int result = transport->probe(transport, &probe, &err);
		assert_int_equal(result, cases[i].message ? -1 : 0);
		if (cases[i].message) {
			assert_string_equal(err.message, cases[i].message);
			assert_int_equal(err.kind, ERROR_UNAVAILABLE);
		} else {
			assert_string_equal(probe.version, cases[i].version);
		}
		tool_free(transport);
	}
}

/* The programs of an end by name, in order. */
static void name_programs(const struct probe *probe, struct text *names)
{
	for (size_t i = 0; i < probe->program_count; i++) {
		assert_int_equal(probe->programs[i].path[0], '/');
		text_addf(names, "%s%s", i ? " " : "", probe->programs[i].name);
	}
}

/* Each end is asked for what runs there, and for nothing else. */
static void test_probe_of_each_end(void **state)
{
	(void)state;
	static const struct {
		const char *file;
		const char *driver, *listener; /* the programs, or what is missing */
		const char *versions[2];       /* of driver and listener */
	} cases[] = {
		{ "run = cat\nprograms = sh\nserve = env\nserve_into = tail\n",
		  "cat sh",
		  "env tail",
		  { "", "" } },
		{ "run = cat\ninto = head\nserve = no-such-program\n",
		  "cat head",
		  "no-such-program: not found",
		  { "", NULL } },
		{ "run = no-such-program\nserve = env\n",
		  "no-such-program: not found",
		  "env",
		  { NULL, "" } },
		/* Its version where it runs; else the one of what runs there, where that is known.
		 */
		{ "run = sh\nserve = cat\nprobe = sh -c 'echo v7'\nversion = v([0-9])\n",
		  "sh",
		  "cat",
		  { "7", "cat " } },
		{ "run = sh\nserve = sh\nprobe = sh -c 'echo v7'\nversion = v([0-9])\n",
		  "sh",
		  "sh",
		  { "7", "7" } },
		{ "run = sh\nneeds = sshd\nfar_programs = env no-such-program\n",
		  "sh",
		  "no-such-program: not found in a session of the private SSH server",
		  { "", NULL } },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *const wanted[] = { cases[i].driver, cases[i].listener };
		AUTO_TEXT text = { 0 };
		text_addf(&text, "[tool]\n%s", cases[i].file);
		struct transport *transport = tool_of(text_string(&text));
		for (size_t end = 0; end < 2; end++) {
			enum xfer_side other =
				transport->driver == XFER_SOURCE ? XFER_SINK : XFER_SOURCE;
			struct probe probe = { .side = end == 0 ? transport->driver : other };
			struct error err = { 0 };
			AUTO_TEXT names = { 0 };
			const char *version = cases[i].versions[end];
			if (transport->probe(transport, &probe, &err) < 0) {
				assert_null(version);
				assert_string_equal(err.message, wanted[end]);
				continue;
			}
			name_programs(&probe, &names);
			assert_string_equal(text_string(&names), wanted[end]);
			assert_non_null(version);
			assert_int_equal(strncmp(probe.version, version, strlen(version)), 0);
		}
		tool_free(transport);
	}
}

/* A program that only the caller has is found where he drives, and not in a session. */
static void test_probe_of_the_callers_own(void **state)
{
	(void)state;
	AUTO_FREE char *before = strdup(getenv("PATH"));
	AUTO_FREE char *program = path_join(folders.scratch, "lf-mine");
	AUTO_TEXT path = { 0 };
	struct transport *transport =
		tool_of("[tool]\nrun = lf-mine\nneeds = sshd\nfar_programs = lf-mine\n"
			"probe = lf-mine\nversion = v([0-9.]+)\n");
	static const char script[] = "#!/bin/sh\necho v9.9.9\n";
	assert_int_equal(file_write_all(program, script, strlen(script), 0755, NULL), 0);
	text_addf(&path, "relative:%s:%s", folders.scratch, before);
	setenv("PATH", text_string(&path), 1);
	struct probe driver = { .side = XFER_SOURCE };
	struct probe session = { .side = XFER_SINK };
	struct error err = { 0 };
	int found = transport->probe(transport, &driver, &err);
	int missing = transport->probe(transport, &session, &err);
	setenv("PATH", before, 1);
	assert_int_equal(found, 0);
	assert_string_equal(driver.version, "9.9.9");
	assert_string_equal(driver.programs[0].path, program);
	assert_string_equal(driver.programs[0].version, "9.9.9");
	assert_int_equal(missing, -1);
	assert_int_equal(err.kind, ERROR_UNAVAILABLE);
	assert_non_null(strstr(err.message, "lf-mine: not found in a session"));
	assert_non_null(strstr(err.message, "is on your own PATH only"));
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_probe),
		cmocka_unit_test(test_probe_of_each_end),
		cmocka_unit_test(test_probe_of_the_callers_own),
	};
	return cmocka_run_group_tests_name("tool_probe", tests, set_up, tear_down);
}
