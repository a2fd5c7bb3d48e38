/* `linefill tool check`, and the page of tools that is made from their files. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/text.h"
#include "tests/cli/program.h"

#define GOOD                                                                       \
	"[tool]\nsummary = plain cp\ndriver = sink\ncaps = symlinks, empty-tree\n" \
	"probe = cp --version\nversion = coreutils\\) ([0-9.]+)\n"                 \
	"run = cp -rP {preserve} {src}/. {dst}/\n"                                 \
	"[preserve]\nmode = --preserve=mode\n"

/* The path of tools/mine.ini with that text. */
static const char *write_tool(const struct bench *bench, const char *text)
{
	static char path[160];
	bench_add_tool(bench, "mine", "%s", text);
	snprintf(path, sizeof(path), "%s/mine.ini", bench->tools);
	return path;
}

static void good_file_is_tried(void **state)
{
	struct bench *bench = *state;
	PROGRAM_RUN(bench, "tool", "check", write_tool(bench, GOOD));
	ASSERT_EXIT(bench, 0);
	ASSERT_HOLDS(bench->output, "mine: plain cp");
	ASSERT_HOLDS(bench->output, "version ");
	ASSERT_HOLDS(bench->output, "trial copy: ok, verified, preserve = mode");
	PROGRAM_RUN(bench, "tool", "check", "--no-copy", write_tool(bench, GOOD));
	ASSERT_EXIT(bench, 0);
	ASSERT_LACKS(bench->output, "trial");
	bench_check_clean(bench);
}

/* What is wrong is told with file, line and key; or with what the tool said. */
static void bad_files_are_told(void **state)
{
	static const struct {
		const char *text;
		int status;
		const char *says[3];
	} cases[] = {
		{ "[tool]\nrnu = cp {src} {dst}\n", 2, { "mine.ini:2", "'rnu'", "'run'" } },
		{ "[tool]\nrun = cp {scr} {dst}\n", 2, { "mine.ini:2: run", "{scr}", "{src}" } },
		{ "[tool]\nrun = cp {src} {dst} {token}\n", 2, { "mine.ini:2: run", "{token}" } },
		{ "[tool]\nrun = cp {src}\n[file x]\nmode = 1\n", 2, { "mine.ini:4", "'mode'" } },
		{ "[tool]\nrun = lf-no-such {src} {dst}\n", 1, { "not available: lf-no-such" } },
		{ "[tool]\nprobe = sh -c 'exit 127'\nrun = cp {src} {dst}\n",
		  1,
		  { "not available", "exit status 127" } },
		{ "[tool]\nprobe = echo frog 7\nversion = toad ([0-9]+)\nrun = cp {src} {dst}\n",
		  1,
		  { "pattern does not match", "frog 7" } },
		{ "[tool]\nfar_programs = lf-far\nrun = cp {src} {dst}\n",
		  1,
		  { "trial copy: unavailable: sink: lf-far: not found" } },
		{ "[tool]\nrun = true {src} {dst}\n", 1, { "trial copy: integrity", "missing" } },
		{ "[tool]\nrun = sh -c 'echo no luck >&2; exit 3' {src} {dst}\n",
		  1,
		  { "trial copy: failed", "exit status 3", "no luck" } },
	};
	struct bench *bench = *state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		PROGRAM_RUN(bench, "tool", "check", write_tool(bench, cases[i].text));
		ASSERT_EXIT(bench, cases[i].status);
		for (size_t j = 0; j < 3 && cases[i].says[j]; j++)
			ASSERT_HOLDS(cases[i].status == 2 ? bench->error : bench->output,
				     cases[i].says[j]);
	}
	bench_check_clean(bench);
}

