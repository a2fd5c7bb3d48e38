/* Starts the linefill binary for tests, each in a private place, and looks at what it left. For
 * cmocka: whatever goes wrong in here fails the test that called. */
#ifndef LINEFILL_TESTS_CLI_PROGRAM_H
#define LINEFILL_TESTS_CLI_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/api/result.h"
#include "results/csv.h"

/* Longer than anything here takes, even with sanitizers on a busy machine. */
#define PROGRAM_PATIENCE_S 200

/* One test's own folders; none of them is shared with a test that runs at the same time. */
struct bench {
	char root[64];
	char tmp[80];   /* TMPDIR of the program */
	char data[80];  /* [dataset] location */
	char tools[80]; /* tool files, for --tools */
	char out[80];   /* where results go; made by the program */
	char files[80]; /* whatever the test itself needs */
	uid_t uid;      /* whom the program runs as: ours, unless bench_use_ordinary was called */
	bool nameless;  /* and no database knows that user */
	const char *shell; /* of that user; NULL is /bin/sh */
	bool own_mounts;
	/* The program's standard output and error; NULL: they are read into output and error. */
	const char *printed_to, *told_to;
	bool closed[3];          /* descriptors that the program starts without */
	uint64_t file_bytes_max; /* no file of the program may be larger; 0: no limit */
	uint64_t tiny_bytes; /* data is a file system of this size; 0: it is an ordinary folder */
	/* Of the latest program. */
	pid_t pid;
	int status; /* exit status, or 128 + the signal */
	char *output, *error;
	struct results results;
};

/* cmocka's setup and teardown of each test: *state is the bench. */
int bench_open(void **state);
int bench_close(void **state);
#define BENCH_TEST(test) cmocka_unit_test_setup_teardown(test, bench_open, bench_close)

/* The program runs as an ordinary user from now on: ours if we are one, else one made up for the
 * program alone. Skips the test, with a reason, where that cannot be. */
void bench_use_ordinary(struct bench *bench);
/* The same with a user that no database knows; only root can make one. */
void bench_use_nameless(struct bench *bench);
/* The same with a user who has that login shell; only root can make one. */
void bench_use_shell(struct bench *bench, const char *shell);
/* data becomes a file system with room for so many bytes, seen by the program alone. Skips the test
 * where that cannot be. */
void bench_use_tiny_data(struct bench *bench, uint64_t bytes);

/* Writes tools/NAME.ini. */
void bench_add_tool(const struct bench *bench, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* A tool "filler" that, looked for between the making of the dataset and the first run, fills the
 * file system of data. fault_tool: its program. */
void bench_add_filler(const struct bench *bench, const char *fault_tool);
/* Writes files/NAME, making its folders, readable by the program's user; returns nothing: the path
 * is known. */
void bench_add_file(const struct bench *bench, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Starts linefill with these arguments (ends with NULL). In the foreground of nothing: it leads a
 * process group of its own. */
void program_start(struct bench *bench, const char *const *arguments);
/* Waits, and reads what was printed; returns bench->status. */
int program_wait(struct bench *bench);
int program_run(struct bench *bench, const char *const *arguments);
#define PROGRAM_RUN(bench, ...) program_run(bench, (const char *const[]){ __VA_ARGS__, NULL })
/* `run` with --out, --tools and location of the bench, unless the arguments have a location. */
void program_start_study(struct bench *bench, const char *const *arguments);
/* The same to its end; reads runs.csv into bench->results. */
int program_run_study(struct bench *bench, const char *const *arguments);
#define PROGRAM_STUDY(bench, ...) \
	program_run_study(bench, (const char *const[]){ __VA_ARGS__, NULL })
#define PROGRAM_START_STUDY(bench, ...) \
	program_start_study(bench, (const char *const[]){ __VA_ARGS__, NULL })

/* Reads out/runs.csv into bench->results. */
void bench_read_results(struct bench *bench);
/* The file out/NAME; the caller frees. Fails the test where it is not there. */
char *bench_read_out(const struct bench *bench, const char *name);
bool bench_has(const struct bench *bench, const char *path_under_root);
/* The row of that case and round; round 0 is the only one. */
const struct result *bench_row(const struct bench *bench, const char *case_name, int64_t round);

/* No process, folder, file or mount of the program is left. Waits a moment for the last to go. */
void bench_check_clean(const struct bench *bench);
/* The same, for what ends by itself but not at once. */
void bench_check_clean_within(const struct bench *bench, double seconds);

/* Waits for a file that the program, or a tool of it, makes; fails after PROGRAM_PATIENCE_S. */
void bench_await_file(const struct bench *bench, const char *name_under_files);
/* The numbers in such a file: up to count; returns how many. */
size_t bench_read_pids(const struct bench *bench, const char *name_under_files, pid_t *pids,
		       size_t count);
/* The agent that writes out/agent-SIDE.log, a child of the program; waits for it. */
pid_t bench_await_agent(const struct bench *bench, const char *side);
/* The first child of a process, or 0. */
pid_t process_child(pid_t pid);
void rest_s(double seconds);

/* With the row's own words where it is not so. */
#define ASSERT_ROW(row, wanted) assert_row(row, wanted, __FILE__, __LINE__)
void assert_row(const struct result *row, enum result_status wanted, const char *file, int line);
/* The text holds the part; shows the text where it does not. */
#define ASSERT_HOLDS(text, part) assert_holds(text, part, true, __FILE__, __LINE__)
#define ASSERT_LACKS(text, part) assert_holds(text, part, false, __FILE__, __LINE__)
void assert_holds(const char *text, const char *part, bool wanted, const char *file, int line);
/* Exit status; shows what the program said where it differs. */
#define ASSERT_EXIT(bench, wanted) assert_exit(bench, wanted, __FILE__, __LINE__)
void assert_exit(const struct bench *bench, int wanted, const char *file, int line);

#endif
