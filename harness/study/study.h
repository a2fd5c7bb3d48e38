/* What a user asks for: a study file, the command line, or both, made into settings and cases. */
#ifndef LINEFILL_STUDY_STUDY_H
#define LINEFILL_STUDY_STUDY_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/api/dataset.h"
#include "harness/api/transport.h"
#include "harness/base/error.h"
#include "harness/base/option.h"

enum durability { DURABILITY_NONE, DURABILITY_FLUSH };
enum cache_state { CACHE_WARM, CACHE_COLD };
enum memory_state { MEMORY_BACKED, MEMORY_AS_IS };

/* Rounds where the user sets none; see plan_rounds_after. */
#define PLAN_ROUNDS "5"

/* [study] */
struct study_settings {
	char title[OPTION_TEXT_SIZE], baseline[OPTION_TEXT_SIZE];
	uint64_t rounds, seed;
	int durability, cache, memory, preserve;
	double timeout_s; /* of one run, from go */
};

/* [ssh]: "" leaves the tools' own default (written tool-default). */
struct study_ssh {
	char cipher[OPTION_TEXT_SIZE], mac[OPTION_TEXT_SIZE];
};

/* [hosts] */
struct study_hosts {
	int source, sink;
};

/* What [dataset] has besides the recipe's own options. */
struct study_place {
	char recipe[OPTION_TEXT_SIZE];
	char location[OPTION_TEXT_SIZE]; /* "ram" or a folder; of the copies too, unless target is
					    set */
	char target[OPTION_TEXT_SIZE];
};

struct study_case {
	char *name, *label; /* each of them differs from every other case's; as rows have them,
			       escaped and not too long */
	char *label_where;  /* "study.ini:12"; NULL: the label is made */
	char *section;      /* "case scp", as --set wants it */
	char *transport_name;
	const struct transport *transport; /* NULL: this build lacks it, missing says why */
	struct error missing;
	void *options;      /* parsed */
	char *options_text; /* canonical, what differs from the defaults */
	char *factors;      /* swept options: "streams=4;block=1MiB" */
	uint64_t instances;
};

struct study {
	struct study_settings settings;
	struct study_ssh ssh;
	struct study_hosts hosts;
	struct study_place place;
	const struct dataset *dataset;
	void *dataset_options;
	struct dataset_estimate dataset_estimate;
	char *dataset_text; /* "recipe:key=value,..." */
	struct study_case *cases;
	size_t cases_count;
	char *name;      /* for the results folder: the study file's name, or the transports' */
	char *title;     /* the report's heading */
	char *baseline;  /* name of the case that is held against each other, or NULL */
	bool rounds_set; /* by the user: they are not changed by how long a round takes */
};

/* The command line's part. Arrays end with NULL; a NULL array is empty. */
struct study_request {
	const char *file;
	const char *const *transports; /* -t TRANSPORT[:opt=value,...] */
	const char *dataset;           /* --dataset RECIPE[:opt=value,...] */
	const char *rounds, *seed;     /* --rounds N, --seed N; NULL: the file's */
	const char *out;               /* where the results will be, for what must not be there */
	const char *const *sets;       /* --set SECTION.KEY=VALUE */
	const char *const *only;       /* --case NAME */
};

/* The catalog must be loaded. Errors are CONFIG and name file, line and key, or the argument. */
int study_load(struct study *study, const struct study_request *request,
	       struct error *err) MUST_CHECK;
/* The file's part from memory (fuzzed): path is for messages. */
int study_parse(struct study *study, const char *path, const char *text, size_t count,
		struct error *err) MUST_CHECK;
void study_free(struct study *study);

/* "scp" of the section "case scp". */
const char *study_case_title(const struct study_case *item);

/* The tables behind the sections, for help. */
extern const struct option_def study_settings_options[], study_ssh_options[], study_hosts_options[],
	study_place_options[], study_case_options[];
extern const char *const durability_names[], *const cache_state_names[],
						     *const memory_state_names[];

#endif
