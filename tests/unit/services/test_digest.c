#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/services/digest.h"
#include "tests/unit/tree_folder.h"

/* FIPS 180-4's own examples, and the empty message. */
static void test_known(void **state)
{
	(void)state;
	static const struct {
		const char *bytes, *digest;
	} cases[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char digest[DIGEST_SIZE];
		assert_int_equal(
			file_write_all("file", cases[i].bytes, strlen(cases[i].bytes), 0600, NULL),
			0);
		digest_file("file", digest);
		assert_string_equal(digest, cases[i].digest);
	}
}

/* A million times 'a': more than one block of reading. */
static void test_long(void **state)
{
	(void)state;
	static char bytes[1000000];
	char digest[DIGEST_SIZE];
	memset(bytes, 'a', sizeof(bytes));
	assert_int_equal(file_write_all("file", bytes, sizeof(bytes), 0600, NULL), 0);
	digest_file("file", digest);
	assert_string_equal(digest,
			    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void test_unreadable(void **state)
{
	(void)state;
	char digest[DIGEST_SIZE] = "old";
	digest_file("no-such-file", digest);
	assert_string_equal(digest, "");
	digest_file(".", digest);
	assert_string_equal(digest, "");
}

/* What a link leads to is named, and summed up. */
static void test_program(void **state)
{
	(void)state;
	AUTO_FREE char *file = path_join(tree_folder, "file");
	AUTO_FREE char *link = path_join(tree_folder, "link");
	struct probe_program program = { 0 };
	char digest[DIGEST_SIZE];
	assert_int_equal(file_write_all("file", "abc", 3, 0700, NULL), 0);
	assert_int_equal(symlink("file", "link"), 0);
	digest_file("file", digest);
	text_copy(program.path, sizeof(program.path), link);
	digest_program(&program);
	assert_string_equal(program.file, file);
	assert_string_equal(program.sha256, digest);
	text_copy(program.path, sizeof(program.path), file);
	digest_program(&program);
	assert_string_equal(program.file, "");
	assert_string_equal(program.sha256, digest);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, tree_folder_make, tree_folder_drop)

int main(void)
{
	const struct CMUnitTest tests[] = { IN_FOLDER(test_known), IN_FOLDER(test_long),
					    IN_FOLDER(test_unreadable), IN_FOLDER(test_program) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
