/* `linefill run`: plans, rows, exit statuses, and what it refuses. */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "tests/cli/program.h"

#define SMALL "small-files:files=20,size=1KiB"

static void plan_runs_nothing(void **state)
{
	struct bench *bench = *state;
	PROGRAM_START_STUDY(bench, "-t", "tcp", "-t", "multi:streams=1 2", "--dataset", SMALL,
			    "--rounds", "10", "--plan");
	program_wait(bench);
	ASSERT_EXIT(bench, 0);
	ASSERT_HOLDS(bench->output, "20 files");
	ASSERT_HOLDS(bench->output, "20480 bytes");
	ASSERT_HOLDS(bench->output, "30 runs");
	ASSERT_HOLDS(bench->output, "multi streams=2");
	ASSERT_HOLDS(bench->output, "round 10:");
	ASSERT_HOLDS(bench->output, "10 rounds can tell a factor of 1.14");
	assert_false(bench_has(bench, "out"));
	bench_check_clean(bench);
}

/* What --case and --set want is shown where the label does not say it. */
static void plan_names_sections(void **state)
{
	struct bench *bench = *state;
	bench_add_file(bench, "my.ini",
		       "[case a]\ntransport = tcp\nlabel = One stream\n"
		       "[case b]\ntransport = multi\nstreams = 1 2\n[case scp]\ntransport = scp\n");
	PROGRAM_RUN(bench, "run", "my.ini", "-t", "multi:block=1MiB 2MiB", "-t",
		    "multi:checksum=none xxh3", "--plan");
	ASSERT_EXIT(bench, 0);
	ASSERT_HOLDS(bench->output, "  One stream                   tcp, 1 instance  [case a]\n");
	ASSERT_HOLDS(bench->output,
		     "  b streams=2                  multi:streams=2, 1 instance  [case b]\n");
	ASSERT_HOLDS(bench->output, "  scp                          scp, 1 instance\n");
	ASSERT_HOLDS(bench->output, "1 instance  [case multi]\n");
	ASSERT_HOLDS(bench->output, "1 instance  [case multi (2)]\n");
	PROGRAM_RUN(bench, "run", "my.ini", "-t", "multi:block=1MiB 2MiB", "-t",
		    "multi:checksum=none xxh3", "--plan", "--case", "a", "--case", "multi (2)",
		    "--set", "case multi (2).instances=4");
	/* The first of them was asked for, and would be left out. */
	ASSERT_EXIT(bench, 2);
	ASSERT_HOLDS(bench->error, "add --case 'multi'");
	PROGRAM_RUN(bench, "run", "my.ini", "-t", "multi:checksum=none xxh3", "--plan", "--case",
		    "a", "--case", "multi", "--set", "case multi.instances=4");
	ASSERT_EXIT(bench, 0);
	ASSERT_HOLDS(bench->output, "One stream");
	ASSERT_HOLDS(bench->output, "multi:checksum=xxh3, 4 instances");
	ASSERT_LACKS(bench->output, "block=");
	ASSERT_LACKS(bench->output, "scp");
}

/* The order of the plan is the order of the rows, and the seed's. */
static void plan_is_kept(void **state)
{
	struct bench *bench = *state;
	static const char *const arguments[] = { "-t",       "tcp",   "-t",        "null:copy=yes",
						 "-t",       "multi", "--dataset", SMALL,
						 "--rounds", "2",     "--seed",    "42",
						 NULL,       NULL };
	const char *planned[14];
	memcpy(planned, arguments, sizeof(planned));
	planned[12] = "--plan";
	program_start_study(bench, planned);
	program_wait(bench);
	char *first = strdup(bench->output);
	program_start_study(bench, planned);
	program_wait(bench);
	assert_string_equal(first, bench->output);
	free(first);
	char *order = strdup(strstr(bench->output, "Order"));
	program_run_study(bench, arguments);
	ASSERT_EXIT(bench, 0);
	assert_int_equal(bench->results.count, 6);
	const char *at = order;
	for (size_t i = 0; i < 6; i++) {
		const struct result *row = &bench->results.rows[i];
		at = strstr(at, row->label);
		if (!at)
			fail_msg("row %zu (%s) is not where it was planned:\n%s", i, row->label,
				 order);
		at += strlen(row->label);
	}
	free(order);
	bench_check_clean(bench);
}

