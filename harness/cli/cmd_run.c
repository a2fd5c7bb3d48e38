#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "datasets/registry.h"
#include "harness/agent/workspace.h"
#include "harness/base/cancel.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/files.h"
#include "harness/base/log.h"
#include "harness/cli/cli.h"
#include "harness/cli/plan_noise.h"
#include "harness/cli/progress.h"
#include "harness/cli/show.h"
#include "harness/cli/show_plan.h"
#include "harness/control/conduct.h"
#include "harness/study/studies.h"
#include "transports/catalog.h"
#include "transports/registry.h"

#define FOLDERS_A_SECOND 100

/* Arguments that may come again and again; ends with NULL. */
struct list {
	char **items;
	size_t count;
};

struct arguments {
	char *out, *dataset, *rounds, *seed, *noise_from, *format;
	struct list words, transports, sets, only, tools;
	struct show_terms show;
	bool plan;
	struct safety_leave leave;
};

static void list_add(struct list *list, char *item)
{
	char **grown = realloc(list->items, (list->count + 2) * sizeof(*grown));
	if (!grown)
		abort();
	list->items = grown;
	grown[list->count++] = item;
	grown[list->count] = NULL;
}

enum {
	KEY_DATASET = 256,
	KEY_ROUNDS,
	KEY_SEED,
	KEY_OUT,
	KEY_SET,
	KEY_CASE,
	KEY_PLAN,
	KEY_NOISE_FROM,
	KEY_FORMAT,
	KEY_TOOLS,
	KEY_ALL_PAIRS,
	KEY_ALLOW_OPEN_LISTENER,
	KEY_ALLOW_PLAINTEXT
};

