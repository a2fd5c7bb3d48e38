/* What a chosen folder brings along, users that nobody knows, trees with next to nothing in them,
 * and what tools say that is no text: none of it makes a right tool's copy wrong. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/fs.h>

#include <cmocka.h>

#include "harness/base/cleanup.h"
#include "tests/cli/program.h"
#include "tests/unit/default_acl.h"

#define SMALL "small-files:files=10,size=1KiB"

/* A tool whose files get the mode that the folder gives them. */
static void add_plain_copy(struct bench *bench)
{
	bench_add_tool(bench, "plain", "[tool]\nrun = cp -r {src}/. {dst}\n[preserve]\nmode =\n");
}

static void default_acl_does_not_count(void **state)
{
	struct bench *bench = *state;
	if (!default_acl_set(bench->data)) {
		print_message("no access control lists on this file system\n");
		skip();
	}
	add_plain_copy(bench);
	PROGRAM_STUDY(bench, "-t", "plain", "-t", "tcp", "--set", "case tcp.instances=2",
		      "--dataset", SMALL, "--rounds", "1");
	ASSERT_EXIT(bench, 0);
	bench_check_clean(bench);
}

static void group_of_the_folder_does_not_count(void **state)
{
	struct bench *bench = *state;
	assert_return_code(chmod(bench->data, 02700), errno);
	add_plain_copy(bench);
	PROGRAM_STUDY(bench, "-t", "plain", "-t", "tcp", "--dataset", SMALL, "--rounds", "1");
	ASSERT_EXIT(bench, 0);
	bench_check_clean(bench);
}

static bool set_append_only(const char *folder, bool on)
{
	unsigned attributes = 0;
	AUTO_FD fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &attributes) < 0)
		return false;
	attributes = on ? attributes | FS_APPEND_FL : attributes & ~(unsigned)FS_APPEND_FL;
	return ioctl(fd, FS_IOC_SETFLAGS, &attributes) == 0;
}

static void folder_that_keeps_all_is_refused(void **state)
{
	struct bench *bench = *state;
	char target[120], set[160];
	bench_add_file(bench, "keeps/all", "x");
	snprintf(target, sizeof(target), "%s/keeps", bench->files);
	snprintf(set, sizeof(set), "dataset.target=%s", target);
	if (!set_append_only(target, true)) {
		print_message("no folder can be made append-only here\n");
		skip();
	}
	PROGRAM_STUDY(bench, "-t", "tcp", "--set", set, "--dataset", SMALL, "--rounds", "1");
	assert_true(set_append_only(target, false));
	ASSERT_EXIT(bench, 1);
	ASSERT_ROW(bench_row(bench, "tcp", 1), STATUS_FAILED);
	ASSERT_HOLDS(bench_row(bench, "tcp", 1)->error, target);
	ASSERT_HOLDS(bench_row(bench, "tcp", 1)->error, "cannot be removed (chattr +a)");
	bench_check_clean(bench);
}

/* ssh and sshd refuse such a user; who needs neither works. */
static void user_without_a_name(void **state)
{
	struct bench *bench = *state;
	bench_use_nameless(bench);
	PROGRAM_STUDY(bench, "-t", "tcp", "-t", "multi", "-t", "ssh", "-t", "rsync-ssh",
		      "--dataset", SMALL, "--rounds", "2");
	ASSERT_EXIT(bench, 0);
	ASSERT_ROW(bench_row(bench, "tcp", 2), STATUS_OK);
	ASSERT_ROW(bench_row(bench, "multi", 2), STATUS_OK);
	for (size_t i = 0; i < bench->results.count; i++) {
		const struct result *row = &bench->results.rows[i];
		if (strcmp(row->transport, "ssh") != 0 && strcmp(row->transport, "rsync-ssh") != 0)
			continue;
		ASSERT_ROW(row, STATUS_UNAVAILABLE);
		assert_int_equal(row->round, 1);
		/* Where they are not installed, that is the reason. */
		if (strstr(row->error, "user"))
			ASSERT_HOLDS(row->error, "has no entry in the user database");
	}
	bench_check_clean(bench);
}

