/* A results folder of made-up rows, and the report of it. */
#ifndef LINEFILL_TESTS_UNIT_RESULTS_REPORT_PAGE_H
#define LINEFILL_TESTS_UNIT_RESULTS_REPORT_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/api/result.h"
#include "harness/base/error.h"

extern char folder[64];
int make_folder(void **state);
int remove_folder(void **state);
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

/* Most of these tests read words: a PATH without gnuplot saves the drawing. */
void hide_gnuplot(void);
void show_gnuplot(void);

struct run {
	const char *name, *label, *cipher;
	enum result_status status;
	enum result_verified verified;
	double goodput_bps;
	const char *error;
};
/* Two copies and a ceiling. */
extern const struct run three[3];

/* Its rate times factor. */
struct result make_row(const struct run *run, int64_t round, double factor);
/* runs.csv: every run once a round, by 1 % faster each round. */
void write_runs(const struct run *runs, size_t count, int64_t rounds);
void write_study(const char *json);
int try_report(bool all_pairs, struct error *err);
/* report.html; the caller frees. make_words: without a picture. */
char *make_report(void);
char *make_words(void);
void assert_has(const char *page, const char *needle);
void assert_lacks(const char *page, const char *needle);

#endif
