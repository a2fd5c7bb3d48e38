#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

#include "harness/agent/workspace.h"
#include "harness/api/run_mark.h"
#include "harness/base/text.h"
#include "tests/unit/processes.h"
#include "tests/unit/tree_folder.h"

/* Workspaces of these tests live in a folder of their own: sweeps see no others. */
static int make_folder(void **state)
{
	return tree_folder_make(state) == 0 && setenv("TMPDIR", tree_folder, 1) == 0 &&
			       mkdir("data", 0755) == 0
		       ? 0
		       : -1;
}

static bool exists(const char *path)
{
	struct stat status;
	return lstat(path, &status) == 0;
}

static char *here(const char *name)
{
	return path_join(tree_folder, name);
}

static mode_t mode_of(const char *path)
{
	struct stat status;
	return stat(path, &status) == 0 ? status.st_mode & 07777 : 0;
}

static void test_life(void **state)
{
	(void)state;
	struct workspace workspace;
	struct error err = { 0 };
	AUTO_FREE char *location = here("data");
	AUTO_TEXT scratch = { 0 };
	AUTO_TEXT data = { 0 };
	text_addf(&scratch, "%s/linefill-%u-abc", tree_folder, (unsigned)getuid());
	text_addf(&data, "%s/linefill-%u-abc-data", location, (unsigned)getuid());
	assert_int_equal(workspace_open(&workspace, "abc", &err), 0);
	assert_string_equal(workspace.id, "abc");
	assert_string_equal(workspace.scratch, scratch.data);
	assert_null(workspace.data);
	assert_int_equal(mode_of(workspace.scratch), 0700);
	assert_int_equal(workspace_add_data(&workspace, location, PRESERVE_ALL, &err), 0);
	assert_string_equal(workspace.data, data.data);
	assert_int_equal(mode_of(workspace.data), 0700);
	assert_true(tree_put("data/other", "not ours"));
	AUTO_FREE char *copy = path_join(workspace.data, "copy");
	AUTO_FREE char *file = path_join(copy, "file");
	assert_int_equal(mkdir(copy, 0755), 0);
	assert_true(tree_put(file, "x"));
	assert_int_equal(chmod(copy, 0555), 0);
	assert_int_equal(symlink("/etc", "link"), 0);
	workspace_close(&workspace);
	assert_false(exists(scratch.data));
	assert_false(exists(data.data));
	assert_true(exists("data/other"));
	assert_null(workspace.scratch);
	workspace_close(&workspace); /* again: nothing happens */
}

static void test_one_id_once(void **state)
{
	(void)state;
	struct workspace first, second;
	struct error err = { 0 };
	assert_int_equal(workspace_open(&first, "abc", NULL), 0);
	assert_int_equal(workspace_open(&second, "abc", &err), -1);
	assert_int_equal(err.kind, ERROR_SYSTEM);
	assert_true(exists(first.scratch));
	workspace_close(&second);
	workspace_close(&first);
}

/* The data may lie in the very folder where the small files are. */
static void test_data_beside_scratch(void **state)
{
	(void)state;
	struct workspace workspace;
	assert_int_equal(workspace_open(&workspace, "abc", NULL), 0);
	assert_int_equal(workspace_add_data(&workspace, tree_folder, PRESERVE_ALL, NULL), 0);
	assert_string_not_equal(workspace.data, workspace.scratch);
	AUTO_FREE char *data = strdup(workspace.data);
	assert_true(exists(data));
	workspace_close(&workspace);
	assert_false(exists(data));
}

