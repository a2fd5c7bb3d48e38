#include "tests/cli/program.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/files.h"
#include "tests/cli/world.h"

#define OUTPUT_MAX (16u << 20)
#define ROOM_BYTES (256u << 20)
#define ARGUMENTS  256
#define LOOK_S     0.01

void rest_s(double seconds)
{
	usleep((useconds_t)(seconds * 1e6));
}

/* ---- the place ---- */

static const char *base_folder(void)
{
	uint64_t room = 0;
	bool ram = access("/dev/shm", W_OK) == 0 &&
		   folder_free_bytes("/dev/shm", &room, NULL) == 0 && room > ROOM_BYTES;
	return ram ? "/dev/shm" : "/tmp";
}

static void make_part(struct bench *bench, char *path, size_t size, const char *name)
{
	snprintf(path, size, "%.60s/%s", bench->root, name);
	if (strcmp(name, "out") != 0)
		assert_return_code(mkdir(path, 0700), errno);
}

int bench_open(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	if (!bench)
		abort();
	if (access(LINEFILL_PROGRAM, X_OK) < 0) {
		print_error("%s: %s\n", LINEFILL_PROGRAM, strerror(errno));
		return -1;
	}
	snprintf(bench->root, sizeof(bench->root), "%s/lf-bench-XXXXXX", base_folder());
	if (!mkdtemp(bench->root))
		return -1;
	/* Whatever escapes from its parent becomes ours, so that it can be seen. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return -1;
	bench->uid = geteuid();
	make_part(bench, bench->tmp, sizeof(bench->tmp), "tmp");
	make_part(bench, bench->data, sizeof(bench->data), "data");
	make_part(bench, bench->tools, sizeof(bench->tools), "tools");
	make_part(bench, bench->out, sizeof(bench->out), "out");
	make_part(bench, bench->files, sizeof(bench->files), "files");
	*state = bench;
	return 0;
}

static void end_children(void)
{
	for (int tries = 0; tries < 200; tries++) {
		pid_t child = process_child(getpid());
		if (child <= 0)
			return;
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
}

int bench_close(void **state)
{
	struct bench *bench = *state;
	end_children();
	results_free(&bench->results);
	free(bench->output);
	free(bench->error);
	int removed = folder_remove(bench->root, NULL);
	free(bench);
	return removed;
}

static void give(const char *path, uid_t uid)
{
	assert_return_code(lchown(path, uid, (gid_t)uid), errno);
}

static void use_another(struct bench *bench)
{
	const struct world world = { .uid = world_free_uid(), .nameless = bench->nameless };
	const char *problem = world_check(&world);
	if (problem) {
		print_message("no ordinary user can be had here: %s\n", problem);
		skip();
	}
	bench->uid = world_free_uid();
	const char *const folders[] = { bench->root, bench->tmp, bench->data, bench->tools,
					bench->files };
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		give(folders[i], bench->uid);
}

void bench_use_ordinary(struct bench *bench)
{
	if (geteuid() == 0)
		use_another(bench);
}

static void need_root(void)
{
	if (geteuid() == 0)
		return;
	print_message("only root can make such a user\n");
	skip();
}

void bench_use_nameless(struct bench *bench)
{
	need_root();
	bench->nameless = true;
	use_another(bench);
}

void bench_use_shell(struct bench *bench, const char *shell)
{
	need_root();
	bench->shell = shell;
	use_another(bench);
}

void bench_use_tiny_data(struct bench *bench, uint64_t bytes)
{
	bench->tiny_bytes = bytes;
	const char *problem = world_check(
		&(struct world){ .uid = geteuid(), .tiny = bench->data, .tiny_bytes = bytes });
	if (!problem)
		return;
	print_message("no small file system can be had here: %s\n", problem);
	skip();
}

__attribute__((format(printf, 2, 0))) static void
write_formatted(const char *path, const char *format, va_list arguments)
{
	AUTO_FREE char *text = NULL;
	struct error err = { 0 };
	if (vasprintf(&text, format, arguments) < 0)
		abort();
	if (file_write_all(path, text, strlen(text), 0644, &err) < 0)
		fail_msg("%s", err.message);
}

void bench_add_tool(const struct bench *bench, const char *name, const char *format, ...)
{
	char path[160];
	va_list arguments;
	snprintf(path, sizeof(path), "%s/%.60s.ini", bench->tools, name);
	va_start(arguments, format);
	write_formatted(path, format, arguments);
	va_end(arguments);
	give(path, bench->uid);
}

void bench_add_filler(const struct bench *bench, const char *fault_tool)
{
	bench_add_tool(bench, "filler", "[tool]\nrun = %s\nprobe = %s fill %s\n", fault_tool,
		       fault_tool, bench->data);
}

void bench_add_file(const struct bench *bench, const char *name, const char *format, ...)
{
	char path[400];
	struct error err = { 0 };
	va_list arguments;
	snprintf(path, sizeof(path), "%s/%.300s", bench->files, name);
	for (char *slash = path + strlen(bench->files) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		if (folder_make_all(path, &err) < 0)
			fail_msg("%s", err.message);
		give(path, bench->uid);
		*slash = '/';
	}
	va_start(arguments, format);
	write_formatted(path, format, arguments);
	va_end(arguments);
	give(path, bench->uid);
}

/* ---- the program ---- */

static int open_capture(const struct bench *bench, const char *name)
{
	AUTO_FREE char *path = path_join(bench->root, name);
	return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

/* What a sanitizer finds must not look like an exit status of the program's own. */
static void tell_sanitizers(void)
{
	static const char *const names[] = { "ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS",
					     "TSAN_OPTIONS" };
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		AUTO_TEXT value = { 0 };
		const char *old = getenv(names[i]);
		text_addf(&value, "%s%sexitcode=99", old ? old : "", old ? ":" : "");
		setenv(names[i], text_string(&value), 1);
	}
}

static int limit_files(const struct bench *bench)
{
	const struct rlimit limit = { bench->file_bytes_max, bench->file_bytes_max };
	return bench->file_bytes_max ? setrlimit(RLIMIT_FSIZE, &limit) : 0;
}

/* In the child: never returns. */
_Noreturn static void become(const struct bench *bench, const char *const *arguments)
{
	const char *argv[ARGUMENTS] = { LINEFILL_PROGRAM };
	for (size_t i = 0; arguments[i] && i + 2 < ARGUMENTS; i++)
		argv[i + 1] = arguments[i];
	int output = open_capture(bench, "stdout");
	if (bench->printed_to)
		output = open(bench->printed_to, O_WRONLY | O_CLOEXEC);
	int error = open_capture(bench, "stderr");
	if (bench->told_to)
		error = open(bench->told_to, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(error, 2) < 0 || setpgid(0, 0) < 0)
		_exit(121);
	setenv("TMPDIR", bench->tmp, 1);
	setenv("HOME", bench->root, 1);
	unsetenv("XDG_CONFIG_HOME");
	setenv("LC_ALL", "C", 1);
	umask(022);
	tell_sanitizers();
	const char *problem = world_enter(&(struct world){ .uid = bench->uid,
							   .nameless = bench->nameless,
							   .shell = bench->shell,
							   .home = bench->root,
							   .tiny = bench->data,
							   .tiny_bytes = bench->tiny_bytes });
	if (problem) {
		fprintf(stderr, "test: %s\n", problem);
	} else if (chdir(bench->files) == 0 && limit_files(bench) == 0) {
		for (int number = 0; number <= 2; number++)
			if (bench->closed[number])
				close(number);
		execv(argv[0], (char *const *)argv);
	}
	_exit(122);
}

void program_start(struct bench *bench, const char *const *arguments)
{
	bench->pid = fork();
	assert_return_code(bench->pid, errno);
	if (bench->pid == 0)
		become(bench, arguments);
	setpgid(bench->pid, bench->pid);
}

static char *read_capture(const struct bench *bench, const char *name)
{
	char *text = NULL;
	AUTO_FREE char *path = path_join(bench->root, name);
	return file_read_all(path, OUTPUT_MAX, &text, NULL, NULL) == 0 ? text : strdup("");
}

int program_wait(struct bench *bench)
{
	int64_t deadline = clock_deadline_ns(PROGRAM_PATIENCE_S);
	int status = 0;
	pid_t ended;
	while ((ended = waitpid(bench->pid, &status, WNOHANG)) == 0 && clock_now_ns() < deadline)
		rest_s(LOOK_S);
	if (ended == 0)
		kill(-bench->pid, SIGKILL);
	free(bench->output);
	free(bench->error);
	bench->output = read_capture(bench, "stdout");
	bench->error = read_capture(bench, "stderr");
	bench->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	if (ended == 0)
		fail_msg("it still runs after %d s: %s", PROGRAM_PATIENCE_S, bench->error);
	assert_int_equal(ended, bench->pid);
	return bench->status;
}

int program_run(struct bench *bench, const char *const *arguments)
{
	program_start(bench, arguments);
	return program_wait(bench);
}

void program_start_study(struct bench *bench, const char *const *arguments)
{
	char location[128];
	const char *all[ARGUMENTS] = { "run", "--out", bench->out, "--tools", bench->tools };
	size_t count = 5;
	bool located = false;
	snprintf(location, sizeof(location), "dataset.location=%s", bench->data);
	for (size_t i = 0; arguments[i]; i++) {
		assert_true(count + 3 < ARGUMENTS);
		located |= strstr(arguments[i], "location=") != NULL;
		all[count++] = arguments[i];
	}
	if (!located) {
		all[count++] = "--set";
		all[count++] = location;
	}
	program_start(bench, all);
}

int program_run_study(struct bench *bench, const char *const *arguments)
{
	program_start_study(bench, arguments);
	program_wait(bench);
	if (bench->status == 2)
		fail_msg("it refused: %s", bench->error);
	bench_read_results(bench);
	return bench->status;
}

/* ---- what came out ---- */

void bench_read_results(struct bench *bench)
{
	struct error err = { 0 };
	AUTO_FREE char *path = path_join(bench->out, "runs.csv");
	results_free(&bench->results);
	bench->results = (struct results){ 0 };
	if (csv_read_results(path, &bench->results, &err) < 0)
		fail_msg("%s\n%s", err.message, bench->error ? bench->error : "");
}

char *bench_read_out(const struct bench *bench, const char *name)
{
	char *text = NULL;
	struct error err = { 0 };
	AUTO_FREE char *path = path_join(bench->out, name);
	if (file_read_all(path, OUTPUT_MAX, &text, NULL, &err) < 0)
		fail_msg("%s", err.message);
	return text;
}

bool bench_has(const struct bench *bench, const char *path_under_root)
{
	AUTO_FREE char *path = path_join(bench->root, path_under_root);
	return access(path, F_OK) == 0;
}

const struct result *bench_row(const struct bench *bench, const char *case_name, int64_t round)
{
	const struct result *found = NULL;
	for (size_t i = 0; i < bench->results.count; i++) {
		const struct result *row = &bench->results.rows[i];
		if (strcmp(row->case_name, case_name) != 0 || (round && row->round != round))
			continue;
		if (found)
			fail_msg("two rows of case %s, round %d", case_name, (int)row->round);
		found = row;
	}
	if (!found)
		fail_msg("no row of case %s, round %d, among %zu", case_name, (int)round,
			 bench->results.count);
	return found;
}

/* ---- while it runs ---- */

pid_t process_child(pid_t pid)
{
	char path[64];
	int child = 0;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	AUTO_FILE file = fopen(path, "re");
	return file && fscanf(file, "%d", &child) == 1 ? child : 0;
}

static bool still_runs(const struct bench *bench)
{
	siginfo_t info = { 0 };
	return waitid(P_PID, (id_t)bench->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == 0;
}

void bench_await_file(const struct bench *bench, const char *name)
{
	int64_t deadline = clock_deadline_ns(PROGRAM_PATIENCE_S);
	AUTO_FREE char *path = path_join(bench->files, name);
	while (access(path, F_OK) < 0) {
		if (!still_runs(bench) || clock_now_ns() > deadline) {
			AUTO_FREE char *said = read_capture(bench, "stderr");
			fail_msg("%s was not made: %s", path, said);
		}
		rest_s(LOOK_S);
	}
}

size_t bench_read_pids(const struct bench *bench, const char *name, pid_t *pids, size_t count)
{
	size_t found = 0;
	AUTO_FREE char *path = path_join(bench->files, name);
	AUTO_FILE file = fopen(path, "re");
	assert_non_null(file);
	for (int pid; found < count && fscanf(file, "%d", &pid) == 1;)
		pids[found++] = pid;
	return found;
}

static bool writes_to(pid_t pid, const char *ending)
{
	char path[64], target[512];
	snprintf(path, sizeof(path), "/proc/%d/fd/2", (int)pid);
	ssize_t length = readlink(path, target, sizeof(target) - 1);
	if (length < 0)
		return false;
	target[length] = '\0';
	const char *name = strrchr(target, '/');
	return name && strcmp(name + 1, ending) == 0;
}

static pid_t find_agent(const struct bench *bench, const char *log)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)bench->pid, (int)bench->pid);
	AUTO_FILE file = fopen(path, "re");
	for (int pid; file && fscanf(file, "%d", &pid) == 1;)
		if (writes_to(pid, log))
			return pid;
	return 0;
}

