/* Folders that overlap, and what cannot be copied or held: told before anything is made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/text.h"
#include "tests/cli/program.h"

/* files/tree with two files, a folder and a link to it from outside. */
static void add_tree(struct bench *bench, struct text *tree)
{
	AUTO_TEXT alias = { 0 };
	bench_add_file(bench, "tree/a", "1");
	bench_add_file(bench, "tree/sub/b", "22");
	text_addf(tree, "%s/tree", bench->files);
	text_addf(&alias, "%s/alias", bench->files);
	assert_int_equal(symlink(tree->data, alias.data), 0);
}

/* "{tree}" in a pattern becomes the tree's path, "{files}" the test's own folder. */
static void fill_in(const struct bench *bench, const char *pattern, struct text *to)
{
	while (*pattern) {
		if (strncmp(pattern, "{tree}", 6) == 0)
			text_addf(to, "%s/tree", bench->files);
		else if (strncmp(pattern, "{files}", 7) == 0)
			text_add(to, bench->files);
		else
			text_add_bytes(to, pattern, 1);
		pattern += *pattern == '{' ? strcspn(pattern, "}") + 1 : 1;
	}
}

struct overlap_case {
	const char *dataset, *set, *out, *answer;
};

static void overlaps_are_refused(void **state)
{
	static const struct overlap_case cases[] = {
		{ "{tree},use=place", "dataset.target={tree}", NULL, "target = {tree} is the" },
		{ "{tree},use=place", "dataset.target={tree}/sub", NULL,
		  "target = {tree}/sub lies in" },
		{ "{tree},use=place", "dataset.target={files}", NULL, "target = {files} is above" },
		{ "{tree},use=place", "dataset.target={files}/alias/sub", NULL,
		  "alias/sub lies in" },
		{ "{files}/alias,use=place", "dataset.target={tree}/sub", NULL, "lies in" },
		{ "{tree},use=place", "dataset.location={tree}", NULL, "location = {tree} is the" },
		{ "{tree}", "dataset.location={tree}", NULL, "location = {tree} is the" },
		{ "{tree}", "dataset.location={tree}/sub", NULL, "location = {tree}/sub lies in" },
		{ "{tree}", "dataset.target={tree}/sub", NULL, "target = {tree}/sub lies in" },
		{ "{tree}", "study.rounds=1", "{tree}/out", "results, {tree}/out, lies in" },
		{ "{tree},use=place", "study.rounds=1", "{files}/alias/x/y", "lies in" },
		{ "{files}", "study.rounds=1", NULL, "linefill-results, lies in" },
	};
	struct bench *bench = *state;
	AUTO_TEXT tree = { 0 };
	add_tree(bench, &tree);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_TEXT dataset = { 0 };
		AUTO_TEXT set = { 0 };
		AUTO_TEXT out = { 0 };
		AUTO_TEXT answer = { 0 };
		text_add(&dataset, "--dataset=directory:path=");
		fill_in(bench, cases[i].dataset, &dataset);
		fill_in(bench, cases[i].set, &set);
		text_add(&out, "--out=");
		fill_in(bench, cases[i].out ? cases[i].out : "", &out);
		fill_in(bench, cases[i].answer, &answer);
		/* Without --out the results go into the folder where the program is. */
		PROGRAM_RUN(bench, "run", "-t", "tcp", dataset.data, "--set", set.data,
			    cases[i].out ? out.data : "--plan", "--plan");
		if (bench->status != 2)
			print_error("case %zu\n", i);
		ASSERT_EXIT(bench, 2);
		ASSERT_HOLDS(bench->error, answer.data);
		PROGRAM_RUN(bench, "run", "-t", "tcp", dataset.data, "--set", set.data,
			    cases[i].out ? out.data : "--rounds=1");
		ASSERT_EXIT(bench, 2);
		ASSERT_HOLDS(bench->error, answer.data);
	}
	assert_false(bench_has(bench, "files/tree/out"));
	assert_false(bench_has(bench, "files/tree/x"));
	assert_false(bench_has(bench, "files/linefill-results"));
	bench_check_clean(bench);
}

