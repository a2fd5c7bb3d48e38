/* From sections and sweeps to cases with names and labels. */
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

static void test_sweeps(void **state)
{
	(void)state;
	static const struct {
		const char *text, *cases;
	} cases[] = {
		{ "[case a]\ntransport = multi\nstreams = 4\n", "a[]" },
		{ "[case a]\ntransport = multi\nstreams = 1 4\n",
		  "a streams=1[streams=1]streams=1; a streams=4[]streams=4" },
		{ "[case a]\ntransport = multi\nrate = 2.5Gbit/s\n", "a[rate=2500000000]" },
		{ "[case a]\ntransport = multi\nstreams = 1\n  2\n\t 8\n",
		  "a streams=1[streams=1]streams=1; a streams=2[streams=2]streams=2; "
		  "a streams=8[streams=8]streams=8" },
		/* The first one written varies slowest; sizes are named as they were written. */
		{ "[case a]\ntransport = multi\nblock = 1MiB 2097152\nstreams = 1 2\n",
		  "a block=1MiB streams=1[streams=1,block=1MiB]block=1MiB;streams=1; "
		  "a block=1MiB streams=2[streams=2,block=1MiB]block=1MiB;streams=2; "
		  "a block=2097152 streams=1[streams=1,block=2MiB]block=2097152;streams=1; "
		  "a block=2097152 streams=2[streams=2,block=2MiB]block=2097152;streams=2" },
		{ "[case a]\ntransport = scp\ninstances = 1 8\ncompress = no yes\n",
		  "a instances=1 compress=no[]instances=1;compress=no; "
		  "a instances=1 compress=yes[compress=yes]instances=1;compress=yes; "
		  "a instances=8 compress=no[]instances=8;compress=no x8; "
		  "a instances=8 compress=yes[compress=yes]instances=8;compress=yes x8" },
		/* Lists are swept, too; blanks beside commas are no borders. */
		{ "[case a]\ntransport = ssh\ncipher = aes128-ctr aes128-gcm+aes256-ctr\n",
		  "a cipher=aes128-ctr[cipher=aes128-ctr]cipher=aes128-ctr; "
		  "a cipher=aes128-gcm@openssh.com+aes256-ctr"
		  "[cipher=aes128-gcm@openssh.com,aes256-ctr]"
		  "cipher=aes128-gcm@openssh.com+aes256-ctr" },
		{ "[case a]\ntransport = ssh\ncipher = aes128-ctr, aes256-ctr ,aes192-ctr\n",
		  "a[cipher=aes128-ctr,aes256-ctr,aes192-ctr]" },
		{ "[case a]\ntransport = ssh\nmac = hmac-sha2-256-etm , umac-64 hmac-sha1\n",
		  "a mac=hmac-sha2-256-etm@openssh.com,umac-64@openssh.com"
		  "[mac=hmac-sha2-256-etm@openssh.com,umac-64@openssh.com]"
		  "mac=hmac-sha2-256-etm@openssh.com,umac-64@openssh.com; "
		  "a mac=hmac-sha1[mac=hmac-sha1]mac=hmac-sha1" },
		/* Blanks belong to texts. */
		{ "[case a]\ntransport = ssh\nlabel = two words\ncipher = aes128-ctr,aes256-ctr\n",
		  "a[cipher=aes128-ctr,aes256-ctr]" },
		{ "[case b]\ntransport = tcp\n[case a]\ntransport = null\nfail = none send\n",
		  "b[]; a fail=none[]fail=none; a fail=send[fail=send]fail=send" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct study study;
		struct error err = { 0 };
		if (parse(&study, cases[i].text, &err) < 0)
			fail_msg("%s", err.message);
		assert_cases(&study, cases[i].cases);
		study_free(&study);
	}
}

static void test_labels(void **state)
{
	(void)state;
	static const struct {
		const char *text, *first, *second;
	} cases[] = {
		{ "[case a]\ntransport = tcp\n[case b]\ntransport = scp\nlabel = B!\n", "a", "B!" },
		/* One label for several cases would tell nothing apart: what is swept joins it. */
		{ "[case a]\ntransport = multi\nlabel = x\nstreams = 1 2\n", "x, streams=1",
		  "x, streams=2" },
		{ "[case a]\ntransport = multi\nlabel = x\nstreams = 1\nblock = 1MiB 2MiB\n",
		  "x, block=1MiB", "x, block=2MiB" },
		/* What changes the measurement shows, whatever the user calls the case. */
		{ "[case a]\ntransport = tcp\npretouch = yes\n"
		  "[case b]\ntransport = tcp\nmemory = yes\ndiscard = kernel\nlabel = plain label\n",
		  "a (pretouch=yes)", "plain label (discard=kernel)" },
		{ "[case a]\ntransport = tcp\npretouch = no yes\n", "a pretouch=no",
		  "a pretouch=yes" },
		{ "[ssh]\ncipher = tool-default\n"
		  "[case scp]\ntransport = scp\n[case b]\ntransport = tcp\n",
		  "scp (tool's own cipher)", "b" },
		{ "[ssh]\ncipher = tool-default\nmac = tool-default\n"
		  "[case a]\ntransport = ssh\n"
		  "[case b]\ntransport = scp\ncipher = aes128-ctr\nlabel = x\n",
		  "a (tool's own cipher and MAC)", "x (tool's own MAC)" },
		{ "[case a]\ntransport = scp\ncipher = tool-default\nlabel = x\n"
		  "[case b]\ntransport = ssh\nmac = tool-default\n",
		  "x (tool's own cipher)", "b (tool's own MAC)" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct study study;
		assert_int_equal(parse(&study, cases[i].text, NULL), 0);
		assert_int_equal(study.cases_count, 2);
		assert_string_equal(study.cases[0].label, cases[i].first);
		assert_string_equal(study.cases[1].label, cases[i].second);
		study_free(&study);
	}
}

static void test_transports_of_the_command_line(void **state)
{
	(void)state;
	const struct {
		const char *const *transports;
		const char *cases, *name, *label;
	} cases[] = {
		{ TRANSPORTS("tcp", "scp"), "tcp[]; scp[]", "tcp-scp", "tcp" },
		{ TRANSPORTS("multi:streams=2"), "multi:streams=2[streams=2]", "multi",
		  "multi:streams=2" },
		{ TRANSPORTS("multi:streams=2,block=1MiB,instances=3"),
		  "multi:streams=2,block=1MiB,instances=3[streams=2,block=1MiB] x3", "multi",
		  "multi:streams=2,block=1MiB,instances=3" },
		{ TRANSPORTS("multi:streams=1 2,block=1MiB"),
		  "multi:block=1MiB streams=1[streams=1,block=1MiB]streams=1; "
		  "multi:block=1MiB streams=2[streams=2,block=1MiB]streams=2",
		  "multi", "multi:block=1MiB streams=1" },
		{ TRANSPORTS("scp:compress"), "scp:compress=yes[compress=yes]", "scp",
		  "scp:compress=yes" },
		{ TRANSPORTS("scp:label=a copy,instances=2"), "scp:instances=2[] x2", "scp",
		  "a copy" },
		{ TRANSPORTS("ssh:cipher=aes128-ctr,aes256-ctr,mac=hmac-sha2-256"),
		  "ssh:cipher=aes128-ctr,aes256-ctr,mac=hmac-sha2-256"
		  "[cipher=aes128-ctr,aes256-ctr,mac=hmac-sha2-256]",
		  "ssh", "ssh:cipher=aes128-ctr,aes256-ctr,mac=hmac-sha2-256" },
		/* What any case can have ends a list, too. */
		{ TRANSPORTS("ssh:cipher=aes128-ctr,aes256-ctr,instances=2,label=x"),
		  "ssh:cipher=aes128-ctr,aes256-ctr,instances=2[cipher=aes128-ctr,aes256-ctr] x2",
		  "ssh", "x" },
		{ TRANSPORTS("ssh:cipher=aes128-ctr chacha20-poly1305,mac=hmac-sha2-256"),
		  "ssh:mac=hmac-sha2-256 cipher=aes128-ctr"
		  "[cipher=aes128-ctr,mac=hmac-sha2-256]cipher=aes128-ctr; "
		  "ssh:mac=hmac-sha2-256 cipher=chacha20-poly1305@openssh.com"
		  "[cipher=chacha20-poly1305@openssh.com,mac=hmac-sha2-256]"
		  "cipher=chacha20-poly1305@openssh.com",
		  "ssh", "ssh:mac=hmac-sha2-256 cipher=aes128-ctr" },
		/* A comma belongs to a text, unless an option follows. */
		{ TRANSPORTS("scp:label=a, b,instances=2", "scp:label=c,compress"),
		  "scp:instances=2[] x2; scp:compress=yes[compress=yes]", "scp", "a, b" },
		/* Blanks in a text are no sweep. */
		{ TRANSPORTS("scp:extra=-v -v", "scp"), "scp:extra=-v -v[extra=-v -v]; scp[]",
		  "scp", "scp:extra=-v -v" },
		/* Said once. */
		{ TRANSPORTS("tcp:pretouch"), "tcp:pretouch=yes[pretouch=yes]", "tcp",
		  "tcp:pretouch=yes" },
		{ TRANSPORTS("scp:cipher=tool-default"),
		  "scp:cipher=tool-default[cipher=tool-default]", "scp",
		  "scp:cipher=tool-default" },
		/* The same transport twice, with different sweeps. */
		{ TRANSPORTS("multi:streams=1 2", "multi:block=1MiB 2MiB"),
		  "multi streams=1[streams=1]streams=1; multi streams=2[streams=2]streams=2; "
		  "multi block=1MiB[block=1MiB]block=1MiB; multi block=2MiB[block=2MiB]block=2MiB",
		  "multi", "multi streams=1" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct study study;
		load_well(&study, NULL,
			  (struct study_request){ .transports = cases[i].transports });
		assert_cases(&study, cases[i].cases);
		assert_string_equal(study.name, cases[i].name);
		assert_string_equal(study.cases[0].label, cases[i].label);
		study_free(&study);
	}
}

/* "name|label; ..." of the cases. */
static void assert_labels(const struct study *study, const char *wanted)
{
	AUTO_TEXT text = { 0 };
	for (size_t i = 0; i < study->cases_count; i++)
		text_addf(&text, "%s%s|%s", i ? "; " : "", study->cases[i].name,
			  study->cases[i].label);
	assert_string_equal(text_string(&text), wanted);
}

static void test_cases_are_told_apart(void **state)
{
	(void)state;
	const struct {
		const char *text;
		struct study_request request;
		const char *labels;
	} cases[] = {
		{ NULL,
		  { .transports = TRANSPORTS("scp", "tcp", "scp", "scp") },
		  "scp|scp; tcp|tcp; scp (2)|scp (2); scp (3)|scp (3)" },
		{ TCP_FILE, { .transports = TRANSPORTS("tcp") }, "tcp|tcp; tcp (2)|tcp (2)" },
		{ NULL,
		  { .transports = TRANSPORTS("scp:label=a", "scp:label=b") },
		  "scp|a; scp (2)|b" },
		{ NULL,
		  { .transports = TRANSPORTS("multi:streams=1 2", "multi:streams=2 4") },
		  "multi streams=1|multi streams=1; multi streams=2|multi streams=2; "
		  "multi streams=2 (2)|multi streams=2 (2); multi streams=4|multi streams=4" },
		/* A label that was given stays; one that was made gives way. */
		{ NULL,
		  { .transports = TRANSPORTS("scp", "tcp:label=scp") },
		  "scp|scp (2); tcp|scp" },
		{ "[case a]\ntransport = tcp\nlabel = b\n[case b]\ntransport = tcp\n"
		  "[case b (2)]\ntransport = tcp\n",
		  { 0 },
		  "a|b; b|b (3); b (2)|b (2)" },
		/* Each is within --set's and --case's reach. */
		{ NULL,
		  { .transports = TRANSPORTS("scp", "scp"),
		    .sets = TRANSPORTS("case scp (2).label=again"),
		    .only = TRANSPORTS("scp (2)", "scp") },
		  "scp|scp; scp (2)|again" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct study study;
		load_well(&study, cases[i].text, cases[i].request);
		assert_labels(&study, cases[i].labels);
		study_free(&study);
	}
}

/* A row holds only the start of a long name. */
static void test_long_names_are_told_apart(void **state)
{
	(void)state;
	char wish[300];
	struct study study;
	struct result row;
	snprintf(wish, sizeof(wish), "scp:label=%0200d", 0);
	load_well(&study, NULL, (struct study_request){ .transports = TRANSPORTS(wish, "tcp") });
	study_free(&study);
	/* It may not hide what must be seen. */
	snprintf(wish, sizeof(wish), "tcp:pretouch,label=%0200d", 0);
	load_well(&study, NULL, (struct study_request){ .transports = TRANSPORTS(wish) });
	assert_int_equal(strlen(study.cases[0].label), sizeof(row.label) - 1);
	assert_string_equal(study.cases[0].label + sizeof(row.label) - 5, "yes)");
	study_free(&study);
	snprintf(wish, sizeof(wish), "ssh:mac=%s",
		 "hmac-sha2-256,hmac-sha2-512,hmac-sha1,"
		 "umac-64@openssh.com,umac-128@openssh.com,hmac-sha2-256-etm@openssh.com");
	load_well(&study, NULL, (struct study_request){ .transports = TRANSPORTS(wish, wish) });
	assert_true(strncmp(study.cases[0].name, study.cases[1].name, sizeof(row.case_name) - 1));
	assert_true(strncmp(study.cases[0].label, study.cases[1].label, sizeof(row.label) - 1));
	study_free(&study);
}

static void test_only_some_cases(void **state)
{
	(void)state;
	static const char file[] = TCP_FILE "[case m]\ntransport = multi\nstreams = 1 2\n"
					    "[case multi]\ntransport = multi\n";
	const struct {
		const char *const *only;
		const char *cases;
	} cases[] = {
		{ TRANSPORTS("tcp"), "tcp[]" },
		{ TRANSPORTS("multi", "tcp"), "tcp[]; multi[]" },
		{ TRANSPORTS("m"),
		  "m streams=1[streams=1]streams=1; m streams=2[streams=2]streams=2" },
		{ TRANSPORTS("m streams=2"), "m streams=2[streams=2]streams=2" },
		{ TRANSPORTS("tcp", "tcp"), "tcp[]" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct study study;
		load_well(&study, file, (struct study_request){ .only = cases[i].only });
		assert_cases(&study, cases[i].cases);
		study_free(&study);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sweeps),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_transports_of_the_command_line),
		cmocka_unit_test_setup_teardown(test_cases_are_told_apart, tree_folder_make,
						tree_folder_drop),
		cmocka_unit_test(test_long_names_are_told_apart),
		cmocka_unit_test_setup_teardown(test_only_some_cases, tree_folder_make,
						tree_folder_drop),
	};
	return cmocka_run_group_tests(tests, load_catalog, NULL);
}