/* Such as system users have. */
static void user_without_a_shell(void **state)
{
	struct bench *bench = *state;
	bench_use_shell(bench, "/bin/false");
	PROGRAM_STUDY(bench, "-t", "tcp", "-t", "ssh", "-t", "rsync-ssh", "--dataset", SMALL,
		      "--rounds", "2");
	ASSERT_EXIT(bench, 0);
	ASSERT_ROW(bench_row(bench, "tcp", 2), STATUS_OK);
	static const char *const cases[] = { "ssh", "rsync-ssh" };
	for (size_t i = 0; i < 2; i++) {
		ASSERT_ROW(bench_row(bench, cases[i], 1), STATUS_UNAVAILABLE);
		ASSERT_HOLDS(bench_row(bench, cases[i], 1)->error, "runs no commands");
	}
	bench_check_clean(bench);
}

static void folders_with_nothing_in_them(void **state)
{
	struct bench *bench = *state;
	char dataset[200];
	bench_add_file(bench, "tree/a/b/x", "x");
	bench_add_file(bench, "tree/c/x", "x");
	static const char *const files[] = { "tree/a/b/x", "tree/c/x" };
	for (size_t i = 0; i < 2; i++) {
		char path[200];
		snprintf(path, sizeof(path), "%s/%s", bench->files, files[i]);
		assert_return_code(unlink(path), errno);
	}
	snprintf(dataset, sizeof(dataset), "directory:path=%s/tree", bench->files);
	PROGRAM_STUDY(bench, "-t", "tcp", "-t", "multi", "--set", "case multi.instances=4",
		      "--dataset", dataset, "--rounds", "1");
	ASSERT_EXIT(bench, 0);
	ASSERT_ROW(bench_row(bench, "tcp", 1), STATUS_OK);
	ASSERT_ROW(bench_row(bench, "multi", 1), STATUS_UNSUPPORTED);
	ASSERT_HOLDS(bench_row(bench, "multi", 1)->error,
		     "4 instances share out the files, and this dataset has none");
	bench_check_clean(bench);
}

/* No control character of a tool's own words reaches the table, the CSV file or the page. */
static void words_with_control_characters(void **state)
{
	struct bench *bench = *state;
	static const char *const pages[] = { "runs.csv", "report.html", "study.json" };
	bench_add_file(bench, "shout.sh",
		       "#!/bin/sh\nprintf 'one\\033[2J\\r\\n\\r\\ntwo\\007\\r\\n' >&2\nexit 3\n");
	bench_add_tool(bench, "shouts", "[tool]\nrun = sh %s/shout.sh\n[preserve]\nmode =\n",
		       bench->files);
	PROGRAM_STUDY(bench, "-t", "shouts", "--dataset", SMALL, "--rounds", "1");
	ASSERT_EXIT(bench, 1);
	const char *error = bench_row(bench, "shouts", 1)->error;
	ASSERT_HOLDS(error, "one");
	ASSERT_HOLDS(error, "two");
	ASSERT_LACKS(error, "\r");
	ASSERT_LACKS(error, "\n");
	ASSERT_LACKS(error, "x0d");
	ASSERT_LACKS(bench->output, "\033");
	ASSERT_LACKS(bench->error, "\r");
	for (size_t i = 0; i < 3; i++) {
		AUTO_FREE char *page = bench_read_out(bench, pages[i]);
		ASSERT_LACKS(page, "\r");
		ASSERT_LACKS(page, "\033");
		ASSERT_LACKS(page, "\007");
	}
	bench_check_clean(bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(default_acl_does_not_count),
		BENCH_TEST(group_of_the_folder_does_not_count),
		BENCH_TEST(folder_that_keeps_all_is_refused),
		BENCH_TEST(user_without_a_name),
		BENCH_TEST(user_without_a_shell),
		BENCH_TEST(folders_with_nothing_in_them),
		BENCH_TEST(words_with_control_characters),
	};
	cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
