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
#include "tests/unit/tree_folder.h"
#include "transports/catalog.h"

/* The user's own tool files have no say here. */
static int load_catalog(void **state)
{
	(void)state;
	if (setenv("XDG_CONFIG_HOME", "/nonexistent", 1) < 0)
		return -1;
	catalog_add_folder(TOOLS_FOLDER);
	return catalog_problem(0) ? -1 : 0;
}

static int parse(struct study *study, const char *text, struct error *err)
{
	return study_parse(study, "s.ini", text, strlen(text), err);
}

/* The request's file is s.ini with that text; NULL for none. */
static int load(struct study *study, const char *text, struct study_request request,
		struct error *err)
{
	if (text) {
		assert_true(tree_put("s.ini", text));
		request.file = "s.ini";
	}
	return study_load(study, &request, err);
}

static void load_well(struct study *study, const char *text, struct study_request request)
{
	struct error err = { 0 };
	if (load(study, text, request, &err) < 0)
		fail_msg("%s", err.message);
}

/* "name[options]factors x2" of every case, with "; " between. */
static void describe(const struct study *study, struct text *out)
{
	for (size_t i = 0; i < study->cases_count; i++) {
		const struct study_case *item = &study->cases[i];
		text_addf(out, "%s%s[%s]%s", i ? "; " : "", item->name, item->options_text,
			  item->factors);
		if (item->instances != 1)
			text_addf(out, " x%llu", (unsigned long long)item->instances);
	}
}

static void assert_cases(const struct study *study, const char *wanted)
{
	AUTO_TEXT text = { 0 };
	describe(study, &text);
	assert_string_equal(text_string(&text), wanted);
}

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