static void out_must_be_empty(void **state)
{
	struct bench *bench = *state;
	bench_add_file(bench, "../out/precious", "mine");
	PROGRAM_START_STUDY(bench, "-t", "tcp", "--dataset", SMALL);
	program_wait(bench);
	ASSERT_EXIT(bench, 2);
	ASSERT_HOLDS(bench->error, "not empty");
	assert_false(bench_has(bench, "out/runs.csv"));
	assert_true(bench_has(bench, "out/precious"));
	bench_check_clean(bench);
}

/* Without --out: a folder named after the study and the time, where it was started. */
static void results_have_a_place_of_their_own(void **state)
{
	struct bench *bench = *state;
	char set[128];
	snprintf(set, sizeof(set), "dataset.location=%s", bench->data);
	PROGRAM_RUN(bench, "run", "-t", "null", "--dataset", SMALL, "--rounds", "1", "--set", set);
	ASSERT_EXIT(bench, 0);
	assert_true(bench_has(bench, "files/linefill-results"));
	ASSERT_HOLDS(bench->output, "/files/linefill-results/null-2");
	ASSERT_HOLDS(bench->output, "/report.html");
	bench_check_clean(bench);
}

/* The default location: memory, which is given back. */
static void memory_is_given_back(void **state)
{
	struct bench *bench = *state;
	PROGRAM_RUN(bench, "run", "-t", "tcp", "--dataset", SMALL, "--rounds", "1", "--out",
		    bench->out);
	ASSERT_EXIT(bench, 0);
	char *study = bench_read_out(bench, "study.json");
	char *at = strstr(study, "\"location\": \"/dev/shm/");
	assert_non_null(at);
	char *path = strchr(at + strlen("\"location\":"), '/');
	path[strcspn(path, "\"")] = '\0';
	assert_null(opendir(path));
	free(study);
	bench_check_clean(bench);
}

/* What was done about the memory under the copies is in each row, and follows from what study.json
 * says of the host, whatever that is here. */
static void memory_is_told(void **state)
{
	struct bench *bench = *state;
	PROGRAM_RUN(bench, "run", "-t", "tcp", "-t", "tcp:pretouch", "-t", "tcp:memory",
		    "--dataset", SMALL, "--rounds", "2", "--out", bench->out);
	ASSERT_EXIT(bench, 0);
	bench_read_results(bench);
	assert_int_equal(bench->results.count, 6);
	char *study = bench_read_out(bench, "study.json");
	ASSERT_HOLDS(study, "\"memory_first_touch_bytes_per_s\": ");
	ASSERT_HOLDS(study, "\"memory_second_touch_bytes_per_s\": ");
	bool needed = strstr(study, "the host takes free pages back") ||
		      strstr(study, "\"memory_finding\"");
	for (size_t i = 0; i < bench->results.count; i++)
		assert_string_equal(bench->results.rows[i].memory,
				    needed ? "backed" : "none needed");
	free(study);
	strncat(bench->out, "2", 2);
	PROGRAM_RUN(bench, "run", "-t", "tcp", "-t", "tcp:memory", "--dataset", SMALL, "--rounds",
		    "1", "--out", bench->out, "--set", "study.memory=as-is");
	ASSERT_EXIT(bench, 0);
	bench_read_results(bench);
	assert_string_equal(bench_row(bench, "tcp", 0)->memory, "as-is");
	assert_string_equal(bench_row(bench, "tcp", 0)->label, "tcp (memory as-is)");
	assert_string_equal(bench_row(bench, "tcp:memory=yes", 0)->label, "tcp:memory=yes");
	study = bench_read_out(bench, "study.json");
	ASSERT_HOLDS(study, "\"study.memory\": \"as-is\"");
	free(study);
	bench_check_clean(bench);
}

