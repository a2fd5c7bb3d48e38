#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/agent/workspace.h"
#include "harness/base/cancel.h"
#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/random.h"
#include "harness/cli/cli.h"
#include "harness/cli/progress.h"
#include "harness/control/conduct.h"
#include "harness/services/probing.h"
#include "transports/catalog.h"
#include "transports/tool/tool.h"
#include "transports/tool/tool_file.h"

/* A trial that takes longer will not end: seconds, as text. */
#define TRIAL_S "60"

struct arguments {
	char *words[2]; /* what to do, and the file */
	bool no_copy;
};

enum { KEY_NO_COPY = 256 };

static const struct argp_option options[] = {
	{ "no-copy", KEY_NO_COPY, 0, 0, "Read the file and look for the programs; copy nothing",
	  0 },
	{ 0 },
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	switch (key) {
	case KEY_NO_COPY:
		arguments->no_copy = true;
		return 0;
	case ARGP_KEY_ARG:
		cli_keep_word(arguments->words, ARRAY_SIZE(arguments->words), argument, state);
		return 0;
	case ARGP_KEY_END:
		if (!arguments->words[0] || strcmp(arguments->words[0], "check") != 0)
			argp_error(state, "what shall be done? (known is: check)");
		if (!arguments->words[1])
			argp_error(state, "which file?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "check FILE.ini",
	.doc = "Say what is wrong with a tool file: mistakes with line and key, programs that are "
	       "not there, a version that the pattern does not match, a trial copy of 1 MiB that "
	       "does not come out right.\vTool files are code: their commands are run as you. Exit "
	       "status: 0 when all is well, 1 when the tool is not there or the copy failed, 2 for "
	       "mistakes in the file.",
};

/* ---- the trial ---- */

/* The most that the file says it can keep. */
static enum preserve strongest(const struct tool_file *file)
{
	for (int preserve = PRESERVE_ALL; preserve > PRESERVE_CONTENT; preserve--)
		if (file->preserve[preserve])
			return (enum preserve)preserve;
	return PRESERVE_CONTENT;
}

static int show_row(const struct result *row)
{
	char shown[2 * sizeof(row->error)];
	bool counted = row->verified == VERIFIED_COUNT;
	if (row->status == STATUS_OK) {
		cli_print(stdout, "trial copy: ok, %s, preserve = %s, %.3f s\n",
			  counted ? "bytes counted" : "verified", row->preserve, row->total_s);
		return CLI_OK;
	}
	text_escape_terminal(shown, sizeof(shown), row->error);
	cli_print(stdout, "trial copy: %s: %s\n", result_status_names[row->status], shown);
	return row->status == STATUS_CANCELLED ? CLI_INTERRUPTED : CLI_RUNS_FAILED;
}

struct trial {
	struct result *row;
	struct progress *progress;
};

static void on_phase(const char *what, void *context)
{
	progress_say(((struct trial *)context)->progress, what);
}

static void on_run_started(const struct study_case *item, int round, size_t position, size_t count,
			   void *context)
{
	(void)item;
	(void)round;
	(void)position;
	(void)count;
	progress_say(((struct trial *)context)->progress,
		     "trial copy; a tool that hangs is ended after " TRIAL_S " s");
}

static void keep_row(const struct result *row, void *context)
{
	*((struct trial *)context)->row = *row;
}

/* The file's folder, as agents know it. */
static char *folder_of(const char *path, struct error *err)
{
	AUTO_FREE char *whole = realpath(path, NULL);
	if (!whole) {
		error_system(err, "%s", path);
		return NULL;
	}
	char *slash = strrchr(whole, '/');
	slash[slash == whole] = '\0';
	return strdup(whole);
}

static int conduct(const struct study *study, const char *folder, const char *tools,
		   struct result *row, struct error *err)
{
	static struct cancel cancel; /* a signal handler knows it */
	const char *folders[] = { tools, NULL };
	struct conduct_outcome outcome;
	struct trial trial = { .row = row };
	const struct conduct_watch watch = { .phase = on_phase,
					     .run_started = on_run_started,
					     .run_ended = keep_row,
					     .context = &trial };
	const struct conduct_order order = { .study = study,
					     .folder = folder,
					     .tool_folders = folders,
					     .cancel = &cancel,
					     .watch = &watch };
	if (cancel_open(&cancel, err) < 0 || cancel_on_signals(&cancel, err) < 0)
		return -1;
	trial.progress = progress_start_waiting();
	int result = conduct_study(&order, &outcome, err);
	progress_end(trial.progress);
	return result;
}

static int try_in(const struct tool_file *file, const char *scratch, const char *tools,
		  struct result *row, struct error *err)
{
	char preserve[40];
	bool one = file->caps & (CAP_SINGLE_FILE | CAP_MEMORY);
	const char *transports[] = { file->name, NULL };
	const char *sets[] = { "study.rounds=1", "study.timeout=" TRIAL_S, preserve, NULL };
	const struct study_request request = { .transports = transports,
					       .dataset = one ? "single:bytes=1MiB"
							      : "small-files:files=16,size=64KiB",
					       .sets = sets };
	struct study study;
	AUTO_FREE char *folder = path_join(scratch, "trial");
	snprintf(preserve, sizeof(preserve), "study.preserve=%s", preserve_names[strongest(file)]);
	if (mkdir(folder, 0700) < 0)
		return error_system(err, "make folder %s", folder);
	if (study_load(&study, &request, err) < 0)
		return -1;
	int result = conduct(&study, folder, tools, row, err);
	study_free(&study);
	return result;
}

/* Through agents, workers and verification, as any other run. */
static int try_copy(const char *path, const struct tool_file *file)
{
	struct error err = { 0 };
	struct workspace workspace = WORKSPACE_NONE;
	struct result row;
	char unique[9], id[24];
	random_secret_hex(unique, 4);
	snprintf(id, sizeof(id), "tool-%s", unique);
	result_init(&row);
	AUTO_FREE char *tools = folder_of(path, &err);
	if (!tools)
		return cli_fail(&err);
	catalog_add_folder(tools);
	if (workspace_open(&workspace, id, &err) < 0)
		return cli_fail(&err);
	int tried = try_in(file, workspace.scratch, tools, &row, &err);
	workspace_close(&workspace);
	workspace_sweep(); /* after an agent that was killed */
	return tried < 0 ? cli_fail(&err) : show_row(&row);
}

/* ---- the verb ---- */

static int show_probe(const struct transport *transport)
{
	struct probing asked = { .transport = transport, .probe.side = transport->driver };
	struct error err = { 0 };
	char shown[2 * sizeof(err.message)];
	cli_print(stdout, "%s: %s\n", transport->name, transport->summary);
	fflush(stdout);
	struct progress *progress = progress_start_waiting();
	progress_say(progress, "asking its programs for their version");
	int usable = probing_run(&asked, 1, -1, NULL, &err);
	if (usable == 0 && asked.error.kind != ERROR_NONE) {
		err = asked.error;
		usable = -1;
	}
	progress_end(progress);
	if (usable == 0) {
		text_escape_terminal(shown, sizeof(shown), asked.probe.version);
		cli_print(stdout, "program: %s%s%s\n", asked.probe.path, *shown ? ", version " : "",
			  shown);
		fflush(stdout); /* before the wait for the trial */
		return CLI_OK;
	}
	text_escape_terminal(shown, sizeof(shown), err.message);
	cli_print(stdout, "not available: %s\n", shown);
	return CLI_RUNS_FAILED;
}

static int check(const char *path, bool copy)
{
	struct transport *transport = NULL;
	struct error err = { 0 };
	size_t length = strlen(path);
	if (tool_load(path, &transport, &err) < 0) {
		err.kind = ERROR_CONFIG;
		return cli_fail(&err);
	}
	int status = show_probe(transport);
	if (status == CLI_OK && copy) {
		if (length > 4 && strcmp(path + length - 4, ".ini") == 0)
			status = try_copy(path, tool_description(transport));
		else
			cli_print(stdout, "no trial copy: only files named *.ini are found\n");
	}
	tool_free(transport);
	return status;
}

int cmd_tool(int argc, char **argv)
{
	struct arguments arguments = { 0 };
	cli_parse(&argp, argc, argv, &arguments);
	catalog_load();
	return check(arguments.words[1], !arguments.no_copy);
}
