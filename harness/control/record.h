/* study.json: everything about a study that is no row. */
#ifndef LINEFILL_CONTROL_RECORD_H
#define LINEFILL_CONTROL_RECORD_H

#include <jansson.h>

#include "harness/base/error.h"
#include "harness/base/text.h"
#include "harness/control/pair.h"
#include "harness/study/study.h"

struct record {
	const struct study *study;
	const char *study_id, *created_utc;
	const char *const *arguments; /* ends with NULL */
	const struct pair *pair;
	json_t *const *probes;       /* by side; NULL entries while unknown */
	const struct text *commands; /* one a case; may be empty */
	uint64_t rounds;             /* those that are made */
	double first_round_s;        /* what they follow from where the user set none; else NAN */
};

/* Writes FOLDER/study.json, replacing an earlier one at once. */
int record_write(const struct record *record, const char *folder, struct error *err) MUST_CHECK;

#endif
