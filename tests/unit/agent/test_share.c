#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "harness/agent/share.h"
#include "harness/base/cancel.h"
#include "harness/base/clock.h"
#include "harness/base/random.h"
#include "harness/base/text.h"
#include "tests/unit/processes.h"
#include "tests/unit/tree_folder.h"

static void add_file(struct manifest *manifest, const char *path, uint64_t size)
{
	const struct manifest_entry entry = { .path = path, .size_bytes = size, .mode = 0644 };
	assert_int_equal(manifest_add(manifest, &entry, NULL), 0);
}

static void add_folder(struct manifest *manifest, const char *path)
{
	const struct manifest_entry entry = { .path = path, .mode = 0755, .type = MANIFEST_FOLDER };
	assert_int_equal(manifest_add(manifest, &entry, NULL), 0);
}

static void add_link(struct manifest *manifest, const char *path)
{
	const struct manifest_entry entry = {
		.path = path, .target = "where", .mode = 0777, .type = MANIFEST_LINK
	};
	assert_int_equal(manifest_add(manifest, &entry, NULL), 0);
}

static void finish(struct manifest *manifest)
{
	assert_int_equal(manifest_finish(manifest, NULL), 0);
}

static const struct manifest_entry *find(const struct manifest *manifest, const char *path,
					 size_t length)
{
	for (size_t i = 0; i < manifest->count; i++)
		if (strncmp(manifest->entries[i].path, path, length) == 0 &&
		    !manifest->entries[i].path[length])
			return &manifest->entries[i];
	return NULL;
}

static bool holds_something(const struct manifest *manifest, const char *folder)
{
	size_t length = strlen(folder);
	for (size_t i = 0; i < manifest->count; i++)
		if (strncmp(manifest->entries[i].path, folder, length) == 0 &&
		    manifest->entries[i].path[length] == '/')
			return true;
	return false;
}

/* Files, links and empty folders are in exactly one part, folders in those that need them, with
 * all above them; nothing is invented. */
static void assert_complete(const struct manifest *whole, const struct manifest *shares,
			    size_t parts)
{
	for (size_t i = 0; i < whole->count; i++) {
		const struct manifest_entry *entry = &whole->entries[i];
		bool once = entry->type != MANIFEST_FOLDER || !holds_something(whole, entry->path);
		size_t found = 0;
		for (size_t part = 0; part < parts; part++) {
			const struct manifest_entry *copy =
				find(&shares[part], entry->path, strlen(entry->path));
			if (!copy)
				continue;
			found++;
			assert_ptr_equal(copy->path, entry->path); /* no second list of names */
			assert_int_equal(copy->type, entry->type);
			assert_int_equal(copy->size_bytes, entry->size_bytes);
			assert_int_equal(copy->mode, entry->mode);
			if (!once)
				assert_true(holds_something(&shares[part], entry->path));
		}
		assert_true(once ? found == 1 : found >= 1);
	}
	for (size_t part = 0; part < parts; part++)
		for (size_t i = 0; i < shares[part].count; i++) {
			const char *path = shares[part].entries[i].path;
			assert_non_null(find(whole, path, strlen(path)));
			for (const char *slash = strchr(path, '/'); slash;
			     slash = strchr(slash + 1, '/'))
				assert_non_null(find(&shares[part], path, (size_t)(slash - path)));
		}
}

static uint64_t work_of(const struct manifest *share)
{
	return share->bytes + share->files * SHARE_FILE_COST_BYTES;
}

/* Largest first into the least loaded: the gap is at most the last file that went in. */
static void assert_balanced(const struct manifest *whole, const struct manifest *shares,
			    size_t parts)
{
	uint64_t least = UINT64_MAX, most = 0, largest = 0;
	for (size_t i = 0; i < whole->count; i++)
		if (whole->entries[i].size_bytes > largest)
			largest = whole->entries[i].size_bytes;
	for (size_t part = 0; part < parts; part++) {
		uint64_t work = work_of(&shares[part]);
		least = work < least ? work : least;
		most = work > most ? work : most;
	}
	assert_true(most - least <= largest + SHARE_FILE_COST_BYTES);
}

