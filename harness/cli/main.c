#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/standard.h"
#include "harness/base/text.h"
#include "harness/cli/cli.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help; /* NULL: internal */
} verbs[] = {
	{ "run", cmd_run,
	  "race transports over one dataset, verify every copy, write the results" },
	{ "list", cmd_list,
	  "show transports, datasets, studies, a study file's keys, fields of runs.csv" },
	{ "dataset", cmd_dataset, "make a dataset in a folder, or verify one" },
	{ "report", cmd_report, "write a study's summary, charts and report again" },
	{ "tool", cmd_tool, "say what is wrong with a tool file, with a trial copy" },
	{ "agent", cmd_agent, NULL },
	{ "receive", cmd_receive, NULL },
};

static void print_help(FILE *to)
{
	fputs("Usage: linefill VERB [ARGUMENT...]\n"
	      "Which copy tool fills my line, how sure is that, and what stops the others?\n\n",
	      to);
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (verbs[i].help)
			fprintf(to, "  %-10s %s\n", verbs[i].name, verbs[i].help);
	fputs("\n  --help     this text; `linefill VERB --help` for a verb's options\n"
	      "  --version  linefill's version\n\n"
	      "Start with: linefill run -t scp -t rsync-ssh -t multi:streams=4\n",
	      to);
}

static int unknown_verb(const char *verb)
{
	const char *known[ARRAY_SIZE(verbs) + 1] = { 0 };
	size_t count = 0;
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (verbs[i].help)
			known[count++] = verbs[i].name;
	const char *near = text_nearest_in(verb, known);
	char shown[256];
	text_escape_terminal(shown, sizeof(shown), verb);
	if (near)
		fprintf(stderr, "linefill: unknown verb '%s': did you mean '%s'?\n", shown, near);
	else
		fprintf(stderr, "linefill: unknown verb '%s': `linefill --help` shows them\n",
			shown);
	return CLI_USAGE;
}

static int run_verb(int argc, char **argv)
{
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (strcmp(verbs[i].name, argv[0]) == 0)
			return verbs[i].run(argc, argv);
	return unknown_verb(argv[0]);
}

static int too_many(const char *word)
{
	cli_print(stderr, "linefill: too many arguments: %s is one more than expected\n", word);
	return CLI_USAGE;
}

/* Of all, or of one verb. */
static int help(int argc, char **argv)
{
	char *asked[] = { argc > 0 ? argv[0] : NULL, (char[]){ "--help" }, NULL };
	if (argc > 1)
		return too_many(argv[1]);
	if (argc > 0 && strcmp(argv[0], "help") != 0)
		return run_verb(2, asked);
	print_help(stdout);
	return CLI_OK;
}

int main(int argc, char **argv)
{
	standard_start();
	cli_watch_output();
	/* With it, options behind the first argument would be taken for arguments. */
	unsetenv("POSIXLY_CORRECT");
	if (argc < 2) {
		print_help(stderr);
		return CLI_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0)
		return help(argc - 2, argv + 2);
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		if (argc > 2)
			return too_many(argv[2]);
		printf("linefill %s\n", LINEFILL_VERSION);
		return CLI_OK;
	}
	return run_verb(argc - 1, argv + 1);
}