static void exit_status_tells_rows(void **state)
{
	struct bench *bench = *state;
	bench_add_tool(bench, "absent",
		       "[tool]\nprobe = lf-no-such\nrun = lf-no-such {src} {dst}\n"
		       "[preserve]\nmode =\n");
	PROGRAM_STUDY(bench, "-t", "null", "-t", "absent", "-t", "tcp:instances=21", "--dataset",
		      SMALL, "--rounds", "2");
	ASSERT_EXIT(bench, 0);
	assert_int_equal(bench->results.count, 4);
	ASSERT_ROW(bench_row(bench, "absent", 0), STATUS_UNAVAILABLE);
	ASSERT_ROW(bench_row(bench, "tcp:instances=21", 0), STATUS_UNSUPPORTED);
	strncat(bench->out, "2", 2);
	PROGRAM_STUDY(bench, "-t", "null", "-t", "null:fail=send", "--dataset", SMALL, "--rounds",
		      "1");
	ASSERT_EXIT(bench, 1);
	bench_check_clean(bench);
}

/* Some workers would be idle: no figure for so many at once. */
static void instances_need_files(void **state)
{
	struct bench *bench = *state;
	PROGRAM_STUDY(bench, "-t", "tcp:instances=4", "-t", "multi:instances=1", "-t",
		      "multi:memory,instances=4", "--dataset", "single:bytes=1MiB", "--rounds",
		      "1");
	ASSERT_EXIT(bench, 0);
	ASSERT_ROW(bench_row(bench, "tcp:instances=4", 0), STATUS_UNSUPPORTED);
	ASSERT_HOLDS(bench_row(bench, "tcp:instances=4", 0)->error,
		     "4 instances, but only 1 file:");
	ASSERT_ROW(bench_row(bench, "multi:instances=1", 0), STATUS_OK);
	ASSERT_ROW(bench_row(bench, "multi:memory=yes,instances=4", 0), STATUS_OK);
}

static void rows_describe_their_run(void **state)
{
	struct bench *bench = *state;
	PROGRAM_STUDY(bench, "-t", "multi:streams=2,instances=3", "--dataset", SMALL, "--rounds",
		      "2");
	ASSERT_EXIT(bench, 0);
	assert_int_equal(bench->results.count, 2);
	for (int round = 1; round <= 2; round++) {
		const struct result *row = &bench->results.rows[round - 1];
		ASSERT_ROW(row, STATUS_OK);
		assert_int_equal(row->verified, VERIFIED_YES);
		assert_int_equal(row->round, round);
		assert_int_equal(row->files, 20);
		assert_int_equal(row->payload_bytes, 20480);
		assert_int_equal(row->instances, 3);
		assert_int_equal(row->streams, 6);
		assert_int_equal(row->pair, 1);
		assert_int_equal(row->pairs, 1);
		assert_string_equal(row->transport, "multi");
		assert_string_equal(row->options, "streams=2");
		assert_string_equal(row->cipher, "none");
		assert_string_equal(row->dataset, SMALL);
		assert_int_equal(row->schema, RESULT_SCHEMA);
		assert_true(row->total_s > 0 && row->goodput_bps > 0);
		assert_true(row->cpu_source_s >= 0 && row->cpu_sink_s >= 0);
		assert_true(row->study_id[0] && row->run_id[0] && row->start_utc[0]);
	}
	assert_string_not_equal(bench->results.rows[0].run_id, bench->results.rows[1].run_id);
	bench_check_clean(bench);
}

/* However alike names are, each run has an id of its own. */
static void run_ids_are_unique(void **state)
{
	struct bench *bench = *state;
	PROGRAM_STUDY(bench, "-t", "multi:block=1MiB,compress=1,streams=1 2 4", "-t",
		      "multi:block=1MiB,compress=1", "--dataset", SMALL, "--rounds", "2");
	ASSERT_EXIT(bench, 0);
	assert_int_equal(bench->results.count, 8);
	for (size_t i = 0; i < bench->results.count; i++)
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(bench->results.rows[i].run_id,
						bench->results.rows[j].run_id);
	bench_check_clean(bench);
}