static void free_all(struct manifest *shares, size_t parts)
{
	for (size_t i = 0; i < parts; i++)
		manifest_free(&shares[i]);
}

static void make_deep_tree(struct manifest *whole)
{
	struct random random;
	random_seed(&random, 3);
	for (int i = 0; i < 20; i++) {
		char path[64];
		snprintf(path, sizeof(path), "f%02d", i);
		add_folder(whole, path);
		snprintf(path, sizeof(path), "f%02d/deep", i);
		add_folder(whole, path);
		snprintf(path, sizeof(path), "f%02d/deep/empty", i);
		add_folder(whole, path);
		for (int j = 0; j < 15; j++) {
			snprintf(path, sizeof(path), "f%02d/deep/file %d", i, j);
			add_file(whole, path, random_below(&random, 1 << (j + 5)));
		}
		snprintf(path, sizeof(path), "f%02d/link", i);
		add_link(whole, path);
	}
	finish(whole);
}

static void test_every_number_of_parts(void **state)
{
	(void)state;
	struct manifest whole = { 0 };
	make_deep_tree(&whole);
	for (size_t parts = 1; parts <= 64; parts++) {
		struct manifest shares[64] = { 0 };
		assert_int_equal(share_cut(&whole, parts, shares, NULL), 0);
		assert_complete(&whole, shares, parts);
		assert_balanced(&whole, shares, parts);
		free_all(shares, parts);
	}
	manifest_free(&whole);
}

/* Both ends cut for themselves. */
static void test_the_same_at_both_ends(void **state)
{
	(void)state;
	struct manifest whole = { 0 }, sent = { 0 };
	struct manifest shares[5] = { 0 }, others[5] = { 0 };
	make_deep_tree(&whole);
	assert_int_equal(manifest_save(&whole, "m", NULL), 0);
	assert_int_equal(manifest_load(&sent, "m", NULL), 0);
	assert_int_equal(share_cut(&whole, 5, shares, NULL), 0);
	assert_int_equal(share_cut(&sent, 5, others, NULL), 0);
	for (size_t i = 0; i < 5; i++) {
		char left[MANIFEST_DIGEST_SIZE], right[MANIFEST_DIGEST_SIZE];
		manifest_digest_text(&shares[i], left);
		manifest_digest_text(&others[i], right);
		assert_string_equal(left, right);
	}
	free_all(shares, 5);
	free_all(others, 5);
	manifest_free(&whole);
	manifest_free(&sent);
}

static void test_special_trees(void **state)
{
	(void)state;
	static const struct {
		const char *files[8], *folders[8], *links[8];
	} trees[] = {
		{ { NULL }, { NULL }, { NULL } },
		{ { "one" }, { NULL }, { NULL } },
		{ { NULL }, { "only", "only/folders", "only/folders/here" }, { NULL } },
		{ { NULL }, { NULL }, { "a", "b", "c" } },
		/* What is in "a" does not follow it at once in byte order. */
		{ { "a/x", "a-b", "a b" }, { "a", "a+", "a-c" }, { "a!" } },
		{ { "a-" }, { "a", "a.b", "a0" }, { NULL } },
		{ { "d/e/f/g", "d/e/f-" }, { "d", "d/e", "d/e/f", "d/e/f/h" }, { "d/e/l" } },
	};
	for (size_t i = 0; i < ARRAY_SIZE(trees); i++)
		for (size_t parts = 1; parts <= 4; parts++) {
			struct manifest whole = { 0 };
			struct manifest shares[4] = { 0 };
			for (size_t j = 0; trees[i].files[j]; j++)
				add_file(&whole, trees[i].files[j], j);
			for (size_t j = 0; trees[i].folders[j]; j++)
				add_folder(&whole, trees[i].folders[j]);
			for (size_t j = 0; trees[i].links[j]; j++)
				add_link(&whole, trees[i].links[j]);
			finish(&whole);
			assert_int_equal(share_cut(&whole, parts, shares, NULL), 0);
			assert_complete(&whole, shares, parts);
			free_all(shares, parts);
			manifest_free(&whole);
		}
}