static void test_errors_name_the_place(void **state)
{
	(void)state;
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "[study]\nrouns = 3\n",
		  "s.ini:2: unknown option 'rouns': did you mean 'rounds'?" },
		{ "[study]\nrounds = 0\n", "s.ini:2: rounds = 0 is out of range: 1 to 1000" },
		{ "[study]\nrounds = 1001\n", "s.ini:2: rounds = 1001 is out of range: 1 to 1000" },
		{ "[study]\nrounds = many\n",
		  "s.ini:2: rounds = many: a whole number is expected" },
		{ "[study]\nrounds =\n", "s.ini:2: rounds = : a whole number is expected" },
		{ "[study]\nrounds = 3 5\n", "s.ini:2: rounds = 3 5: a whole number is expected" },
		{ "[study]\nrounds = 3\nrounds = 3\n",
		  "s.ini:3: 'rounds' is already set in line 2" },
		{ "[study]\nseed = -1\n", "s.ini:2: seed = -1: a whole number is expected" },
		{ "[study]\nseed = 18446744073709551616\n",
		  "s.ini:2: seed = 18446744073709551616: a whole number is expected" },
		{ "[study]\ntimeout = 0\n",
		  "s.ini:2: timeout = 0 is out of range: 0.1 to 1000000 s" },
		{ "[study]\ntimeout = nan\n",
		  "s.ini:2: timeout = nan: a time such as 90, 1.5s, 5m or 2h is expected" },
		{ "[study]\ndurability = flsh\n",
		  "s.ini:2: durability = flsh: did you mean 'flush'? (known are none, flush)" },
		{ "[study]\ncache = boiling\n", "s.ini:2: cache = boiling: known are warm, cold" },
		{ "[study]\npreserve = owners\n",
		  "s.ini:2: preserve = owners: known are content, mode, all" },
		{ "[ssh]\nciphers = x\n",
		  "s.ini:2: unknown option 'ciphers': did you mean 'cipher'?" },
		{ "[hosts]\nsource = mars\n", "s.ini:2: source = mars: known are local" },
		{ "[hosts]\nsauce = local\n",
		  "s.ini:2: unknown option 'sauce': did you mean 'source'?" },
		{ "[studi]\nrounds = 3\n",
		  "s.ini:1: unknown section 'studi': did you mean 'study'? (known are study, ssh, "
		  "dataset, hosts, case NAME)" },
		{ "\n[weather]\n",
		  "s.ini:2: unknown section 'weather' (known are study, ssh, dataset, hosts, case "
		  "NAME)" },
		{ "[case]\ntransport = tcp\n", "s.ini:1: a case needs a name: [case NAME]" },
		{ "[case ]\ntransport = tcp\n", "s.ini:1: a case needs a name: [case NAME]" },
		{ "rounds = 3\n",
		  "s.ini:1: 'rounds' stands before any section: put a line [study] above it" },
		{ "\nlocation = ram\n",
		  "s.ini:2: 'location' stands before any section: put a line [dataset] above it" },
		{ "[study] rounds = 99\n",
		  "s.ini:1: text behind [study]: put 'rounds = 99' into a line of its own" },
		{ "[study]\r[case a]\rtransport = tcp\r",
		  "s.ini:1: a carriage return inside a line" },
		{ "[study]\nrounds = 0x10\n", "s.ini:2: rounds = 0x10: a whole number" },
		{ "[study]\nrounds = 1e1\n", "s.ini:2: rounds = 1e1: a whole number" },
		{ "[study]\ntimeout = 0x10\n", "s.ini:2: timeout = 0x10: a time such as" },
		{ "[study]\ntimeout = 1e2\n", "s.ini:2: timeout = 1e2: a time such as" },
		{ "[study]\ntimeout = 5 minutes\n",
		  "s.ini:2: timeout = 5 minutes: a time such as" },
		{ "[dataset]\nrecipe = single\nbytes = 0x10000\n",
		  "s.ini:3: bytes = 0x10000: a size such as 64KiB or 10MB is expected" },
		{ "[dataset]\nrecipe = single\nbytes = 1e9\n",
		  "s.ini:3: bytes = 1e9: a size such as 64KiB or 10MB is expected" },
		{ "[dataset]\nrecipe = single\nbytes = 1023\n",
		  "s.ini:3: bytes = 1023: of bytes? Below 1 KiB a size needs its unit: 1023B, "
		  "1023KiB or 1023MiB" },
		{ "[case a]\ntransport = multi\nrate = 1e9\n",
		  "s.ini:3: rate = 1e9: a rate such as 100Mbit/s or 10Gbit/s is expected" },
		{ "[dataset]\nrecipe = lognormal\nsigma = 1e0\n",
		  "s.ini:3: sigma = 1e0: a number is expected" },
		{ "[case a]\ntransport = multi\nstreams = 1,2,4\n",
		  "s.ini:3: streams = 1,2,4: a whole number is expected; several values are "
		  "separated by blanks" },
		{ "[ssh]\ncipher = aes128-ctr aes256-ctr\n",
		  "s.ini:2: cipher = aes128-ctr aes256-ctr: one list is expected here" },
		{ "[dataset]\nrecipe = singel\n",
		  "s.ini:2: unknown dataset 'singel': did you mean 'single'?" },
		{ "[dataset]\nrecipe = books\n",
		  "s.ini:2: unknown dataset 'books': `linefill list datasets` shows them" },
		{ "[dataset]\nrecipe = single\nlocatoin = ram\n",
		  "s.ini:3: unknown option 'locatoin': did you mean 'location'?" },
		{ "[dataset]\nrecipe = small-files\nfile = 3\n",
		  "s.ini:3: unknown option 'file': did you mean 'files'?" },
		{ "[dataset]\nrecipe = single\nbytes = 3 pounds\n",
		  "s.ini:3: bytes = 3 pounds: a size such as 64KiB or 10MB is expected" },
		{ "[dataset]\nrecipe = directory\n",
		  "dataset directory: the dataset 'directory' needs path=FOLDER" },
		{ "[case a]\nlabel = x\n", "s.ini:1: case 'a' has no transport" },
		{ "[case a]\ntransport = scpp\n",
		  "s.ini:2: unknown transport 'scpp': did you mean 'scp'?" },
		{ "[case a]\ntransport = pigeons\n",
		  "s.ini:2: unknown transport 'pigeons': `linefill list transports` shows them" },
		{ "[case a]\ntransport = multi\nstream = 4\n",
		  "s.ini:3: unknown option 'stream': did you mean 'streams'?" },
		{ "[case a]\ntransport = multi\nstream = 4 5\n",
		  "s.ini:3: unknown option 'stream': did you mean 'streams'?" },
		{ "[case a]\ntransport = multi\nstreams = 1 x 4\n",
		  "s.ini:3: streams = x: a whole number is expected" },
		{ "[case a]\ntransport = scp\ncompress = perhaps\n",
		  "s.ini:3: compress = perhaps: yes or no is expected" },
		{ "[case a]\ntransport = scp\ninstances = 65\n",
		  "s.ini:3: instances = 65 is out of range: 1 to 64" },
		{ "[case a]\ntransport = scp\ninstances = 0\n",
		  "s.ini:3: instances = 0 is out of range: 1 to 64" },
		{ "[case a]\ntransport = tcp\n[case a]\nlabel = x\n",
		  "s.ini:3: there is a section [case a] already, in line 1" },
		{ "[case a]\ntransport = tcp\n\n[case  a]\ntransport = scp\n",
		  "s.ini:4: there are two cases named 'a'" },
		{ "\n[case a]\ntransport = multi\nstreams = 4 4\n",
		  "s.ini:2: there are two cases named 'a streams=4'" },
		{ "[case a]\ntransport = tcp\nlabel = x\n[case b]\ntransport = tcp\n"
		  "[case c]\nlabel = x\ntransport = scp\n",
		  "s.ini:7: label 'x' is that of case 'a' (s.ini:3), too: tables and charts could "
		  "not tell them apart" },
		{ "[case a]\ntransport = null\nprepare_s = 1 2\nconnect_s = 1 2\nsend_s = 1 2\n"
		  "receive_s = 1 2\nburn_source_s = 1 2\nburn_sink_s = 1 2\nbytes = 1KiB 2KiB\n"
		  "copy = no yes\nflip = no yes\n",
		  "s.ini:11: more than 8 swept options" },
		{ "[case a]\ntransport = null\nprepare_s = 0 1 2 3 4 5 6 7 8 9\n"
		  "connect_s = 0 1 2 3 4 5 6 7 8 9\nsend_s = 0 1 2 3 4 5 6 7 8 9\ncopy = no yes\n",
		  "s.ini:1: more than 1000 cases" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct study study;
		struct error err = { 0 };
		if (parse(&study, cases[i].text, &err) == 0)
			fail_msg("accepted: %s", cases[i].text);
		assert_int_equal(err.kind, ERROR_CONFIG);
		if (strstr(err.message, cases[i].message) != err.message)
			assert_string_equal(err.message, cases[i].message);
		assert_null(study.cases);
		assert_null(study.dataset_options);
	}
}

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

