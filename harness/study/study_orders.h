/* What the command line says of a study, added to what its file says: -t, --dataset, --rounds,
 * --seed,
 * --set. Between study.c and its parts only. */
#ifndef LINEFILL_STUDY_STUDY_ORDERS_H
#define LINEFILL_STUDY_STUDY_ORDERS_H

#include "harness/base/error.h"
#include "harness/study/study_input.h"

/* The default dataset is taken where nothing says another. Orders that contradict each other are
 * CONFIG, with both places. */
int study_orders_add(struct study_input *input, const struct study_request *request,
		     const char *default_dataset, struct error *err) MUST_CHECK;

#endif