static void test_bad_locations(void **state)
{
	(void)state;
	static const struct {
		const char *location;
		enum error_kind kind;
		const char *message;
	} cases[] = {
		{ "relative", ERROR_CONFIG, "location relative: an absolute path" },
		{ "", ERROR_CONFIG, "location : an absolute path" },
		{ "/tmp/a b", ERROR_CONFIG, "location /tmp/a b: an absolute path" },
		{ "/tmp/$(id)", ERROR_CONFIG, "location /tmp/$(id): an absolute path" },
		{ "/tmp/a\nb", ERROR_CONFIG, "location " },
		{ "/no/such/folder", ERROR_SYSTEM, "location /no/such/folder: No such file" },
		{ "/etc/passwd", ERROR_CONFIG, "location /etc/passwd is not a folder" },
	};
	struct workspace workspace;
	assert_int_equal(workspace_open(&workspace, "abc", NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = { 0 };
		assert_int_equal(
			workspace_add_data(&workspace, cases[i].location, PRESERVE_ALL, &err), -1);
		assert_int_equal(err.kind, cases[i].kind);
		assert_int_equal(strncmp(err.message, cases[i].message, strlen(cases[i].message)),
				 0);
		assert_null(workspace.data);
	}
	assert_int_equal(workspace_hold_folder(&workspace, "/a\nrelease /b", NULL), -1);
	workspace_close(&workspace);
}

static void test_locations(void **state)
{
	(void)state;
	assert_string_equal(workspace_location("ram"), "/dev/shm");
	assert_string_equal(workspace_location("/var/tmp"), "/var/tmp");
	assert_string_equal(workspace_location("rams"), "rams");
}

/* A folder of several programs goes with the last workspace that holds it. */
static void test_held_folders(void **state)
{
	(void)state;
	struct workspace first, second;
	AUTO_FREE char *held = here("held");
	AUTO_FREE char *theirs = here("theirs");
	assert_int_equal(mkdir(theirs, 0755), 0);
	assert_int_equal(workspace_open(&first, "abc", NULL), 0);
	assert_int_equal(workspace_open(&second, "def", NULL), 0);
	assert_int_equal(workspace_hold_folder(&first, held, NULL), 0);
	assert_int_equal(workspace_hold_folder(&first, theirs, NULL), 0);
	assert_int_equal(workspace_hold_folder(&second, held, NULL), 0);
	workspace_close(&first);
	assert_true(exists(held));
	workspace_close(&second);
	assert_false(exists(held));
	assert_true(exists(theirs));
}

/* ---- an agent that is killed ---- */

struct dead_agent {
	pid_t pid, grandchild;
	char scratch[256], data[256];
};

/* In the child: like an agent, with a process of its own that carries the mark. */
_Noreturn static void live_like_an_agent(int output)
{
	struct dead_agent agent = { .pid = getpid() };
	struct workspace workspace;
	AUTO_FREE char *location = here("data");
	AUTO_FREE char *held = here("held");
	AUTO_FREE char *deep = NULL;
	if (workspace_open(&workspace, "dead", NULL) < 0 ||
	    workspace_add_data(&workspace, location, PRESERVE_ALL, NULL) < 0 ||
	    workspace_hold_folder(&workspace, held, NULL) < 0)
		_exit(1);
	deep = path_join(workspace.data, "deep");
	if (mkdir(deep, 0755) < 0 || setenv(RUN_MARK_ENV, "dead", 1) < 0)
		_exit(2);
	/* It writes for as long as it lives, in a session of its own, deaf to polite signals. */
	AUTO_TEXT script = { 0 };
	text_addf(&script,
		  "trap '' TERM HUP INT; i=0; while :; do i=$((i+1)); : >\"%s/$i\" || exit; done",
		  deep);
	agent.grandchild = fork();
	if (agent.grandchild == 0) {
		setsid();
		execl("/bin/sh", "sh", "-c", text_string(&script), NULL);
		_exit(127);
	}
	snprintf(agent.scratch, sizeof(agent.scratch), "%s", workspace.scratch);
	snprintf(agent.data, sizeof(agent.data), "%s", workspace.data);
	if (write(output, &agent, sizeof(agent)) < 0)
		_exit(3);
	for (;;)
		pause();
}

static struct dead_agent start_agent(void)
{
	int ends[2];
	struct dead_agent agent = { 0 };
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0)
		live_like_an_agent(ends[1]);
	close(ends[1]);
	assert_int_equal(read(ends[0], &agent, sizeof(agent)), sizeof(agent));
	close(ends[0]);
	return agent;
}

