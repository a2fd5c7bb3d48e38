#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "datasets/registry.h"
#include "harness/agent/verify.h"
#include "harness/base/cancel.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/files.h"
#include "harness/base/overlap.h"
#include "harness/cli/cli.h"

struct arguments {
	char *verb, *recipe, *folder;
	char *manifest, *seed_text, *preserve_text; /* NULL: not said */
	char *words[3];
	uint64_t seed;
	enum preserve preserve;
};

enum { KEY_SEED = 256, KEY_MANIFEST, KEY_PRESERVE };

static const struct argp_option options[] = {
	{ "seed", KEY_SEED, "N", 0, "make: the same seed makes the same bytes (default: 1)", 0 },
	{ "manifest", KEY_MANIFEST, "FILE", 0, "Where the manifest is (default: DIR.manifest)", 0 },
	{ "preserve", KEY_PRESERVE, "content|mode|all", 0,
	  "verify: what must be alike besides names and contents (default: mode)", 0 },
	{ 0 },
};

static void parse_preserve(const char *argument, struct arguments *arguments,
			   struct argp_state *state)
{
	for (int i = 0; preserve_names[i]; i++) {
		if (strcmp(preserve_names[i], argument) != 0)
			continue;
		arguments->preserve = (enum preserve)i;
		return;
	}
	argp_error(state, "--preserve %s: content, mode or all is expected", argument);
}