/* What was written to a terminal comes in parts, of which the last may be late. */
static size_t read_terminal(int terminal, char *to, size_t size)
{
	struct pollfd ready = { .fd = terminal, .events = POLLIN };
	size_t count = 0;
	while (count + 1 < size && poll(&ready, 1, 500) > 0) {
		ssize_t got = read(terminal, to + count, size - 1 - count);
		if (got <= 0)
			break;
		count += (size_t)got;
	}
	to[count] = '\0';
	return count;
}

/* On a terminal one sees what is waited for, and until when. */
static void waiting_is_shown(void **state)
{
	struct bench *bench = *state;
	char told[4096];
	int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (terminal < 0 || grantpt(terminal) < 0 || unlockpt(terminal) < 0)
		skip();
	bench->told_to = ptsname(terminal);
	int kept = open(bench->told_to, O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_return_code(kept, errno);
	PROGRAM_RUN(bench, "tool", "check",
		    write_tool(bench, "[tool]\nprobe = sh -c 'sleep 1'\n"
				      "run = sh -c 'sleep 1 && exit 3' {src} {dst}\n"));
	size_t count = read_terminal(terminal, told, sizeof(told));
	close(kept);
	close(terminal);
	ASSERT_EXIT(bench, 1);
	ASSERT_HOLDS(bench->output, "trial copy: failed");
	ASSERT_HOLDS(told, "asking its programs for their version  0:0");
	ASSERT_HOLDS(told, "trial copy; a tool that hangs is ended after 60 s  0:0");
	/* And nothing of it stays. */
	assert_true(count > 4 && memcmp(told + count - 4, "\r\033[K", 4) == 0);
	bench->told_to = NULL;
	PROGRAM_RUN(bench, "tool", "check", write_tool(bench, GOOD));
	assert_string_equal(bench->error, "");
}

/* What a file says, or the program it names, does not drive the terminal, whoever shows it. */
static void texts_are_escaped(void **state)
{
	struct bench *bench = *state;
	AUTO_TEXT file = { 0 };
	AUTO_TEXT plan = { 0 };
	bench_add_tool(bench, "rude",
		       "[tool]\nsummary = \033]0;owned\007a \xc2\x9b"
		       "31mtool\n"
		       "probe = printf '1.0\\033[31m'\nversion = (.*)\n"
		       "run = cp -r {src}/. {dst}/ {rude}\n[preserve]\nmode =\n"
		       "[option rude]\ntype = text\ndefault = \033[31m\n"
		       "help = it is \033[31mrude\n");
	bench_add_tool(bench, "worse", "[tool]\nrunn = \033[31m\n\033[32m = 3\n");
	bench_add_file(bench, "rude.ini",
		       "[case \033[31m]\ntransport = rude\nlabel = \033[32mx\n"
		       "[case b]\ntransport = rude\nrude = \033[33m\n");
	text_addf(&file, "%s/rude.ini", bench->tools);
	text_addf(&plan, "%s/rude.ini", bench->files);
	const char *const calls[][8] = {
		{ "tool", "check", text_string(&file) },
		{ "list", "transports", "--tools", bench->tools },
		{ "list", "transports", "rude", "--tools", bench->tools },
		{ "list", "transports", "--json", "--tools", bench->tools },
		{ "run", text_string(&plan), "--plan", "--tools", bench->tools },
		{ "run", "-t", "\033[31m", "--plan" },
		{ "run", "-t", "rude:rude=\033[31m", "--plan", "--tools", bench->tools },
		{ "report", "\033[31m" },
		{ "dataset", "make", "\033[31m", "x" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		program_run(bench, calls[i]);
		ASSERT_LACKS(bench->output, "\033");
		ASSERT_LACKS(bench->error, "\033");
		ASSERT_LACKS(bench->output, "\007");
		ASSERT_LACKS(bench->output, "\xc2\x9b");
		assert_true(bench->output[0] || bench->error[0]);
		if (i < 3)
			ASSERT_HOLDS(bench->output, "rude");
		if (i == 0)
			ASSERT_HOLDS(bench->output, "rude: \\x1b]0;owned\\x07a \\xc2\\x9b31mtool");
	}
}

/* A tool does not vanish from the list for a byte that JSON cannot hold. */
static void texts_that_are_no_utf8(void **state)
{
	struct bench *bench = *state;
	bench_add_tool(
		bench, "latin",
		"[tool]\nsummary = na\xefve\nrun = cp -r {src}/. {dst}/ {o}\n[preserve]\nmode =\n"
		"[option o]\ntype = text\ndefault = \xff\non =\nhelp = \xfe\n");
	PROGRAM_RUN(bench, "list", "transports", "--tools", bench->tools);
	ASSERT_EXIT(bench, 0);
	ASSERT_HOLDS(bench->output, "na\\xefve");
	PROGRAM_RUN(bench, "list", "transports", "--json", "--tools", bench->tools);
	ASSERT_EXIT(bench, 0);
	ASSERT_HOLDS(bench->output, "na\\\\xefve");
	ASSERT_LACKS(bench->output, "\xef");
	ASSERT_HOLDS(bench->output, "\"default\": \"\\\\xff\"");
}

static void usage_is_checked(void **state)
{
	struct bench *bench = *state;
	PROGRAM_RUN(bench, "tool");
	ASSERT_EXIT(bench, 2);
	PROGRAM_RUN(bench, "tool", "chekc", "x.ini");
	ASSERT_EXIT(bench, 2);
	PROGRAM_RUN(bench, "tool", "check");
	ASSERT_EXIT(bench, 2);
	PROGRAM_RUN(bench, "tool", "check", "nowhere.ini");
	ASSERT_EXIT(bench, 2);
	ASSERT_HOLDS(bench->error, "nowhere.ini");
}

/* The example on docs/tools.md is one that works. */
static void page_example_is_good(void **state)
{
	static const char start[] = "```ini\n";
	struct bench *bench = *state;
	char *page = NULL;
	struct error err = { 0 };
	if (file_read_all(DOCS_FOLDER "/tools.md", 1 << 20, &page, NULL, &err) < 0)
		fail_msg("%s", err.message);
	char *example = strstr(page, start);
	assert_non_null(example);
	example += strlen(start);
	char *end = strstr(example, "```");
	assert_non_null(end);
	*end = '\0';
	PROGRAM_RUN(bench, "tool", "check", write_tool(bench, example));
	free(page);
	if (strstr(bench->output, "not available"))
		skip();
	ASSERT_EXIT(bench, 0);
	ASSERT_HOLDS(bench->output, "trial copy: ok, verified");
}

/* docs/tools.md holds the table as the files make it now. */
static void page_is_up_to_date(void **state)
{
	static const char start[] = "<!-- tools -->\n";
	struct bench *bench = *state;
	char *page = NULL;
	struct error err = { 0 };
	PROGRAM_RUN(bench, "list", "transports", "--markdown");
	ASSERT_EXIT(bench, 0);
	if (file_read_all(DOCS_FOLDER "/tools.md", 1 << 20, &page, NULL, &err) < 0)
		fail_msg("%s", err.message);
	char *table = strstr(page, start);
	assert_non_null(table);
	table += strlen(start);
	char *end = strstr(table, "<!-- /tools -->");
	assert_non_null(end);
	*end = '\0';
	if (strcmp(table, bench->output) != 0)
		fail_msg(
			"docs/tools.md is not what `linefill list transports --markdown` prints:\n%s",
			bench->output);
	free(page);
	PROGRAM_RUN(bench, "list", "datasets", "--markdown");
	ASSERT_EXIT(bench, 2);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(good_file_is_tried), BENCH_TEST(bad_files_are_told),
		BENCH_TEST(waiting_is_shown),   BENCH_TEST(usage_is_checked),
		BENCH_TEST(texts_are_escaped),  BENCH_TEST(texts_that_are_no_utf8),
		BENCH_TEST(page_is_up_to_date), BENCH_TEST(page_example_is_good),
	};
	cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