/* Beside one another all is well, also where one name begins like the other. */
static void neighbours_are_fine(void **state)
{
	struct bench *bench = *state;
	AUTO_TEXT tree = { 0 };
	AUTO_TEXT dataset = { 0 };
	AUTO_TEXT target = { 0 };
	add_tree(bench, &tree);
	text_addf(&dataset, "directory:path=%s,use=place", tree.data);
	text_addf(&target, "dataset.target=%s2", tree.data);
	AUTO_FREE char *folder = strdup(strchr(target.data, '=') + 1);
	assert_int_equal(mkdir(folder, 0777), 0);
	assert_int_equal(chmod(folder, 0777), 0);
	PROGRAM_STUDY(bench, "-t", "tcp", "--dataset", dataset.data, "--set", target.data,
		      "--rounds=1");
	ASSERT_EXIT(bench, 0);
	ASSERT_ROW(bench_row(bench, "tcp", 1), STATUS_OK);
	bench_check_clean(bench);
}

static void dataset_verb_refuses_overlaps(void **state)
{
	struct bench *bench = *state;
	AUTO_TEXT tree = { 0 };
	add_tree(bench, &tree);
	static const char *const inside[] = { "tree/new", "alias/sub/new", "tree/sub" };
	for (size_t i = 0; i < ARRAY_SIZE(inside); i++) {
		PROGRAM_RUN(bench, "dataset", "make", "directory:path=tree", inside[i]);
		ASSERT_EXIT(bench, 2);
		ASSERT_HOLDS(bench->error, "which is to be copied");
	}
	PROGRAM_RUN(bench, "dataset", "make", "directory:path=tree", "new", "--manifest", "tree/m");
	ASSERT_EXIT(bench, 2);
	ASSERT_HOLDS(bench->error, "which is to be copied");
	PROGRAM_RUN(bench, "dataset", "make", "directory:path=tree,use=place", "new");
	ASSERT_EXIT(bench, 2);
	ASSERT_HOLDS(bench->error, "use=place makes nothing");
	assert_false(bench_has(bench, "files/tree/new"));
	assert_false(bench_has(bench, "files/new"));
	PROGRAM_RUN(bench, "dataset", "make", "directory:path=tree", "new");
	ASSERT_EXIT(bench, 0);
}

/* A TMPDIR that cannot be heeded is not passed over. */
static void odd_temporary_folder_is_refused(void **state)
{
	static const char *const odd[] = { "tmp", "/tmp/two words", "/tmp/a;b" };
	struct bench *bench = *state;
	char kept[sizeof(bench->tmp)];
	memcpy(kept, bench->tmp, sizeof(kept));
	for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
		snprintf(bench->tmp, sizeof(bench->tmp), "%s", odd[i]);
		PROGRAM_RUN(bench, "run", "-t", "tcp");
		ASSERT_EXIT(bench, 2);
		ASSERT_HOLDS(bench->error, "TMPDIR=");
		ASSERT_HOLDS(bench->error, odd[i]);
	}
	memcpy(bench->tmp, kept, sizeof(kept));
	assert_false(bench_has(bench, "files/linefill-results"));
}

/* --plan refuses what the run would refuse. */
static void plan_looks_at_the_results_folder(void **state)
{
	struct bench *bench = *state;
	AUTO_TEXT out = { 0 };
	bench_add_file(bench, "full/file", "x");
	text_addf(&out, "--out=%s/full", bench->files);
	PROGRAM_RUN(bench, "run", "-t", "tcp", "--plan", out.data);
	ASSERT_EXIT(bench, 2);
	ASSERT_HOLDS(bench->error, "is not empty");
}

/* What a case cannot carry is told by --plan, and before the dataset is made: where nobody can
 * carry it, none is. */
static void what_cannot_be_carried_is_told_first(void **state)
{
	struct bench *bench = *state;
	AUTO_TEXT tree = { 0 };
	AUTO_TEXT dataset = { 0 };
	AUTO_TEXT link = { 0 };
	static const char reason[] = "scp cannot carry symbolic links";
	add_tree(bench, &tree);
	text_addf(&dataset, "directory:path=%s", tree.data);
	text_addf(&link, "%s/link", tree.data);
	assert_int_equal(symlink("a", link.data), 0);
	PROGRAM_START_STUDY(bench, "-t", "scp", "-t", "tcp", "--dataset", dataset.data, "--plan");
	program_wait(bench);
	ASSERT_EXIT(bench, 0);
	ASSERT_HOLDS(bench->output, reason);
	PROGRAM_STUDY(bench, "-t", "scp", "-t", "tcp", "--dataset", dataset.data, "--rounds=2");
	ASSERT_EXIT(bench, 0);
	assert_int_equal(bench->results.count, 3);
	ASSERT_ROW(&bench->results.rows[0], STATUS_UNSUPPORTED);
	ASSERT_HOLDS(bench->results.rows[0].error, reason);
	const char *told = strstr(bench->error, reason);
	const char *made = strstr(bench->error, "making the dataset");
	assert_non_null(told);
	assert_non_null(made);
	assert_true(told < made);
	strncat(bench->out, "2", 2);
	PROGRAM_STUDY(bench, "-t", "scp", "--dataset", dataset.data, "--rounds=2");
	ASSERT_EXIT(bench, 0);
	assert_int_equal(bench->results.count, 1);
	ASSERT_LACKS(bench->error, "making the dataset");
	bench_check_clean(bench);
}