static const struct argp_option options[] = {
	{ "transport", 't', "TRANSPORT[:OPT=VALUE,...]", 0,
	  "Add a case; again for more. Values separated by blanks are a sweep: "
	  "-t 'multi:streams=1 2 4'",
	  0 },
	{ "dataset", KEY_DATASET, "RECIPE[:OPT=VALUE,...]", 0,
	  "What is copied (default: linux-repo:bytes=256MiB)", 0 },
	{ "rounds", KEY_ROUNDS, "N", 0,
	  "Runs of every case (default: " PLAN_ROUNDS
	  ", or 10 if the first round of all cases takes less than "
	  "10 s)",
	  0 },
	{ "seed", KEY_SEED, "N", 0, "Of the data and of the order of runs (default: 1)", 0 },
	{ "out", KEY_OUT, "DIR", 0,
	  "Results go here; it must be new or empty (default: " RESULTS_FOLDER "/NAME-UTCTIME)",
	  0 },
	{ "set", KEY_SET, "SECTION.KEY=VALUE", 0,
	  "Override a key of the study file, such as study.timeout=30 (s) or 'case "
	  "scp.instances=4'; `linefill list keys` shows all, with units and defaults",
	  0 },
	{ "case", KEY_CASE, "NAME", 0,
	  "Only this case, by the name of its section; again for more (--plan shows them)", 0 },
	{ "plan", KEY_PLAN, 0, 0,
	  "Show cases, order, bytes, estimated time, and which differences the rounds can tell; "
	  "run nothing",
	  0 },
	{ "noise-from", KEY_NOISE_FROM, "DIR", 0,
	  "With --plan: take the scatter of rates from these results (default: the newest of "
	  "this study in " RESULTS_FOLDER ", else 10 %)",
	  0 },
	{ "format", KEY_FORMAT, "table|ttcp", 0,
	  "After the table: nothing, or classic ttcp lines of each case's median run (default: "
	  "table)",
	  0 },
	{ "all-pairs", KEY_ALL_PAIRS, 0, 0, CLI_ALL_PAIRS_HELP, 0 },
	{ "tools", KEY_TOOLS, "DIR", 0, "Also take tool files (*.ini) from this folder", 0 },
	{ "allow-open-listener", KEY_ALLOW_OPEN_LISTENER, 0, 0,
	  "Tools that let anyone in who connects (cap open-listener) may listen beyond the "
	  "loopback, and those that cannot be bound to one address (cap any-address) may run",
	  0 },
	{ "allow-plaintext", KEY_ALLOW_PLAINTEXT, 0, 0,
	  "Your own data (dataset directory) may leave this machine unencrypted", 0 },
	{ 0 },
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	switch (key) {
	case 't':
		list_add(&arguments->transports, argument);
		return 0;
	case KEY_DATASET:
		cli_keep_once(&arguments->dataset, "--dataset", argument, state);
		return 0;
	case KEY_ROUNDS:
		cli_keep_once(&arguments->rounds, "--rounds", argument, state);
		return 0;
	case KEY_SEED:
		cli_keep_once(&arguments->seed, "--seed", argument, state);
		return 0;
	case KEY_OUT:
		cli_keep_once(&arguments->out, "--out", argument, state);
		return 0;
	case KEY_SET:
		list_add(&arguments->sets, argument);
		return 0;
	case KEY_CASE:
		list_add(&arguments->only, argument);
		return 0;
	case KEY_PLAN:
		arguments->plan = true;
		return 0;
	case KEY_ALL_PAIRS:
		arguments->show.all_pairs = true;
		return 0;
	case KEY_NOISE_FROM:
		cli_keep_once(&arguments->noise_from, "--noise-from", argument, state);
		return 0;
	case KEY_TOOLS:
		list_add(&arguments->tools, strdup(argument));
		return 0;
	case KEY_ALLOW_OPEN_LISTENER:
		arguments->leave.open_listener = true;
		return 0;
	case KEY_ALLOW_PLAINTEXT:
		arguments->leave.plaintext = true;
		return 0;
	case KEY_FORMAT:
		cli_keep_once(&arguments->format, "--format", argument, state);
		arguments->show.ttcp = strcmp(argument, "ttcp") == 0;
		if (!arguments->show.ttcp && strcmp(argument, "table") != 0)
			argp_error(state, "--format %s: table and ttcp are known", argument);
		return 0;
	case ARGP_KEY_ARG:
		list_add(&arguments->words, argument);
		return 0;
	case ARGP_KEY_END:
		if (arguments->noise_from && !arguments->plan)
			argp_error(state, "--noise-from belongs to --plan");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[STUDY.ini]",
	.doc = "Race transports over one dataset, verify every copy, and write runs.csv, charts "
	       "and "
	       "report.html.\vSTUDY.ini is a file, or the name of a study that comes with linefill "
	       "(`linefill list studies`). Exit status: 0 when every row is ok, unsupported or "
	       "unavailable; 1 when some other status occurs; 2 for usage and configuration; 130 "
	       "when "
	       "interrupted.",
};

/* ---- the results folder ---- */

/* Named by the second; studies that begin within one get a number. */
static int make_numbered_folder(const struct study *study, char **folder, struct error *err)
{
	char now[CLOCK_UTC_SIZE];
	clock_utc_compact(now);
	if (folder_make_all(RESULTS_FOLDER, err) < 0)
		return -1;
	for (unsigned number = 1; number <= FOLDERS_A_SECOND; number++) {
		AUTO_TEXT path = { 0 };
		text_addf(&path, RESULTS_FOLDER "/%s-%s", study->name, now);
		if (number > 1)
			text_addf(&path, "-%u", number);
		if (mkdir(text_string(&path), 0777) == 0) {
			*folder = text_take(&path);
			return 0;
		}
		if (errno != EEXIST)
			return error_system(err, "make folder %s", text_string(&path));
	}
	return error_set(err, ERROR_SYSTEM, EEXIST, "no free name in " RESULTS_FOLDER);
}

/* Whoever is in a folder that is not theirs has not asked for one here. */
static int make_default_folder(const struct study *study, char **folder, struct error *err)
{
	if (make_numbered_folder(study, folder, err) == 0)
		return 0;
	AUTO_FREE char *where = getcwd(NULL, 0);
	return error_set(
		err, err->kind, err->code,
		"no folder for the results can be made in %.200s (%s): name one with --out",
		where ? where : "this folder", strerror(err->code));
}

/* Where there is one already. */
static int check_new(const char *out, struct error *err)
{
	bool empty = true;
	if (access(out, F_OK) < 0)
		return 0;
	if (folder_is_empty(out, &empty, err) < 0)
		return -1;
	return empty ? 0
		     : error_set(err, ERROR_CONFIG, 0,
				 "%s is not empty: results go to a new folder", out);
}

static int make_folder(const struct study *study, const char *out, char **folder, struct error *err)
{
	if (!out)
		return make_default_folder(study, folder, err);
	if (folder_make_all(out, err) < 0 || check_new(out, err) < 0)
		return -1;
	*folder = strdup(out);
	return 0;
}

/* ---- the verb ---- */

static int conduct(const struct study *study, const struct arguments *arguments, char **argv)
{
	static struct cancel cancel; /* a signal handler knows it */
	struct error err = { 0 };
	struct conduct_outcome outcome;
	AUTO_FREE char *folder = NULL;
	if (cancel_open(&cancel, &err) < 0 || cancel_on_signals(&cancel, &err) < 0 ||
	    make_folder(study, arguments->out, &folder, &err) < 0)
		return cli_fail(&err);
	struct progress *progress = progress_start(study);
	struct conduct_watch watch = progress_watch(progress);
	const struct conduct_order order = {
		.study = study,
		.folder = folder,
		.arguments = (const char *const *)argv,
		.tool_folders = (const char *const *)arguments->tools.items,
		.leave = arguments->leave,
		.cancel = &cancel,
		.watch = &watch,
	};
	int conducted = conduct_study(&order, &outcome, &err);
	progress_end(progress);
	workspace_sweep(); /* after an agent that was killed */
	if (conducted < 0) {
		if (!arguments->out)
			rmdir(folder); /* where nothing could be written */
		return cli_fail(&err);
	}
	cli_print(stdout, "\n");
	int shown = show_results(folder, &arguments->show, &err);
	if (shown < 0)
		cli_fail(&err);
	if (outcome.cancelled)
		return CLI_INTERRUPTED;
	return shown < 0 || !outcome.all_fine ? CLI_RUNS_FAILED : CLI_OK;
}

static void free_lists(struct arguments *arguments)
{
	for (size_t i = 0; i < arguments->tools.count; i++)
		free(arguments->tools.items[i]);
	free(arguments->words.items);
	free(arguments->transports.items);
	free(arguments->sets.items);
	free(arguments->only.items);
	free(arguments->tools.items);
}

/* A folder of tools is found from anywhere, also by agents. */
static int resolve_tools(struct arguments *arguments, struct error *err)
{
	for (size_t i = 0; i < arguments->tools.count; i++) {
		char *whole = realpath(arguments->tools.items[i], NULL);
		if (!whole)
			return error_system(err, "--tools %s", arguments->tools.items[i]);
		free(arguments->tools.items[i]);
		arguments->tools.items[i] = whole;
		catalog_add_folder(whole);
	}
	for (size_t i = 0; catalog_problem(i); i++)
		log_line(LOG_WARNING, "%s", catalog_problem(i));
	for (size_t i = 0; dataset_problem(i); i++)
		log_line(LOG_WARNING, "%s", dataset_problem(i));
	return 0;
}

/* The one word that is no option is a study; people try transports, too. */
static int find_study(const struct arguments *arguments, char **file, struct error *err)
{
	const struct list *words = &arguments->words;
	AUTO_TEXT meant = { 0 };
	for (size_t i = 0; i < words->count; i++) {
		AUTO_FREE char *path = studies_find(words->items[i]);
		AUTO_FREE char *name = strndup(words->items[i], strcspn(words->items[i], ":"));
		if (path && name && access(path, F_OK) < 0 && transport_find(name))
			text_addf(&meant, " -t %s", words->items[i]);
	}
	if (meant.length)
		return error_set(err, ERROR_CONFIG, 0, "transports have a -t: linefill run%s",
				 meant.data);
	if (words->count > 1)
		return error_set(err, ERROR_CONFIG, 0, "one study file is enough: %s or %s",
				 words->items[0], words->items[1]);
	*file = words->count ? studies_find(words->items[0]) : NULL;
	if (!*file || access(*file, F_OK) == 0 || strchr(*file, '/') || strchr(*file, '.'))
		return 0;
	/* A slip of a transport's name is told as one. */
	struct error slip = { 0 };
	if (!catalog_transport(*file, &slip) && strstr(slip.message, "did you mean"))
		return error_set(err, ERROR_CONFIG, 0,
				 "there is no study file '%s'; transports have a -t, and: %s",
				 *file, slip.message);
	return error_set(err, ERROR_CONFIG, 0,
			 "there is no study file '%s', nor a study of that name: `linefill list "
			 "studies` shows those that come with linefill",
			 *file);
}

static int plan(const struct study *study, const struct arguments *arguments)
{
	struct error err = { 0 };
	if (arguments->out && check_new(arguments->out, &err) < 0)
		return cli_fail(&err);
	return show_plan(study, arguments->noise_from, arguments->show.all_pairs, &err) < 0
		       ? cli_fail(&err)
		       : CLI_OK;
}

int cmd_run(int argc, char **argv)
{
	struct arguments arguments = { 0 };
	struct error err = { 0 };
	struct study study;
	int status = CLI_OK;
	cli_parse(&argp, argc, argv, &arguments);
	catalog_load();
	AUTO_FREE char *file = NULL;
	struct study_request request = {
		.transports = (const char *const *)arguments.transports.items,
		.dataset = arguments.dataset,
		.rounds = arguments.rounds,
		.seed = arguments.seed,
		.out = arguments.out ? arguments.out : RESULTS_FOLDER,
		.sets = (const char *const *)arguments.sets.items,
		.only = (const char *const *)arguments.only.items,
	};
	int found = resolve_tools(&arguments, &err) < 0 ? -1 : find_study(&arguments, &file, &err);
	request.file = file;
	if (found < 0 || study_load(&study, &request, &err) < 0) {
		err.kind = ERROR_CONFIG;
		status = cli_fail(&err);
	} else {
		status = arguments.plan ? plan(&study, &arguments)
					: conduct(&study, &arguments, argv);
		study_free(&study);
	}
	free_lists(&arguments);
	return status;
}