/* Once it writes, it is the shell, with the mark in its environment. */
static void wait_for_its_files(const struct dead_agent *agent)
{
	AUTO_FREE char *deep = path_join(agent->data, "deep/1");
	for (int i = 0; i < 4000 && !exists(deep); i++)
		usleep(5000);
	assert_true(exists(deep));
}

static void test_sweep_after_a_killed_agent(void **state)
{
	(void)state;
	struct dead_agent agent = start_agent();
	wait_for_its_files(&agent);
	kill(agent.pid, SIGKILL);
	assert_int_equal(waitpid(agent.pid, NULL, 0), agent.pid);
	assert_int_equal(kill(agent.grandchild, 0), 0);
	assert_true(exists(agent.scratch));
	assert_true(exists(agent.data));
	assert_true(exists("held"));
	workspace_sweep();
	assert_false(exists(agent.scratch));
	assert_false(exists(agent.data));
	assert_false(exists("held"));
	assert_true(processes_gone(agent.grandchild));
	assert_true(exists("data"));
}

static void test_sweep_leaves_the_living_alone(void **state)
{
	(void)state;
	struct dead_agent agent = start_agent();
	wait_for_its_files(&agent);
	workspace_sweep();
	assert_true(exists(agent.scratch));
	assert_true(exists(agent.data));
	assert_true(exists("held"));
	assert_int_equal(kill(agent.pid, 0), 0);
	assert_int_equal(kill(agent.grandchild, 0), 0);
	kill(agent.pid, SIGKILL);
	assert_int_equal(waitpid(agent.pid, NULL, 0), agent.pid);
	workspace_sweep();
	assert_false(exists(agent.data));
	assert_true(processes_gone(agent.grandchild));
}

static pid_t start_marked(const char *mark)
{
	pid_t pid = fork();
	if (pid == 0) {
		setenv(RUN_MARK_ENV, mark, 1);
		execlp("sleep", "sleep", "1000", NULL);
		_exit(127);
	}
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	for (int i = 0; i < 4000; i++) {
		AUTO_FREE char *name = NULL;
		if (file_read_all(path, 100, &name, NULL, NULL) == 0 &&
		    strcmp(name, "sleep\n") == 0)
			return pid;
		usleep(5000);
	}
	return -1;
}

/* Only whole marks count: the ids of others may begin alike. */
static void test_sweep_spares_other_marks(void **state)
{
	(void)state;
	static const char *const others[] = { "dead2", "dea", "", "xdead" };
	pid_t pids[ARRAY_SIZE(others)];
	struct dead_agent agent = start_agent();
	wait_for_its_files(&agent);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		pids[i] = start_marked(others[i]);
		assert_true(pids[i] > 0);
	}
	kill(agent.pid, SIGKILL);
	assert_int_equal(waitpid(agent.pid, NULL, 0), agent.pid);
	workspace_sweep();
	assert_true(processes_gone(agent.grandchild));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		assert_int_equal(waitpid(pids[i], NULL, WNOHANG), 0);
		kill(pids[i], SIGKILL);
		assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
	}
}

/* ---- folders that look like ours ---- */

static char *stale_folder(const char *id, const char *journal, bool locked_once, time_t age_s)
{
	char name[64];
	snprintf(name, sizeof(name), "linefill-%u-%s", (unsigned)getuid(), id);
	char *scratch = here(name);
	AUTO_FREE char *lock = path_join(scratch, "lock");
	AUTO_FREE char *file = path_join(scratch, "journal");
	assert_int_equal(mkdir(scratch, 0700), 0);
	if (locked_once)
		assert_true(tree_put(lock, ""));
	if (journal)
		assert_true(tree_put(file, journal));
	const struct timespec when[2] = { { .tv_sec = time(NULL) - age_s },
					  { .tv_sec = time(NULL) - age_s } };
	assert_int_equal(utimensat(AT_FDCWD, scratch, when, 0), 0);
	return scratch;
}