static void check_words(struct arguments *arguments, struct argp_state *state)
{
	const char *verb = arguments->words[0] ? arguments->words[0] : "";
	if (strcmp(verb, "make") == 0 && arguments->words[2]) {
		arguments->recipe = arguments->words[1];
		arguments->folder = arguments->words[2];
		if (arguments->preserve_text)
			argp_error(state, "--preserve is for `verify`: `make` has no use for it");
	} else if (strcmp(verb, "verify") == 0 && arguments->words[1] && !arguments->words[2]) {
		arguments->folder = arguments->words[1];
		if (arguments->seed_text)
			argp_error(state, "--seed is for `make`: `verify` has no use for it");
	} else {
		argp_error(state, "`make RECIPE[:OPT=VALUE,...] DIR` or `verify DIR` is expected");
	}
	arguments->verb = arguments->words[0];
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	switch (key) {
	case KEY_SEED:
		cli_keep_once(&arguments->seed_text, "--seed", argument, state);
		if (!text_to_u64(argument, &arguments->seed))
			argp_error(state, "--seed %s: a whole number is expected", argument);
		return 0;
	case KEY_MANIFEST:
		cli_keep_once(&arguments->manifest, "--manifest", argument, state);
		return 0;
	case KEY_PRESERVE:
		cli_keep_once(&arguments->preserve_text, "--preserve", argument, state);
		parse_preserve(argument, arguments, state);
		return 0;
	case ARGP_KEY_ARG:
		cli_keep_word(arguments->words, ARRAY_SIZE(arguments->words), argument, state);
		return 0;
	case ARGP_KEY_END:
		check_words(arguments, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "make RECIPE[:OPT=VALUE,...] DIR\nverify DIR",
	.doc = "Make a dataset in DIR (new or empty) with its manifest beside it, or compare what "
	       "is in "
	       "DIR with that manifest. `linefill list datasets` shows the recipes.",
};

static int empty_folder(const char *path, struct error *err)
{
	bool empty = true;
	if (folder_make_all(path, err) < 0 || folder_is_empty(path, &empty, err) < 0)
		return -1;
	return empty ? 0
		     : error_set(err, ERROR_CONFIG, 0,
				 "%s is not empty: a dataset goes to a new folder", path);
}

static void print_manifest(const struct manifest *manifest)
{
	char digest[MANIFEST_DIGEST_SIZE], bytes[32];
	manifest_digest_text(manifest, digest);
	cli_print(stdout, "%llu files, %llu folders, %llu links, %s (%llu bytes), digest %s\n",
		  (unsigned long long)manifest->files, (unsigned long long)manifest->folders,
		  (unsigned long long)manifest->links,
		  text_from_bytes(bytes, sizeof(bytes), manifest->bytes),
		  (unsigned long long)manifest->bytes, digest);
}

/* A tree is copied, and not into itself. */
static int check_own_tree(const struct dataset *dataset, const void *values,
			  const struct arguments *arguments, const char *manifest_path,
			  struct error *err)
{
	const char *tree = dataset->reads ? dataset->reads(values) : NULL;
	const char *const paths[] = { arguments->folder, manifest_path };
	if (!tree)
		return 0;
	if (dataset->in_place && dataset->in_place(values))
		return error_set(err, ERROR_CONFIG, 0,
				 "use=place makes nothing in %s: take use=copy", arguments->folder);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		enum overlap overlap = OVERLAP_NONE;
		if (overlap_find(paths[i], tree, &overlap, err) < 0)
			return -1;
		if (overlap == OVERLAP_SAME || overlap == OVERLAP_INSIDE)
			return error_set(err, ERROR_CONFIG, 0,
					 "%s lies in %s, which is to be copied: name another place",
					 paths[i], tree);
	}
	return 0;
}

static int make(const struct arguments *arguments, const char *manifest_path,
		const struct cancel *cancel, struct error *err)
{
	char *items = strchr(arguments->recipe, ':');
	struct manifest manifest = { 0 };
	if (items)
		*items++ = '\0';
	const struct dataset *dataset = dataset_get(arguments->recipe, err);
	AUTO_FREE void *values = calloc(1, dataset ? dataset->options_size + 1 : 1);
	struct dataset_estimate estimate;
	if (!dataset || !values || option_defaults(dataset->options, values, err) < 0 ||
	    option_set_all(dataset->options, values, items ? items : "", err) < 0 ||
	    (dataset->settle && dataset->settle(values, err) < 0) ||
	    dataset->plan(values, &estimate, err) < 0 ||
	    check_own_tree(dataset, values, arguments, manifest_path, err) < 0 ||
	    empty_folder(arguments->folder, err) < 0)
		return -1;
	const struct dataset_job job = { .options = values,
					 .seed = arguments->seed,
					 .root = arguments->folder,
					 .manifest = &manifest,
					 .cancel = cancel,
					 .deadline_ns = CLOCK_NEVER };
	int outcome = dataset->make(&job, err);
	if (outcome == 0)
		outcome = manifest_save(&manifest, manifest_path, err);
	if (outcome == 0)
		print_manifest(&manifest);
	manifest_free(&manifest);
	return outcome;
}

static int verify(const struct arguments *arguments, const char *manifest_path,
		  const struct cancel *cancel, struct error *err)
{
	const struct io_limit limit = { .deadline_ns = CLOCK_NEVER, .cancel = cancel };
	struct manifest manifest = { 0 };
	struct manifest_found found;
	const struct verify_order order = { .wanted = &manifest,
					    .preserve = arguments->preserve,
					    .root = arguments->folder };
	if (manifest_load(&manifest, manifest_path, err) < 0)
		return -1;
	int outcome = verify_copy(&order, &found, &limit, err);
	if (outcome == 0)
		print_manifest(&manifest);
	manifest_free(&manifest);
	return outcome;
}

static char *default_manifest(const char *folder)
{
	AUTO_TEXT path = { 0 };
	size_t length = strlen(folder);
	while (length > 1 && folder[length - 1] == '/')
		length--;
	text_add_bytes(&path, folder, length);
	text_add(&path, ".manifest");
	return text_take(&path);
}

int cmd_dataset(int argc, char **argv)
{
	static struct cancel cancel; /* a signal handler knows it */
	struct arguments arguments = { .seed = 1, .preserve = PRESERVE_MODE };
	struct error err = { 0 };
	cli_parse(&argp, argc, argv, &arguments);
	if (cancel_open(&cancel, &err) < 0 || cancel_on_signals(&cancel, &err) < 0)
		return cli_fail(&err);
	AUTO_FREE char *manifest = arguments.manifest ? strdup(arguments.manifest)
						      : default_manifest(arguments.folder);
	int outcome = strcmp(arguments.verb, "make") == 0
			      ? make(&arguments, manifest, &cancel, &err)
			      : verify(&arguments, manifest, &cancel, &err);
	return outcome < 0 ? cli_fail(&err) : CLI_OK;
}
