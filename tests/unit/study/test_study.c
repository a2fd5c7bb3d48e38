#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "harness/api/result.h"
#include "harness/base/text.h"
#include "harness/study/study.h"
#include "tests/unit/study/study_text.h"
#include "tests/unit/tree_folder.h"
#include "transports/catalog.h"

static const char *const only_tcp[] = { "tcp", NULL };

static void test_defaults(void **state)
{
	(void)state;
	struct study study;
	load_well(&study, NULL, (struct study_request){ .transports = only_tcp });
	assert_string_equal(study.name, "tcp");
	assert_string_equal(study.settings.title, "");
	assert_int_equal(study.settings.rounds, 5);
	assert_int_equal(study.settings.seed, 1);
	assert_int_equal(study.settings.durability, DURABILITY_NONE);
	assert_int_equal(study.settings.cache, CACHE_WARM);
	assert_int_equal(study.settings.preserve, PRESERVE_MODE);
	assert_true(study.settings.timeout_s == 600);
	assert_string_equal(study.ssh.cipher, "aes128-ctr");
	assert_string_equal(study.ssh.mac, "hmac-sha2-256");
	assert_string_equal(study.place.recipe, "linux-repo");
	assert_string_equal(study.place.location, "ram");
	assert_string_equal(study.place.target, "");
	assert_string_equal(study.dataset_text, "linux-repo:bytes=256MiB");
	assert_int_equal(study.cases_count, 1);
	assert_string_equal(study.cases[0].label, "tcp");
	assert_ptr_equal(study.cases[0].transport, catalog_transport("tcp", NULL));
	study_free(&study);
	study_free(&study);
}

static void test_every_setting(void **state)
{
	(void)state;
	struct study study;
	load_well(&study,
		  "[study]\ntitle = A, b = c\nrounds = 8\nseed = 42\ndurability = flush\n"
		  "cache = cold\npreserve = all\ntimeout = 1.5m\n"
		  "[ssh]\ncipher = chacha20-poly1305, aes128-ctr\nmac = tool-default\n"
		  "[hosts]\nsource = local\nsink = local\n"
		  "[dataset]\nrecipe = small-files\nfiles = 7\nlocation = /var/tmp\ntarget = ram\n"
		  "[case a case]\ntransport = scp\ncompress = yes\nlabel = A \"label\"\n"
		  "instances = 64\n",
		  (struct study_request){ 0 });
	assert_string_equal(study.name, "s");
	assert_string_equal(study.settings.title, "A, b = c");
	assert_int_equal(study.settings.rounds, 8);
	assert_int_equal(study.settings.seed, 42);
	assert_int_equal(study.settings.durability, DURABILITY_FLUSH);
	assert_int_equal(study.settings.cache, CACHE_COLD);
	assert_int_equal(study.settings.preserve, PRESERVE_ALL);
	assert_true(study.settings.timeout_s == 90);
	assert_string_equal(study.ssh.cipher, "chacha20-poly1305@openssh.com,aes128-ctr");
	assert_string_equal(study.ssh.mac, "");
	assert_string_equal(study.dataset_text, "small-files:files=7");
	assert_string_equal(study.place.location, "/var/tmp");
	assert_string_equal(study.place.target, "ram");
	assert_cases(&study, "a case[compress=yes] x64");
	assert_string_equal(study.cases[0].label, "A \"label\" (tool's own MAC)");
	assert_string_equal(study.cases[0].transport_name, "scp");
	study_free(&study);
}

/* What stands on the command line wins; --set has the last word. */
static void test_precedence(void **state)
{
	(void)state;
	static const char file[] = "[study]\nrounds = 5\nseed = 9\n"
				   "[dataset]\nrecipe = lognormal\nsigma = 2\nlocation = /var/tmp\n"
				   "[case a]\ntransport = multi\nstreams = 2\n";
	struct study study;
	load_well(&study, file,
		  (struct study_request){
			  .transports = TRANSPORTS("scp", "multi:streams=3"),
			  .rounds = "8",
			  .seed = "10",
			  .dataset = "small-files:files=11",
			  .sets = TRANSPORTS(
				  "study.rounds = 8", "case a.streams=1 6", "case scp.instances=4",
				  "ssh.cipher=aes128-ctr,aes256-ctr", "study.title=a.b=c"),
		  });
	assert_int_equal(study.settings.rounds, 8);
	assert_int_equal(study.settings.seed, 10);
	assert_string_equal(study.settings.title, "a.b=c");
	assert_string_equal(study.dataset_text, "small-files:files=11");
	assert_string_equal(study.place.location, "/var/tmp");
	assert_string_equal(study.ssh.cipher, "aes128-ctr,aes256-ctr");
	assert_cases(&study, "a streams=1[streams=1]streams=1; a streams=6[streams=6]streams=6; "
			     "scp[] x4; multi:streams=3[streams=3]");
	study_free(&study);
}