/* Many tiny files cost as much as their bytes would not tell. */
static void test_a_file_costs_something(void **state)
{
	(void)state;
	struct manifest whole = { 0 };
	struct manifest shares[2] = { 0 };
	char path[16];
	add_file(&whole, "large", 64 * SHARE_FILE_COST_BYTES);
	for (int i = 0; i < 65; i++) {
		snprintf(path, sizeof(path), "tiny%d", i);
		add_file(&whole, path, 0);
	}
	finish(&whole);
	assert_int_equal(share_cut(&whole, 2, shares, NULL), 0);
	assert_int_equal(shares[0].files, 1);
	assert_int_equal(shares[1].files, 65);
	free_all(shares, 2);
	manifest_free(&whole);
}

static void test_a_folder_is_missing(void **state)
{
	(void)state;
	struct manifest whole = { 0 };
	struct manifest shares[2] = { 0 };
	struct error err = { 0 };
	add_file(&whole, "folder/file", 1);
	finish(&whole);
	assert_int_equal(share_cut(&whole, 2, shares, &err), -1);
	assert_int_equal(err.kind, ERROR_CONFIG);
	free_all(shares, 2);
	manifest_free(&whole);
}

/* ---- staging ---- */

static mode_t mode_of(const char *path)
{
	struct stat status;
	return lstat(path, &status) == 0 ? status.st_mode & 07777 : 0;
}

static bool same_file(const char *a, const char *b)
{
	struct stat left, right;
	return lstat(a, &left) == 0 && lstat(b, &right) == 0 && left.st_ino == right.st_ino &&
	       left.st_dev == right.st_dev;
}

static bool make_source(void)
{
	return mkdir("root", 0755) == 0 && mkdir("root/locked", 0755) == 0 &&
	       mkdir("root/locked/inner", 0700) == 0 && mkdir("root/open", 0755) == 0 &&
	       mkdir("root/empty", 0755) == 0 && tree_put("root/locked/inner/a", "aaa") &&
	       tree_put("root/locked/b", "bb") && tree_put("root/open/\xff -c\n", "c") &&
	       tree_put("root/top", "top") && chmod("root/top", 0400) == 0 &&
	       symlink("../nowhere \xfe", "root/open/link") == 0 &&
	       chmod("root/open", 02775) == 0 && chmod("root/locked/inner", 0500) == 0 &&
	       chmod("root/locked", 0555) == 0 && chmod("root/empty", 0) == 0;
}

static bool stage_all(size_t parts)
{
	struct manifest whole = { 0 };
	struct manifest shares[4] = { 0 };
	const struct manifest_scan_options scan = { .threads = 1 };
	bool fine = manifest_list(&whole, "root", &scan, NULL) == 0 &&
		    share_cut(&whole, parts, shares, NULL) == 0;
	for (size_t i = 0; fine && i < parts; i++) {
		char folder[32];
		struct error err = { 0 };
		struct manifest staged = { 0 };
		snprintf(folder, sizeof(folder), "part%zu", i);
		fine = mkdir(folder, 0755) == 0 &&
		       share_stage(&shares[i], "root", folder, within(60), &err) == 0 &&
		       manifest_list(&staged, folder, &scan, &err) == 0;
		/* manifest_list knows no contents: what is to be compared is all but that. */
		fine = fine && staged.count == shares[i].count;
		for (size_t j = 0; fine && j < staged.count; j++)
			fine = strcmp(staged.entries[j].path, shares[i].entries[j].path) == 0 &&
			       staged.entries[j].mode == shares[i].entries[j].mode &&
			       staged.entries[j].type == shares[i].entries[j].type;
		if (!fine)
			print_error("part %zu: %s\n", i, err.message);
		manifest_free(&staged);
	}
	free_all(shares, parts);
	manifest_free(&whole);
	return fine;
}