static void test_sweep_by_lock_and_age(void **state)
{
	(void)state;
	static const struct {
		bool locked_once;
		time_t age_s;
		bool swept;
	} cases[] = {
		{ true, 0, true }, /* unlocked now: its agent is gone */
		{ true, 1000, true },
		{ false, 0, false }, /* perhaps made a moment ago, and not locked yet */
		{ false, 1000, true },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *scratch =
			stale_folder("old", NULL, cases[i].locked_once, cases[i].age_s);
		workspace_sweep();
		assert_int_equal(!exists(scratch), cases[i].swept);
		assert_int_equal(folder_remove(scratch, NULL), 0);
	}
}

/* Whatever a journal says: only folders that can be ours are removed with what is in them. */
static void test_hostile_journal(void **state)
{
	(void)state;
	AUTO_TEXT journal = { 0 };
	assert_int_equal(mkdir("precious", 0755), 0);
	assert_true(tree_put("precious/file", "x"));
	assert_int_equal(mkdir("linefill-link", 0755), 0);
	assert_int_equal(symlink("precious", "linefill-1-link"), 0);
	assert_int_equal(mkdir("linefill-9-data", 0700), 0);
	assert_true(tree_put("linefill-9-data/file", "x"));
	text_addf(&journal,
		  "data %s/precious\nrmdir %s/precious\ndata %s/linefill-1-link\n"
		  "data\n\nnonsense\nunlink %s/precious/file\ndata relative/linefill-x\n"
		  "data %s/linefill-9-data\nrmdir /\ndata linefill-",
		  tree_folder, tree_folder, tree_folder, tree_folder, tree_folder);
	AUTO_FREE char *scratch = stale_folder("old", text_string(&journal), true, 0);
	workspace_sweep();
	assert_false(exists(scratch));
	assert_true(exists("precious/file"));
	assert_true(exists("linefill-1-link"));
	assert_false(exists("linefill-9-data"));
}

static void test_sweep_minds_names_and_owners(void **state)
{
	(void)state;
	char name[64];
	assert_int_equal(mkdir("linefill-abc", 0700), 0);
	assert_int_equal(mkdir("other", 0700), 0);
	snprintf(name, sizeof(name), "linefill-%u-link", (unsigned)getuid());
	assert_int_equal(symlink("other", name), 0);
	snprintf(name, sizeof(name), "linefill-%u-file", (unsigned)getuid());
	assert_true(tree_put(name, "x"));
	AUTO_FREE char *foreign = stale_folder("foreign", NULL, true, 1000);
	bool given = getuid() == 0 && chown(foreign, 65534, 65534) == 0;
	workspace_sweep();
	assert_true(exists("linefill-abc"));
	assert_true(exists("other"));
	assert_true(exists(name));
	assert_int_equal(exists(foreign), given);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, tree_folder_drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FOLDER(test_life),
		IN_FOLDER(test_one_id_once),
		IN_FOLDER(test_data_beside_scratch),
		IN_FOLDER(test_bad_locations),
		cmocka_unit_test(test_locations),
		IN_FOLDER(test_held_folders),
		IN_FOLDER(test_sweep_after_a_killed_agent),
		IN_FOLDER(test_sweep_leaves_the_living_alone),
		IN_FOLDER(test_sweep_spares_other_marks),
		IN_FOLDER(test_sweep_by_lock_and_age),
		IN_FOLDER(test_hostile_journal),
		IN_FOLDER(test_sweep_minds_names_and_owners),
	};
	return cmocka_run_group_tests(tests, processes_adopt, processes_check);
}