static void ssh_tools_share_one_cipher(void **state)
{
	struct bench *bench = *state;
	PROGRAM_STUDY(bench, "-t", "scp", "-t", "rsync-ssh", "-t", "tar-ssh", "-t", "ssh",
		      "--dataset", SMALL, "--rounds", "1", "--set", "ssh.cipher=aes256-ctr",
		      "--set", "ssh.mac=hmac-sha2-512");
	ASSERT_EXIT(bench, 0);
	for (size_t i = 0; i < bench->results.count; i++) {
		ASSERT_ROW(&bench->results.rows[i], STATUS_OK);
		assert_string_equal(bench->results.rows[i].cipher, "aes256-ctr");
		assert_string_equal(bench->results.rows[i].mac, "hmac-sha2-512");
	}
	assert_int_equal(bench->results.count, 4);
	bench_check_clean(bench);
}

static void scp_carries_no_links(void **state)
{
	struct bench *bench = *state;
	char dataset[200];
	bench_add_file(bench, "tree/a/file", "x");
	char *link = path_join(bench->files, "tree/link");
	assert_int_equal(symlink("a/file", link), 0);
	free(link);
	snprintf(dataset, sizeof(dataset), "directory:path=%s/tree", bench->files);
	PROGRAM_STUDY(bench, "-t", "scp", "-t", "rsync-ssh", "-t", "tar-ssh", "-t", "multi",
		      "--dataset", dataset, "--rounds", "1");
	ASSERT_EXIT(bench, 0);
	ASSERT_ROW(bench_row(bench, "scp", 0), STATUS_UNSUPPORTED);
	ASSERT_HOLDS(bench_row(bench, "scp", 0)->error, "symbolic links");
	ASSERT_ROW(bench_row(bench, "rsync-ssh", 1), STATUS_OK);
	ASSERT_ROW(bench_row(bench, "tar-ssh", 1), STATUS_OK);
	ASSERT_ROW(bench_row(bench, "multi", 1), STATUS_OK);
	snprintf(dataset, sizeof(dataset), "directory:links=skip,path=%s/tree", bench->files);
	strncat(bench->out, "2", 2);
	PROGRAM_STUDY(bench, "-t", "scp", "-t", "rsync-ssh", "-t", "tar-ssh", "-t", "multi",
		      "--dataset", dataset, "--rounds", "1");
	ASSERT_EXIT(bench, 0);
	assert_int_equal(bench->results.count, 4);
	for (size_t i = 0; i < 4; i++)
		ASSERT_ROW(&bench->results.rows[i], STATUS_OK);
	bench_check_clean(bench);
}

/* Where the data lies and where its copies go may be the folder of temporary files itself. */
static void location_may_be_the_temporary_folder(void **state)
{
	struct bench *bench = *state;
	char set[128];
	snprintf(set, sizeof(set), "dataset.location=%s", bench->tmp);
	PROGRAM_STUDY(bench, "-t", "tcp", "-t", "scp", "--dataset", SMALL, "--rounds", "1", "--set",
		      set);
	ASSERT_EXIT(bench, 0);
	bench_check_clean(bench);
}

