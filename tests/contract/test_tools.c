/* The whole program copies every tree with every transport and tool that `linefill list transports`
 * names: each row is ok and verified, or unsupported exactly where a cap is missing. A new tool
 * file is tested without a line here. */
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
#include <jansson.h>

#include "harness/api/transport.h"
#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "tests/cli/program.h"
#include "tests/contract/trees.h"

#define SUBJECTS_MAX 40

/* What is copied with: as the program lists it. */
struct subject {
	char name[64];
	uint32_t caps;
	bool available;
};

static struct subject subjects[SUBJECTS_MAX];
static size_t subjects_count;

static uint32_t caps_of(const json_t *names)
{
	uint32_t caps = 0;
	size_t i;
	const json_t *name;
	json_array_foreach(names, i, name) caps |= transport_cap_from_name(json_string_value(name));
	return caps;
}

static void list_subjects(struct bench *bench)
{
	size_t i;
	const json_t *item;
	PROGRAM_RUN(bench, "list", "transports", "--json");
	ASSERT_EXIT(bench, 0);
	json_t *list = json_loads(bench->output, 0, NULL);
	assert_non_null(list);
	subjects_count = 0;
	json_array_foreach(list, i, item)
	{
		assert_true(subjects_count < SUBJECTS_MAX);
		struct subject *subject = &subjects[subjects_count++];
		snprintf(subject->name, sizeof(subject->name), "%s",
			 json_string_value(json_object_get(item, "name")));
		subject->available = json_is_true(json_object_get(item, "available"));
		subject->caps = caps_of(json_object_get(item, "caps"));
	}
	json_decref(list);
	assert_true(subjects_count >= 7);
}

