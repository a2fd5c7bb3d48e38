#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <poll.h>

#include "harness/api/run_mark.h"
#include "harness/control/launcher.h"
#include "tests/unit/processes.h"
#include "tests/unit/tree_folder.h"

#define WORDS_MAX 4096

/* ---- the agent: this very program, which tells what it is like and echoes a line ---- */

static void tell_descriptors(void)
{
	DIR *fds = opendir("/proc/self/fd");
	int count = 0;
	while (readdir(fds))
		count++;
	closedir(fds);
	printf("descriptors=%d\n", count - 3); /* without ., .. and that of the folder */
}

static int be_agent(const char *id)
{
	char line[64];
	printf("id=%s\nmark=%s\n", id, getenv(RUN_MARK_ENV));
	printf("keys=%s\n", getenv("SSLKEYLOGFILE") ? "yes" : "no");
	printf("opensslconf=%s\n", getenv("OPENSSL_CONF") ? "yes" : "no");
	printf("own=%s\n", getenv("LINEFILL_TEST_OWN"));
	printf("leads=%s\n", getpgid(0) == getpid() ? "yes" : "no");
	tell_descriptors();
	fflush(stdout);
	fprintf(stderr, "a word for the log\n");
	while (fgets(line, sizeof(line), stdin)) {
		printf("heard %s", line);
		fflush(stdout);
	}
	return 7; /* the controller hung up */
}

/* ---- the tests ---- */

/* What the agent says until the text has so many lines. */
static void read_lines(int fd, char *text, int lines)
{
	size_t length = 0;
	while (lines > 0) {
		assert_true(length + 1 < WORDS_MAX);
		assert_int_equal(io_read_full(fd, text + length, 1, within(60), NULL), 0);
		lines -= text[length++] == '\n';
	}
	text[length] = '\0';
}

static void assert_holds(const char *text, const char *part)
{
	if (!strstr(text, part))
		assert_string_equal(text, part);
}

static void test_what_an_agent_gets(void **state)
{
	(void)state;
	struct child child = CHILD_NONE;
	struct error err = { 0 };
	char text[WORDS_MAX];
	int fd = -1, status = 0;
	setenv("SSLKEYLOGFILE", "/tmp/keys", 1);
	setenv("OPENSSL_CONF", "/tmp/conf", 1);
	setenv("LINEFILL_TEST_OWN", "mine", 1);
	setenv(RUN_MARK_ENV, "of-another-run", 1);
	assert_true(tree_put("log", "before\n"));
	/* A descriptor that it has no business with. */
	int stray = open("/dev/null", O_RDONLY);
	if (launcher_local("0123", "log", &child, &fd, &err) < 0)
		fail_msg("%s", err.message);
	close(stray);
	read_lines(fd, text, 7);
	assert_holds(text, "id=0123\n");
	assert_holds(text, "mark=0123\n");
	assert_holds(text, "keys=no\n");
	assert_holds(text, "opensslconf=no\n");
	assert_holds(text, "own=mine\n");
	assert_holds(text, "leads=yes\n");
	assert_holds(text, "descriptors=3\n");
	assert_int_equal(io_write_full(fd, "hello\n", 6, within(60), NULL), 0);
	read_lines(fd, text, 1);
	assert_string_equal(text, "heard hello\n");
	/* The end of the stream is what it leaves by. */
	close(fd);
	assert_int_equal(child_wait(&child, within(60), &status, NULL), 0);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	AUTO_FREE char *log = NULL;
	assert_int_equal(file_read_all("log", 1000, &log, NULL, NULL), 0);
	assert_string_equal(log, "before\na word for the log\n");
	unsetenv(RUN_MARK_ENV);
}

/* Each hears its own end of the stream, whoever was started later. */
static void test_two_agents(void **state)
{
	(void)state;
	struct child children[2] = { CHILD_NONE, CHILD_NONE };
	int fds[2], status = 0;
	char text[WORDS_MAX];
	for (int i = 0; i < 2; i++) {
		assert_int_equal(launcher_local(i ? "b" : "a", "log", &children[i], &fds[i], NULL),
				 0);
		read_lines(fds[i], text, 7);
	}
	close(fds[0]);
	assert_int_equal(child_wait(&children[0], within(60), &status, NULL), 0);
	assert_int_equal(WEXITSTATUS(status), 7);
	assert_int_equal(io_write_full(fds[1], "x\n", 2, within(60), NULL), 0);
	read_lines(fds[1], text, 1);
	assert_string_equal(text, "heard x\n");
	close(fds[1]);
	assert_int_equal(child_wait(&children[1], within(60), &status, NULL), 0);
}

static void test_no_place_for_a_log(void **state)
{
	(void)state;
	struct child child = CHILD_NONE;
	struct error err = { 0 };
	int fd = -1;
	assert_int_equal(launcher_local("a", "none/log", &child, &fd, &err), -1);
	assert_int_equal(err.kind, ERROR_SYSTEM);
	assert_string_equal(err.message, "create none/log: No such file or directory");
	assert_int_equal(fd, -1);
}

int main(int argc, char **argv)
{
#define LAUNCHER_TEST(test) \
	cmocka_unit_test_setup_teardown(test, tree_folder_make, tree_folder_drop)
	const struct CMUnitTest tests[] = {
		LAUNCHER_TEST(test_what_an_agent_gets),
		LAUNCHER_TEST(test_two_agents),
		LAUNCHER_TEST(test_no_place_for_a_log),
	};
	if (argc == 3 && strcmp(argv[1], "agent") == 0)
		return be_agent(argv[2]);
	return cmocka_run_group_tests(tests, NULL, processes_check);
}
