/* One file a verb. Only this folder prints and exits. */
#ifndef LINEFILL_CLI_CLI_H
#define LINEFILL_CLI_CLI_H

#include <argp.h>
#include <stdio.h>

#include "harness/base/error.h"

enum cli_exit {
	CLI_OK = 0,
	CLI_RUNS_FAILED = 1, /* some row is neither ok, unsupported nor unavailable */
	CLI_USAGE = 2,       /* usage or configuration */
	CLI_INTERRUPTED = 130,
};

/* argv[0] is the verb. The return value is the exit status. */
int cmd_run(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_dataset(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_tool(int argc, char **argv);
int cmd_agent(int argc, char **argv);
int cmd_receive(int argc, char **argv);

/* What --all-pairs of `run` and `report` does. */
#define CLI_ALL_PAIRS_HELP                                                                     \
	"Hold every case against every other, not only the fastest (or the study's baseline) " \
	"against each"

/* argp_parse, but an unknown long option is answered with the nearest known one. Ends the process
 * with CLI_USAGE on errors and CLI_OK after --help. */
void cli_parse(const struct argp *argp, int argc, char **argv, void *input);
/* For ARGP_KEY_ARG: the word goes to the first of the places that is still NULL; one too many is a
 * usage error. */
void cli_keep_word(char **places, size_t size, char *word, struct argp_state *state);
/* For an option that has one value: a second, different one is a usage error. */
void cli_keep_once(char **place, const char *option, char *value, struct argp_state *state);
/* To be called first: whatever the process prints on standard output is written when it exits, or
 * else it says so and the exit status is not 0. */
void cli_watch_output(void);
/* The one way to print what may quote a file, a tool or another program: whatever drives terminals
 * is shown escaped, but for the ends of lines. */
void cli_print(FILE *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints "linefill: message" on standard error; returns the exit status for its kind. */
int cli_fail(const struct error *err);

#endif