/* The tree as the program will see it, owned by the program's user. */
static void look_at(const struct bench *bench, struct manifest *tree)
{
	const struct manifest_scan_options options = { 0 };
	struct error err = { 0 };
	AUTO_FREE char *path = path_join(bench->files, "tree");
	if (manifest_list(tree, path, &options, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(lchown(path, bench->uid, (gid_t)bench->uid), 0);
	for (size_t i = 0; i < tree->count; i++) {
		AUTO_FREE char *entry = path_join(path, tree->entries[i].path);
		assert_int_equal(lchown(entry, bench->uid, (gid_t)bench->uid), 0);
	}
}

static void make_tree(const struct bench *bench, const struct tree_case *tree)
{
	AUTO_FREE char *path = path_join(bench->files, "tree");
	assert_int_equal(mkdir(path, 0755), 0);
	AUTO_FD root = tree_open(path);
	tree->make(root);
}

static uint32_t caps_needed(const struct manifest *tree)
{
	return (tree->links ? (uint32_t)CAP_SYMLINKS : 0) |
	       (tree->empty_folders ? (uint32_t)CAP_EMPTY_FOLDERS : 0) |
	       (tree->odd_names ? (uint32_t)CAP_ANY_NAME : 0) |
	       (tree->count == 0 ? (uint32_t)CAP_EMPTY_TREE : 0);
}

/* Counts bytes instead of copying the tree: needs none of its caps, but bytes. */
static bool only_counts(const struct subject *subject)
{
	return subject->caps & CAP_MEMORY && strcmp(subject->name, "null") != 0;
}

/* As far as caps tell. */
static bool fits(const struct subject *subject, const struct manifest *tree)
{
	if (only_counts(subject))
		return tree->bytes > 0;
	if (subject->caps & CAP_SINGLE_FILE && (tree->files != 1 || tree->count != 1))
		return false;
	return (caps_needed(tree) & ~subject->caps) == 0;
}

static enum result_status wanted_status(const struct subject *subject, const struct manifest *tree,
					const struct result *row)
{
	/* What the tree alone tells is known before anybody looks for programs. */
	if (!subject->available && row->status != STATUS_UNSUPPORTED)
		return STATUS_UNAVAILABLE;
	/* What a tool can preserve is not among its caps; our own code can do all. */
	bool cannot = strstr(row->error, "cannot do preserve") && !(subject->caps & CAP_TWO_ENDED);
	/* Where there are fewer files than instances, some would have nothing. */
	bool few = (uint64_t)row->instances > tree->files;
	bool idle = few && (!(subject->caps & CAP_EMPTY_TREE) ||
			    (row->instances > 1 && !only_counts(subject)));
	return cannot || idle || !fits(subject, tree) ? STATUS_UNSUPPORTED : STATUS_OK;
}

static void check_row(const struct subject *subject, const struct manifest *tree,
		      const struct result *row)
{
	enum result_status wanted = wanted_status(subject, tree, row);
	ASSERT_ROW(row, wanted);
	if (wanted != STATUS_OK) {
		assert_true(row->error[0]);
		return;
	}
	assert_int_equal(row->verified, only_counts(subject) ? VERIFIED_COUNT : VERIFIED_YES);
	assert_int_equal(row->files, tree->files);
	/* Who only counts sends whole blocks. */
	if (only_counts(subject))
		assert_true(row->payload_bytes >= (int64_t)tree->bytes);
	else
		assert_int_equal(row->payload_bytes, tree->bytes);
}

static void check_rows(const struct bench *bench, const struct subject *subject,
		       const struct manifest *tree, const char *instances)
{
	size_t rows = 0;
	for (size_t i = 0; i < bench->results.count; i++) {
		if (strcmp(bench->results.rows[i].transport, subject->name) != 0)
			continue;
		rows++;
		check_row(subject, tree, &bench->results.rows[i]);
	}
	assert_int_equal(rows, strchr(instances, ' ') ? 2 : 1);
}

static void run_all(struct bench *bench, const char *preserve, const char *instances)
{
	const char *arguments[2 * SUBJECTS_MAX + 16] = { "--rounds", "1", "--allow-open-listener",
							 "--set" };
	static char cases[SUBJECTS_MAX][128];
	char set[64], dataset[160];
	size_t count = 4;
	snprintf(set, sizeof(set), "study.preserve=%s", preserve);
	snprintf(dataset, sizeof(dataset), "directory:path=%s/tree", bench->files);
	arguments[count++] = set;
	arguments[count++] = "--dataset";
	arguments[count++] = dataset;
	for (size_t i = 0; i < subjects_count; i++) {
		/* It moves nothing unless it is told to. */
		bool is_null = strcmp(subjects[i].name, "null") == 0;
		snprintf(cases[i], sizeof(cases[i]), "%.64s:%sinstances=%.8s", subjects[i].name,
			 is_null ? "copy=yes," : "", instances);
		arguments[count++] = "-t";
		arguments[count++] = cases[i];
	}
	program_run_study(bench, arguments);
}

/* Released with the test, which may fail before its end. */
static struct manifest manifest;

static int close_tree(void **state)
{
	manifest_free(&manifest);
	return bench_close(state);
}

static void copy_tree(struct bench *bench, const struct tree_case *tree, const char *preserve,
		      const char *instances)
{
	make_tree(bench, tree);
	look_at(bench, &manifest);
	list_subjects(bench);
	run_all(bench, preserve, instances);
	for (size_t i = 0; i < subjects_count; i++)
		check_rows(bench, &subjects[i], &manifest, instances);
	ASSERT_EXIT(bench, 0);
	bench_check_clean(bench);
}

/* cmocka hands each test its tree in *state, which the bench replaces. */
static const struct tree_case *current;

static int open_for_tree(void **state)
{
	current = *state;
	return bench_open(state);
}

static void as_we_are(void **state)
{
	copy_tree(*state, current, "mode", "1");
}

static void as_an_ordinary_user(void **state)
{
	bench_use_ordinary(*state);
	copy_tree(*state, current, "mode", "3");
}

static const struct tree_case modes = { "modes", tree_modes };

static void preserving_content(void **state)
{
	copy_tree(*state, &modes, "content", "1 3");
}

static void preserving_mode(void **state)
{
	copy_tree(*state, &modes, "mode", "1 3");
}

static void preserving_all(void **state)
{
	copy_tree(*state, &modes, "all", "1 3");
}

/* Trees on which it makes no difference who copies them. */
static bool is_bulk(const struct tree_case *tree)
{
	return strstr(tree->name, "many") || strstr(tree->name, "large") ||
	       strstr(tree->name, "sparse");
}

/* One of a kind, for every day: who copies makes a difference in some, in others not. */
static bool is_daily(const struct tree_case *tree, bool ordinary)
{
	static const struct {
		const char *name;
		bool ordinary;
	} daily[] = { { "symbolic links", true }, { "odd names", false }, { "one byte", true } };
	for (size_t i = 0; i < ARRAY_SIZE(daily); i++)
		if (strcmp(daily[i].name, tree->name) == 0 && daily[i].ordinary == ordinary)
			return true;
	return false;
}

#define TESTS_MAX           64
#define PRESERVE_TEST(test) cmocka_unit_test_setup_teardown(test, bench_open, close_tree)

/* All, or with the argument "daily" some, or those that match a pattern. */
int main(int argc, char **argv)
{
	static char names[TESTS_MAX][64];
	struct CMUnitTest tests[TESTS_MAX] = { PRESERVE_TEST(preserving_mode),
					       PRESERVE_TEST(preserving_content),
					       PRESERVE_TEST(preserving_all) };
	bool daily = argc > 1 && strcmp(argv[1], "daily") == 0;
	size_t count = daily ? 1 : 3;
	for (const struct tree_case *tree = tree_cases; tree->name && count + 2 < TESTS_MAX;
	     tree++) {
		for (int ordinary = 0; ordinary < (is_bulk(tree) ? 1 : 2); ordinary++) {
			if (daily && !is_daily(tree, ordinary))
				continue;
			snprintf(names[count], sizeof(names[count]), "%s, %s", tree->name,
				 ordinary ? "as an ordinary user" : "as we are");
			tests[count] = (struct CMUnitTest){
				.name = names[count],
				.test_func = ordinary ? as_an_ordinary_user : as_we_are,
				.setup_func = open_for_tree,
				.teardown_func = close_tree,
				.initial_state = (void *)tree,
			};
			count++;
		}
	}
	cmocka_set_test_filter(argc > 1 && !daily ? argv[1] : NULL);
	return _cmocka_run_group_tests("tools", tests, count, NULL, NULL);
}