static void assert_staged(void)
{
	assert_true(same_file("part0/locked/inner/a", "root/locked/inner/a"));
	assert_true(same_file("part0/locked/b", "root/locked/b"));
	assert_true(same_file("part0/open/\xff -c\n", "root/open/\xff -c\n"));
	assert_true(same_file("part0/top", "root/top"));
	assert_int_equal(mode_of("part0/locked"), 0555);
	assert_int_equal(mode_of("part0/locked/inner"), 0500);
	assert_int_equal(mode_of("part0/open"), 02775);
	assert_int_equal(mode_of("part0/empty"), 0);
	assert_int_equal(mode_of("part0/top"), 0400);
	char target[64] = { 0 };
	assert_int_equal(readlink("part0/open/link", target, sizeof(target) - 1), 12);
	assert_string_equal(target, "../nowhere \xfe");
}

static void test_stage(void **state)
{
	(void)state;
	assert_true(make_source());
	assert_true(stage_all(1));
	assert_staged();
}

static bool stage_unprivileged(void)
{
	/* A folder without any right cannot be listed by an ordinary user. */
	return mkdir("mine", 0755) == 0 && chdir("mine") == 0 && make_source() &&
	       chmod("root/empty", 0500) == 0 && stage_all(1) &&
	       same_file("part0/locked/inner/a", "root/locked/inner/a") &&
	       mode_of("part0/locked") == 0555 && mode_of("part0/empty") == 0500;
}

static void test_stage_as_an_ordinary_user(void **state)
{
	(void)state;
	assert_int_equal(chmod(tree_folder, 0777), 0);
	assert_true(tree_as_nobody(stage_unprivileged));
}

static void test_stage_parts(void **state)
{
	(void)state;
	assert_true(make_source());
	assert_true(stage_all(3));
}

static void test_stage_errors(void **state)
{
	(void)state;
	struct manifest share = { 0 };
	struct error err = { 0 };
	struct cancel cancel;
	assert_int_equal(mkdir("root", 0755), 0);
	assert_int_equal(mkdir("part", 0755), 0);
	add_file(&share, "va\nnished", 1);
	finish(&share);
	assert_int_equal(share_stage(&share, "root", "part", within(60), &err), -1);
	assert_int_equal(err.kind, ERROR_SYSTEM);
	assert_int_equal(err.code, ENOENT);
	assert_non_null(strstr(err.message, "va\\x0anished"));
	assert_int_equal(share_stage(&share, "none", "part", within(60), &err), -1);
	assert_string_equal(err.message, "open none: No such file or directory");
	assert_int_equal(share_stage(&share, "root", "none", within(60), &err), -1);
	assert_string_equal(err.message, "open none: No such file or directory");
	assert_int_equal(share_stage(&share, "root", "part", within(-1), &err), -1);
	assert_int_equal(err.kind, ERROR_TIMEOUT);
	assert_int_equal(cancel_open(&cancel, NULL), 0);
	cancel_request(&cancel);
	const struct io_limit stopped = { .deadline_ns = CLOCK_NEVER, .cancel = &cancel };
	assert_int_equal(share_stage(&share, "root", "part", &stopped, &err), -1);
	assert_int_equal(err.kind, ERROR_CANCELLED);
	cancel_close(&cancel);
	manifest_free(&share);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, tree_folder_make, tree_folder_drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_number_of_parts),
		IN_FOLDER(test_the_same_at_both_ends),
		cmocka_unit_test(test_special_trees),
		cmocka_unit_test(test_a_file_costs_something),
		cmocka_unit_test(test_a_folder_is_missing),
		IN_FOLDER(test_stage),
		IN_FOLDER(test_stage_as_an_ordinary_user),
		IN_FOLDER(test_stage_parts),
		IN_FOLDER(test_stage_errors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