/* What will not fit is told with both sizes and a way out. */
static void what_does_not_fit_is_told_first(void **state)
{
	struct bench *bench = *state;
	AUTO_TEXT place = { 0 };
	text_addf(&place, "single:bytes=500TiB,location=%s", bench->data);
	PROGRAM_RUN(bench, "run", "-t", "tcp", "--dataset", "single:bytes=500TiB", "--plan");
	ASSERT_EXIT(bench, 2);
	ASSERT_HOLDS(bench->error, "need 1000.0 TiB of RAM");
	ASSERT_HOLDS(bench->error, "are free");
	ASSERT_HOLDS(bench->error, "location=FOLDER");
	PROGRAM_RUN(bench, "run", "-t", "tcp", "--dataset", place.data);
	ASSERT_EXIT(bench, 2);
	ASSERT_HOLDS(bench->error, bench->data);
	/* A memory copy leaves nothing. */
	PROGRAM_RUN(bench, "run", "-t", "tcp:memory=yes", "--dataset", "single:bytes=500TiB",
		    "--plan");
	ASSERT_EXIT(bench, 2);
	ASSERT_HOLDS(bench->error, "this dataset needs 500.0 TiB");
	assert_false(bench_has(bench, "files/linefill-results"));
	bench_check_clean(bench);
}

/* In place, but without its links: a tree of hard links, and the user's own stays as it is. */
static void links_are_skipped_in_place(void **state)
{
	struct bench *bench = *state;
	struct stat before, after;
	AUTO_TEXT tree = { 0 };
	AUTO_TEXT dataset = { 0 };
	AUTO_TEXT link = { 0 };
	AUTO_TEXT file = { 0 };
	add_tree(bench, &tree);
	text_addf(&link, "%s/link", tree.data);
	text_addf(&file, "%s/a", tree.data);
	assert_int_equal(symlink("a", link.data), 0);
	assert_int_equal(stat(file.data, &before), 0);
	text_addf(&dataset, "directory:path=%s,use=place,links=skip", tree.data);
	/* data and files are in one file system. */
	PROGRAM_STUDY(bench, "-t", "scp", "-t", "tcp:instances=2", "--dataset", dataset.data,
		      "--rounds=2");
	ASSERT_EXIT(bench, 0);
	assert_int_equal(bench->results.count, 4);
	for (size_t i = 0; i < bench->results.count; i++) {
		ASSERT_ROW(&bench->results.rows[i], STATUS_OK);
		assert_int_equal(bench->results.rows[i].files, 2);
		ASSERT_HOLDS(bench->results.rows[i].dataset, "use=hard-links");
	}
	assert_int_equal(stat(file.data, &after), 0);
	assert_int_equal(after.st_nlink, before.st_nlink);
	assert_int_equal(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
	assert_true(bench_has(bench, "files/tree/link"));
	bench_check_clean(bench);
	/* Elsewhere there are none. */
	PROGRAM_RUN(bench, "run", "-t", "tcp", "--dataset", dataset.data, "--set",
		    "dataset.location=/proc", "--plan");
	ASSERT_EXIT(bench, 2);
	ASSERT_HOLDS(bench->error, "through hard links");
	ASSERT_HOLDS(bench->error, "use=copy");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(overlaps_are_refused),
		BENCH_TEST(neighbours_are_fine),
		BENCH_TEST(dataset_verb_refuses_overlaps),
		BENCH_TEST(odd_temporary_folder_is_refused),
		BENCH_TEST(plan_looks_at_the_results_folder),
		BENCH_TEST(what_cannot_be_carried_is_told_first),
		BENCH_TEST(what_does_not_fit_is_told_first),
		BENCH_TEST(links_are_skipped_in_place),
	};
	cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