#define TRANSPORTS(...) ((const char *const[]){ __VA_ARGS__, NULL })

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

#define TCP_FILE "[case tcp]\ntransport = tcp\n"

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

static void test_errors_of_the_command_line(void **state)
{
	(void)state;
	const struct {
		const char *text;
		struct study_request request;
		const char *message;
	} cases[] = {
		{ NULL,
		  { 0 },
		  "there is no case to run: name a study file (`linefill list studies`) or a "
		  "transport (-t scp)" },
		{ "[study]\nrounds = 3\n", { 0 }, "there is no case to run" },
		{ NULL, { .file = "none.ini" }, "study file: open none.ini: No such file" },
		{ NULL,
		  { .transports = TRANSPORTS("scpp") },
		  "-t scpp: unknown transport 'scpp': did you mean 'scp'?" },
		{ NULL,
		  { .transports = TRANSPORTS("multi:stream=4") },
		  "-t multi:stream=4: unknown option 'stream': did you mean 'streams'?" },
		{ NULL,
		  { .transports = TRANSPORTS("multi:streams=0") },
		  "-t multi:streams=0: streams = 0 is out of range" },
		{ NULL, { .transports = TRANSPORTS("") }, "-t : a case needs a name: [case NAME]" },
		{ NULL,
		  { .transports = TRANSPORTS("multi:streams=1 1") },
		  "-t multi:streams=1 1: there are two cases named 'multi streams=1'" },
		/* Options that contradict each other, or do nothing. */
		{ NULL,
		  { .transports = TRANSPORTS("tcp:bytes=2MiB") },
		  "-t tcp:bytes=2MiB: bytes, time and discard need memory=yes" },
		{ NULL,
		  { .transports = TRANSPORTS("tcp:memory,bytes=2MiB,time=1") },
		  "-t tcp:memory,bytes=2MiB,time=1: bytes and time both say when to stop" },
		{ NULL,
		  { .transports = TRANSPORTS("tcp:memory,receive=splice") },
		  "-t tcp:memory,receive=splice: memory moves no files: pretouch, direct and "
		  "receive have no meaning" },
		{ NULL,
		  { .transports = TRANSPORTS("tcp:source_cpu=x") },
		  "-t tcp:source_cpu=x: source_cpu = x: a CPU's number is expected" },
		{ NULL,
		  { .transports = TRANSPORTS("multi:bytes=1B") },
		  "-t multi:bytes=1B: bytes needs memory=yes" },
		{ "\n[case a]\ntransport = multi\nmemory = no yes\nresume = yes\n",
		  { 0 },
		  "s.ini:2: memory moves no files: checksum, compress, resume and receive have no "
		  "meaning" },
		{ NULL,
		  { .transports = TRANSPORTS("null:flip") },
		  "-t null:flip: flip, truncate, lose and miscount spoil a copy: they need copy=yes" },
		{ NULL,
		  { .transports = TRANSPORTS("multi:streams=4,streams=5") },
		  "-t multi:streams=4,streams=5: 'streams' is set twice" },
		{ NULL,
		  { .transports = TRANSPORTS("multi:transport=tcp") },
		  "-t multi:transport=tcp: 'transport' is set twice" },
		{ NULL,
		  { .transports = only_tcp, .dataset = "single:bytes=1KiB,bytes=2KiB" },
		  "--dataset: 'bytes' is set twice: 1KiB and 2KiB" },
		/* What the command line says twice. */
		{ NULL,
		  { .transports = only_tcp, .rounds = "5", .sets = TRANSPORTS("study.rounds=2") },
		  "--rounds and --set study.rounds: 'rounds' is 5 in one and 2 in the other" },
		{ NULL,
		  { .transports = only_tcp, .seed = "5", .sets = TRANSPORTS("study.seed=2") },
		  "--seed and --set study.seed: 'seed' is 5 in one and 2 in the other" },
		{ NULL,
		  { .transports = only_tcp,
		    .sets = TRANSPORTS("study.timeout=2", "study.timeout=3") },
		  "--set study.timeout: 'timeout' is set twice: 2 and 3" },
		{ NULL,
		  { .transports = only_tcp,
		    .dataset = "single",
		    .sets = TRANSPORTS("dataset.recipe=small-files") },
		  "--dataset and --set dataset.recipe: 'recipe' is single in one and small-files "
		  "in the other" },
		{ NULL,
		  { .transports = only_tcp,
		    .dataset = "single:bytes=1MiB",
		    .sets = TRANSPORTS("dataset.bytes=2MiB") },
		  "--dataset and --set dataset.bytes: 'bytes' is 1MiB in one and 2MiB in the "
		  "other" },
		{ NULL,
		  { .transports = TRANSPORTS("multi:streams=4"),
		    .sets = TRANSPORTS("case multi:streams=4.streams=8") },
		  "-t multi:streams=4 and --set case multi:streams=4.streams: 'streams' is 4 in "
		  "one and 8 in the other" },
		{ "[case a]\ntransport = tcp\n",
		  { .transports = TRANSPORTS("scp"), .only = TRANSPORTS("a") },
		  "--case leaves 'scp' out, which -t scp is for: add --case 'scp', or drop the "
		  "other" },
		{ "[case a]\ntransport = tcp\n[case b]\ntransport = tcp\n",
		  { .sets = TRANSPORTS("case b.instances=2"), .only = TRANSPORTS("a") },
		  "--case leaves 'b' out, which --set case b.instances is for: add --case 'b', or "
		  "drop the other" },
		{ NULL,
		  { .transports = TRANSPORTS("multi:streams=1,2,4,block=1MiB") },
		  "-t multi:streams=1,2,4,block=1MiB: '2' is no option; several values of one are "
		  "separated by blanks, as in 'streams=1 2 4'" },
		{ NULL,
		  { .transports = TRANSPORTS("multi:=4") },
		  "-t multi:=4: '=4' has no key before it" },
		{ NULL,
		  { .transports = TRANSPORTS("scp:label") },
		  "-t scp:label: 'label' needs a value: label=..." },
		{ NULL,
		  { .transports = only_tcp, .dataset = "directory:path" },
		  "--dataset: 'path' needs a value: path=..." },
		{ NULL,
		  { .transports = TRANSPORTS("scp:label=x", "tcp:label=x") },
		  "-t tcp:label=x: label 'x' is that of case 'scp' (-t scp:label=x), too" },
		{ "[case a]\ntransport = tcp\nlabel = x\n",
		  { .transports = TRANSPORTS("tcp:label=x") },
		  "-t tcp:label=x: label 'x' is that of case 'a' (s.ini:3), too" },
		{ NULL,
		  { .transports = only_tcp, .dataset = "singl:bytes=1KiB" },
		  "--dataset: unknown dataset 'singl': did you mean 'single'?" },
		{ NULL,
		  { .transports = only_tcp, .dataset = "" },
		  "--dataset: unknown dataset ''" },
		{ NULL,
		  { .transports = only_tcp, .dataset = "single:size=1KiB" },
		  "--dataset: unknown option 'size': " },
		{ NULL,
		  { .transports = only_tcp, .dataset = "directory:path=/no/such/folder" },
		  "dataset directory: directory path '/no/such/folder': No such file" },
		{ NULL,
		  { .transports = only_tcp, .sets = TRANSPORTS("study.rounds") },
		  "--set study.rounds: SECTION.KEY=VALUE is expected, such as study.rounds=10" },
		{ NULL,
		  { .transports = only_tcp, .sets = TRANSPORTS("rounds=3") },
		  "--set rounds=3: the section is missing: --set 'study.rounds=3'" },
		{ NULL,
		  { .transports = only_tcp, .sets = TRANSPORTS("label=3") },
		  "--set label=3: the section is missing: --set 'case NAME.label=3'" },
		{ NULL,
		  { .transports = only_tcp, .sets = TRANSPORTS("files=3") },
		  "--set files=3: SECTION.KEY=VALUE is expected, such as study.rounds=10" },
		{ NULL,
		  { .transports = TRANSPORTS("rsync") },
		  "-t rsync: unknown transport 'rsync': did you mean 'rsync-daemon', 'rsync-ssh'" },
		{ NULL,
		  { .transports = TRANSPORTS("nc") },
		  "-t nc: unknown transport 'nc': did you mean 'tar-nc'?" },
		{ NULL,
		  { .transports = TRANSPORTS("scp,tcp") },
		  "-t scp,tcp: each transport has a -t of its own, as in -t scp -t tcp" },
		{ NULL,
		  { .transports = only_tcp, .dataset = "/usr/include" },
		  "--dataset: '/usr/include' is a folder: that is the dataset "
		  "directory:path=/usr/include" },
		{ NULL,
		  { .transports = only_tcp, .sets = TRANSPORTS("study.rnds=3") },
		  "--set study.rnds: unknown option 'rnds': did you mean 'rounds'?" },
		{ NULL,
		  { .transports = only_tcp, .sets = TRANSPORTS("studie.rounds=3") },
		  "--set studie.rounds: unknown section 'studie': did you mean 'study'?" },
		{ NULL,
		  { .transports = only_tcp, .sets = TRANSPORTS("case scp.instances=3") },
		  "--set case scp.instances: there is no case 'scp' in the study" },
		{ NULL,
		  { .transports = only_tcp, .sets = TRANSPORTS("study.cache=cold") },
		  "cache = cold needs a location on a disk: set [dataset] location" },
		{ "[study]\ncache = cold\n[dataset]\nlocation = ram\n" TCP_FILE,
		  { 0 },
		  "cache = cold needs a location on a disk: set [dataset] location" },
		{ "[ssh]\nmac = hmac-sha2-512\n\ncipher = aes128-cbr\n" TCP_FILE,
		  { 0 },
		  "s.ini:4: unknown cipher 'aes128-cbr': did you mean 'aes128-ctr'?" },
		{ "[ssh]\nmac = hmac-sha2-265\n" TCP_FILE,
		  { 0 },
		  "s.ini:2: unknown MAC 'hmac-sha2-265': did you mean 'hmac-sha2-256'?" },
		{ "[ssh]\ncipher = +aes128-cbc,aes512-gcm@openssh.com\n" TCP_FILE,
		  { 0 },
		  "s.ini:2: unknown cipher 'aes512-gcm@openssh.com': did you mean "
		  "'aes128-gcm@openssh.com'?" },
		{ "[ssh]\ncipher = rot13\n" TCP_FILE,
		  { 0 },
		  "s.ini:2: unknown cipher 'rot13': `ssh -Q cipher` shows them" },
		{ NULL,
		  { .transports = TRANSPORTS("scp:cipher=aes128-ctr,aes265-ctr") },
		  "-t scp:cipher=aes128-ctr,aes265-ctr: unknown cipher 'aes265-ctr': did you mean "
		  "'aes256-ctr'?" },
		{ TCP_FILE,
		  { .sets = TRANSPORTS("ssh.mac=hmac_sha1") },
		  "--set ssh.mac: unknown MAC 'hmac_sha1': did you mean 'hmac-sha1'?" },
		{ NULL,
		  { .transports = only_tcp, .rounds = "many" },
		  "--rounds: rounds = many: a whole number is expected" },
		{ NULL,
		  { .transports = only_tcp, .seed = "-1" },
		  "--seed: seed = -1: a whole number is expected" },
		{ NULL,
		  { .transports = only_tcp, .rounds = "0" },
		  "--rounds: rounds = 0 is out of range: 1 to 1000" },
		{ TCP_FILE,
		  { .only = TRANSPORTS("tpc") },
		  "--case: there is no case 'tpc': did you mean 'tcp'?" },
		{ TCP_FILE,
		  { .only = TRANSPORTS("tcp", "pigeons") },
		  "--case: there is no case 'pigeons'" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct study study;
		struct error err = { 0 };
		if (load(&study, cases[i].text, cases[i].request, &err) == 0)
			fail_msg("accepted: %s", cases[i].message);
		assert_int_equal(err.kind, cases[i].request.file ? ERROR_SYSTEM : ERROR_CONFIG);
		if (strncmp(err.message, cases[i].message, strlen(cases[i].message)) != 0)
			assert_string_equal(err.message, cases[i].message);
		assert_null(study.cases);
	}
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
		cmocka_unit_test(test_errors_name_the_place),
		cmocka_unit_test(test_sweeps),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_transports_of_the_command_line),
		cmocka_unit_test_setup_teardown(test_cases_are_told_apart, tree_folder_make,
						tree_folder_drop),
		cmocka_unit_test(test_long_names_are_told_apart),
		cmocka_unit_test_setup_teardown(test_errors_of_the_command_line, tree_folder_make,
						tree_folder_drop),
		cmocka_unit_test_setup_teardown(test_precedence, tree_folder_make,
						tree_folder_drop),
		cmocka_unit_test_setup_teardown(test_good_ciphers, tree_folder_make,
						tree_folder_drop),
		cmocka_unit_test_setup_teardown(test_datasets, tree_folder_make, tree_folder_drop),
		cmocka_unit_test_setup_teardown(test_relative_directory, tree_folder_make,
						tree_folder_drop),
		cmocka_unit_test_setup_teardown(test_only_some_cases, tree_folder_make,
						tree_folder_drop),
		cmocka_unit_test_setup_teardown(test_cold_on_a_disk, tree_folder_make,
						tree_folder_drop),
		cmocka_unit_test_setup_teardown(test_names, tree_folder_make, tree_folder_drop),
	};
	return cmocka_run_group_tests(tests, load_catalog, NULL);
}
