/* A run as a row: what is planned of it, what was measured, or why there is nothing. The rows are
 * the caller's. */
#ifndef LINEFILL_CONTROL_RUN_ROW_H
#define LINEFILL_CONTROL_RUN_ROW_H

#include "harness/control/run.h"

/* The row without a run: what is planned, everything measured unknown. pair counts from 0. */
void run_row_describe(const struct run *run, size_t pair, struct result *row);
/* Puts an error's status and text into a row. */
void run_row_error(struct result *row, const struct error *err);
/* What both halves answered to "run"; the pair keeps what they moved. */
void run_row_measured(const struct run *run, struct pair *pair, struct result *row);
/* What follows from the numbers once the payload is known. */
void run_row_derive(struct result *row);
/* SYSTEM, with the reason, for numbers that cannot be, or of which one says another than the other;
 * else 0. */
int run_row_implausible(const struct pair *pair, const struct result *row,
			struct error *err) MUST_CHECK;
/* A row that is not ok has no rates, and says nothing of what was measured on the way. status
 * STATUS_FAILED leaves it to the error's kind. */
void run_row_fail(const struct run *run, size_t pair, const struct error *err,
		  enum result_status status, struct result *row);

#endif