/* What the user has set for other programs changes nothing, and gets no keys. */
static void variables_are_not_heeded(void **state)
{
	static const char *const proxies[] = { "http_proxy", "https_proxy", "HTTPS_PROXY",
					       "ALL_PROXY", "all_proxy" };
	static const char *const cases[] = { "http:tls=yes", "http:tls=no", "tls" };
	struct bench *bench = *state;
	char keys[128], config[128];
	snprintf(keys, sizeof(keys), "%s/keys", bench->files);
	snprintf(config, sizeof(config), "%s/openssl.cnf", bench->files);
	/* TLS 1.3 would be out of the question. */
	bench_add_file(bench, "openssl.cnf",
		       "openssl_conf = a\n[a]\nssl_conf = b\n[b]\nsystem_default = c\n"
		       "[c]\nMaxProtocol = TLSv1.2\n");
	setenv("SSLKEYLOGFILE", keys, 1);
	setenv("OPENSSL_CONF", config, 1);
	setenv("CURL_CA_BUNDLE", config, 1);
	for (size_t i = 0; i < sizeof(proxies) / sizeof(proxies[0]); i++)
		setenv(proxies[i], "http://127.0.0.1:1", 1);
	PROGRAM_STUDY(bench, "-t", cases[0], "-t", cases[1], "-t", cases[2], "--dataset", SMALL,
		      "--rounds", "1");
	unsetenv("SSLKEYLOGFILE");
	unsetenv("OPENSSL_CONF");
	unsetenv("CURL_CA_BUNDLE");
	for (size_t i = 0; i < sizeof(proxies) / sizeof(proxies[0]); i++)
		unsetenv(proxies[i]);
	ASSERT_EXIT(bench, 0);
	assert_int_equal(bench->results.count, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct result *row = &bench->results.rows[i];
		bool plain = strcmp(row->cipher, "none") == 0;
		if (row->status == STATUS_UNAVAILABLE)
			continue;
		ASSERT_ROW(row, STATUS_OK);
		assert_string_equal(row->mac, plain ? "none" : "implicit");
	}
	assert_false(bench_has(bench, "files/keys"));
	bench_check_clean(bench);
}

static void target_may_lie_elsewhere(void **state)
{
	struct bench *bench = *state;
	char set[128];
	snprintf(set, sizeof(set), "dataset.target=%s", bench->tmp);
	PROGRAM_STUDY(bench, "-t", "tcp", "-t", "scp", "--dataset", SMALL, "--rounds", "1", "--set",
		      set);
	ASSERT_EXIT(bench, 0);
	char *study = bench_read_out(bench, "study.json");
	ASSERT_HOLDS(study, bench->tmp);
	ASSERT_HOLDS(study, bench->data);
	free(study);
	bench_check_clean(bench);
}

/* Where no folder for the results can be made, it is said how to name another one. */
static void unwritable_folder(void **state)
{
	static const char says[] = "name one with --out";
	struct bench *bench = *state;
	bench_add_file(bench, "linefill-results", "a file");
	PROGRAM_RUN(bench, "run", "-t", "null", "--rounds", "1");
	ASSERT_EXIT(bench, 1);
	ASSERT_HOLDS(bench->error, "Not a directory");
	ASSERT_HOLDS(bench->error, says);
	AUTO_FREE char *file = path_join(bench->files, "linefill-results");
	assert_return_code(unlink(file), errno);
	bench_use_ordinary(bench);
	assert_return_code(chmod(bench->files, 0555), errno);
	PROGRAM_RUN(bench, "run", "-t", "null", "--rounds", "1");
	ASSERT_EXIT(bench, 1);
	ASSERT_HOLDS(bench->error, "Permission denied");
	ASSERT_HOLDS(bench->error, says);
	ASSERT_HOLDS(bench->error, bench->files);
	assert_return_code(chmod(bench->files, 0755), errno);
	bench_check_clean(bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(unwritable_folder),
		BENCH_TEST(plan_runs_nothing),
		BENCH_TEST(plan_names_sections),
		BENCH_TEST(plan_is_kept),
		BENCH_TEST(out_must_be_empty),
		BENCH_TEST(results_have_a_place_of_their_own),
		BENCH_TEST(memory_is_given_back),
		BENCH_TEST(memory_is_told),
		BENCH_TEST(exit_status_tells_rows),
		BENCH_TEST(instances_need_files),
		BENCH_TEST(rows_describe_their_run),
		BENCH_TEST(run_ids_are_unique),
		BENCH_TEST(ssh_tools_share_one_cipher),
		BENCH_TEST(scp_carries_no_links),
		BENCH_TEST(location_may_be_the_temporary_folder),
		BENCH_TEST(variables_are_not_heeded),
		BENCH_TEST(target_may_lie_elsewhere),
	};
	cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
