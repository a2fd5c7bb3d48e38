/* What ran is what is recorded: each end's programs are those of the environment in which they run
 * there, not the caller's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <jansson.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/services/digest.h"
#include "tests/cli/program.h"

#define SMALL "small-files:files=10,size=1KiB"

/* A script in files/fake, which is first on the PATH of the program that is started next. */
static void add_fake(const struct bench *bench, const char *name, const char *script)
{
	AUTO_TEXT file = { 0 };
	AUTO_TEXT path = { 0 };
	text_addf(&file, "fake/%s", name);
	bench_add_file(bench, text_string(&file), "%s", script);
	text_addf(&path, "%s/fake/%s", bench->files, name);
	assert_int_equal(chmod(text_string(&path), 0755), 0);
}

static void run_with_fakes(struct bench *bench, const char *const *arguments)
{
	AUTO_FREE char *before = strdup(getenv("PATH"));
	AUTO_TEXT path = { 0 };
	text_addf(&path, "%s/fake:%s", bench->files, before);
	setenv("PATH", text_string(&path), 1);
	program_run_study(bench, arguments);
	setenv("PATH", before, 1);
}

/* The program of that name that ran for a transport at an end. */
static const json_t *find_program(const json_t *study, const char *side, const char *transport,
				  const char *name)
{
	const json_t *list = json_object_get(
		json_object_get(json_object_get(study, "programs"), side), transport);
	size_t i;
	const json_t *program;
	json_array_foreach(list, i,
			   program) if (strcmp(json_string_value(json_object_get(program, "name")),
					       name) == 0) return program;
	fail_msg("%s ran no %s for %s", side, name, transport);
	return NULL;
}

static const char *fact(const json_t *program, const char *key)
{
	const char *text = json_string_value(json_object_get(program, key));
	assert_non_null(text);
	return text;
}

static void assert_digest(const json_t *program)
{
	char digest[DIGEST_SIZE];
	digest_file(fact(program, "path"), digest);
	assert_int_equal(strlen(digest), DIGEST_SIZE - 1);
	assert_string_equal(fact(program, "sha256"), digest);
}

static void each_end_tells_its_own(void **state)
{
	struct bench *bench = *state;
	add_fake(bench, "rsync",
		 "#!/bin/sh\nif [ \"$1\" = --version ]; then\n"
		 "echo 'rsync  version 9.9.9  protocol version 31'\nexit\nfi\n"
		 "PATH=/usr/local/bin:/usr/bin:/bin exec rsync \"$@\"\n");
	run_with_fakes(bench, (const char *const[]){ "-t", "rsync-ssh", "-t", "http", "--dataset",
						     SMALL, "--rounds", "1", NULL });
	const struct result *row = bench->results.count ? bench_row(bench, "rsync-ssh", 0) : NULL;
	if (row && row->status == STATUS_UNAVAILABLE)
		skip(); /* there is no rsync here */
	ASSERT_EXIT(bench, 0);
	row = bench_row(bench, "rsync-ssh", 1);
	ASSERT_ROW(row, STATUS_OK);
	assert_int_equal(strncmp(row->transport_version, "9.9.9 > ", 8), 0);
	assert_null(strstr(row->transport_version + 8, "9.9.9"));
	AUTO_FREE char *text = bench_read_out(bench, "study.json");
	json_t *study = json_loads(text, 0, NULL);
	AUTO_TEXT fake = { 0 };
	text_addf(&fake, "%s/fake/rsync", bench->files);
	const json_t *source = find_program(study, "source", "rsync-ssh", "rsync");
	const json_t *sink = find_program(study, "sink", "rsync-ssh", "rsync");
	/* A script's own digest is what is recorded, not its interpreter's. */
	assert_string_equal(fact(source, "path"), text_string(&fake));
	assert_string_equal(fact(source, "version"), "9.9.9");
	assert_digest(source);
	assert_string_not_equal(fact(sink, "path"), text_string(&fake));
	assert_string_equal(fact(sink, "version"), row->transport_version + 8);
	assert_digest(sink);
	assert_digest(find_program(study, "source", "rsync-ssh", "ssh"));
	assert_digest(find_program(study, "sink", "rsync-ssh", "sshd"));
	assert_digest(find_program(study, "sink", "sshd", "sshd")); /* the one that was started */
	if (bench_row(bench, "http", 0)->status == STATUS_OK)
		assert_digest(find_program(study, "source", "http", "nginx"));
	const json_t *host = json_object_get(json_object_get(study, "hosts"), "sink");
	char digest[DIGEST_SIZE];
	digest_file(fact(host, "linefill_path"), digest);
	assert_string_equal(fact(host, "linefill_sha256"), digest);
	json_decref(study);
	bench_check_clean(bench);
}

static void the_callers_own_is_unavailable_there(void **state)
{
	struct bench *bench = *state;
	add_fake(bench, "lf-only-mine", "#!/bin/sh\necho mine 1.0\n");
	bench_add_tool(bench, "mine",
		       "[tool]\nneeds = sshd\nfar_programs = lf-only-mine\nprobe = lf-only-mine\n"
		       "version = mine ([0-9.]+)\nrun = cp -r {src}/. {dst}\n[preserve]\nmode =\n");
	run_with_fakes(bench, (const char *const[]){ "-t", "mine", "-t", "tcp", "--dataset", SMALL,
						     "--rounds", "1", NULL });
	ASSERT_EXIT(bench, 0);
	const struct result *row = bench_row(bench, "mine", 0);
	ASSERT_ROW(row, STATUS_UNAVAILABLE);
	ASSERT_HOLDS(row->error, "sink: lf-only-mine: not found in a session");
	ASSERT_HOLDS(row->error, "is on your own PATH only");
	ASSERT_ROW(bench_row(bench, "tcp", 1), STATUS_OK);
	bench_check_clean(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = { BENCH_TEST(each_end_tells_its_own),
					    BENCH_TEST(the_callers_own_is_unavailable_there) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