/* Lists as OpenSSH has them, what only others have, and what says nothing of SSH. */
static void test_good_ciphers(void **state)
{
	(void)state;
	static const char *const good[] = {
		"[ssh]\ncipher = tool-default\nmac = tool-default\n" TCP_FILE,
		"[ssh]\ncipher = none\n" TCP_FILE,
		"[ssh]\ncipher = ^aes256-ctr,aes*\nmac = -*etm@openssh.com\n" TCP_FILE,
		"[ssh]\ncipher =\n" TCP_FILE,
		"[case a]\ntransport = ssh\ncipher = blowfish-cbc\n",
	};
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct study study;
		load_well(&study, good[i], (struct study_request){ 0 });
		study_free(&study);
	}
}

static void test_datasets(void **state)
{
	(void)state;
	const struct {
		const char *text, *dataset;
		const char *const *sets;
		const char *recipe, *location;
	} cases[] = {
		{ "", NULL, NULL, "linux-repo:bytes=256MiB", "ram" },
		/* The default dataset is small, unless its options are chosen. */
		{ "[dataset]\nlocation = /var/tmp\n", NULL, NULL, "linux-repo:bytes=256MiB",
		  "/var/tmp" },
		{ "[dataset]\nbytes = 1GiB\n", NULL, NULL, "linux-repo:bytes=1GiB", "ram" },
		{ "", NULL, TRANSPORTS("dataset.bytes=1GiB"), "linux-repo:bytes=1GiB", "ram" },
		{ "[dataset]\nrecipe = linux-repo\n", NULL, NULL, "linux-repo", "ram" },
		{ "[dataset]\nrecipe = single\nbytes = 3 B\n", NULL, NULL, "single:bytes=3B",
		  "ram" },
		{ "[dataset]\nrecipe = lognormal\nsigma = 2\n", "single", NULL, "single", "ram" },
		{ "", "single:bytes=1000000,location=/var/tmp", NULL, "single:bytes=1000000",
		  "/var/tmp" },
		/* Said twice, and the same. */
		{ "", "single", TRANSPORTS("dataset.recipe=single"), "single", "ram" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_TEXT text = { 0 };
		struct study study;
		text_addf(&text, "%s" TCP_FILE, cases[i].text);
		load_well(&study, text_string(&text),
			  (struct study_request){ .dataset = cases[i].dataset,
						  .sets = cases[i].sets });
		assert_string_equal(study.dataset_text, cases[i].recipe);
		assert_string_equal(study.place.location, cases[i].location);
		study_free(&study);
	}
}

/* Where linefill is started settles what a relative path means. */
static void test_relative_directory(void **state)
{
	(void)state;
	struct study study;
	AUTO_TEXT wanted = { 0 };
	assert_int_equal(mkdir("my,data", 0755), 0);
	assert_true(tree_put("my,data/file", "x"));
	text_addf(&wanted, "directory:path=%s/my,data,links=skip", tree_folder);
	load_well(&study, NULL,
		  (struct study_request){ .transports = only_tcp,
					  .dataset = "directory:path=my,data,links=skip" });
	assert_string_equal(study.dataset_text, text_string(&wanted));
	study_free(&study);
}

static void test_cold_on_a_disk(void **state)
{
	(void)state;
	struct study study;
	load_well(&study, "[study]\ncache = cold\n[dataset]\nlocation = /var/tmp\n" TCP_FILE,
		  (struct study_request){ 0 });
	assert_int_equal(study.settings.cache, CACHE_COLD);
	study_free(&study);
}

static void test_names(void **state)
{
	(void)state;
	static const struct {
		const char *file, *name;
	} cases[] = { { "plain.ini", "plain" },
		      { "./a.b.ini", "a.b" },
		      { "no-suffix", "no-suffix" },
		      { ".ini", ".ini" },
		      { "x.txt", "x.txt" } };
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct study study;
		struct error err = { 0 };
		assert_true(tree_put(cases[i].file, TCP_FILE));
		const struct study_request request = { .file = cases[i].file };
		if (study_load(&study, &request, &err) < 0)
			fail_msg("%s", err.message);
		assert_string_equal(study.name, cases[i].name);
		study_free(&study);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test_setup_teardown(test_every_setting, tree_folder_make,
						tree_folder_drop),
		cmocka_unit_test_setup_teardown(test_precedence, tree_folder_make,
						tree_folder_drop),
		cmocka_unit_test_setup_teardown(test_good_ciphers, tree_folder_make,
						tree_folder_drop),
		cmocka_unit_test_setup_teardown(test_datasets, tree_folder_make, tree_folder_drop),
		cmocka_unit_test_setup_teardown(test_relative_directory, tree_folder_make,
						tree_folder_drop),
		cmocka_unit_test_setup_teardown(test_cold_on_a_disk, tree_folder_make,
						tree_folder_drop),
		cmocka_unit_test_setup_teardown(test_names, tree_folder_make, tree_folder_drop),
	};
	return cmocka_run_group_tests(tests, load_catalog, NULL);
}
