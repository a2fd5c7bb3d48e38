/* What a study file and the command line may not say, and how it is answered. */
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

static const struct {
	const char *text, *message;
} in_files[] = {
	{ "[study]\nrouns = 3\n", "s.ini:2: unknown option 'rouns': did you mean 'rounds'?" },
	{ "[study]\nrounds = 0\n", "s.ini:2: rounds = 0 is out of range: 1 to 1000" },
	{ "[study]\nrounds = 1001\n", "s.ini:2: rounds = 1001 is out of range: 1 to 1000" },
	{ "[study]\nrounds = many\n", "s.ini:2: rounds = many: a whole number is expected" },
	{ "[study]\nrounds =\n", "s.ini:2: rounds = : a whole number is expected" },
	{ "[study]\nrounds = 3 5\n", "s.ini:2: rounds = 3 5: a whole number is expected" },
	{ "[study]\nrounds = 3\nrounds = 3\n", "s.ini:3: 'rounds' is already set in line 2" },
	{ "[study]\nseed = -1\n", "s.ini:2: seed = -1: a whole number is expected" },
	{ "[study]\nseed = 18446744073709551616\n",
	  "s.ini:2: seed = 18446744073709551616: a whole number is expected" },
	{ "[study]\ntimeout = 0\n", "s.ini:2: timeout = 0 is out of range: 0.1 to 1000000 s" },
	{ "[study]\ntimeout = nan\n",
	  "s.ini:2: timeout = nan: a time such as 90, 1.5s, 5m or 2h is expected" },
	{ "[study]\ndurability = flsh\n",
	  "s.ini:2: durability = flsh: did you mean 'flush'? (known are none, flush)" },
	{ "[study]\ncache = boiling\n", "s.ini:2: cache = boiling: known are warm, cold" },
	{ "[study]\npreserve = owners\n",
	  "s.ini:2: preserve = owners: known are content, mode, all" },
	{ "[ssh]\nciphers = x\n", "s.ini:2: unknown option 'ciphers': did you mean 'cipher'?" },
	{ "[hosts]\nsource = mars\n", "s.ini:2: source = mars: known are local" },
	{ "[hosts]\nsauce = local\n", "s.ini:2: unknown option 'sauce': did you mean 'source'?" },
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
	{ "[study]\r[case a]\rtransport = tcp\r", "s.ini:1: a carriage return inside a line" },
	{ "[study]\nrounds = 0x10\n", "s.ini:2: rounds = 0x10: a whole number" },
	{ "[study]\nrounds = 1e1\n", "s.ini:2: rounds = 1e1: a whole number" },
	{ "[study]\ntimeout = 0x10\n", "s.ini:2: timeout = 0x10: a time such as" },
	{ "[study]\ntimeout = 1e2\n", "s.ini:2: timeout = 1e2: a time such as" },
	{ "[study]\ntimeout = 5 minutes\n", "s.ini:2: timeout = 5 minutes: a time such as" },
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

static void test_errors_name_the_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(in_files); i++) {
		struct study study;
		struct error err = { 0 };
		if (parse(&study, in_files[i].text, &err) == 0)
			fail_msg("accepted: %s", in_files[i].text);
		assert_int_equal(err.kind, ERROR_CONFIG);
		if (strstr(err.message, in_files[i].message) != err.message)
			assert_string_equal(err.message, in_files[i].message);
		assert_null(study.cases);
		assert_null(study.dataset_options);
	}
}

static const struct {
	const char *text;
	struct study_request request;
	const char *message;
} on_the_command_line[] = {
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
	  { .transports = only_tcp, .sets = TRANSPORTS("study.timeout=2", "study.timeout=3") },
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
	{ NULL, { .transports = only_tcp, .dataset = "" }, "--dataset: unknown dataset ''" },
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

static void test_errors_of_the_command_line(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(on_the_command_line); i++) {
		struct study study;
		struct error err = { 0 };
		if (load(&study, on_the_command_line[i].text, on_the_command_line[i].request,
			 &err) == 0)
			fail_msg("accepted: %s", on_the_command_line[i].message);
		assert_int_equal(err.kind,
				 on_the_command_line[i].request.file ? ERROR_SYSTEM : ERROR_CONFIG);
		if (strncmp(err.message, on_the_command_line[i].message,
			    strlen(on_the_command_line[i].message)) != 0)
			assert_string_equal(err.message, on_the_command_line[i].message);
		assert_null(study.cases);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors_name_the_place),
		cmocka_unit_test_setup_teardown(test_errors_of_the_command_line, tree_folder_make,
						tree_folder_drop),
	};
	return cmocka_run_group_tests(tests, load_catalog, NULL);
}