pid_t bench_await_agent(const struct bench *bench, const char *side)
{
	int64_t deadline = clock_deadline_ns(PROGRAM_PATIENCE_S);
	char log[64];
	pid_t agent = 0;
	snprintf(log, sizeof(log), "agent-%s.log", side);
	while ((agent = find_agent(bench, log)) == 0 && clock_now_ns() < deadline)
		rest_s(LOOK_S);
	if (agent == 0)
		fail_msg("there is no %s agent", side);
	return agent;
}

/* ---- checks ---- */

void assert_row(const struct result *row, enum result_status wanted, const char *file, int line)
{
	bool same = row->status == (int64_t)wanted;
	bool proven = wanted != STATUS_OK || row->verified != VERIFIED_NO;
	if (same && proven)
		return;
	print_error("case %s, round %d: status %s, verified %s, error '%s'\n", row->case_name,
		    (int)row->round, result_status_names[row->status],
		    result_verified_names[row->verified], row->error);
	_fail(file, line);
}

void assert_holds(const char *text, const char *part, bool wanted, const char *file, int line)
{
	if ((strstr(text, part) != NULL) == wanted)
		return;
	print_error("'%s' is %s:\n%.4000s\n", part, wanted ? "not in" : "in", text);
	_fail(file, line);
}

void assert_exit(const struct bench *bench, int wanted, const char *file, int line)
{
	if (bench->status == wanted)
		return;
	print_error("exit status %d instead of %d\n%s\n%s\n", bench->status, wanted, bench->output,
		    bench->error);
	_fail(file, line);
}
