#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/api/transport.h"
#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/text.h"
#include "transports/tool/tool.h"
#include "transports/tool/tool_file.h"
#include "transports/tool/tool_raw.h"

#define RUN "[tool]\nrun = cp {src} {dst}\n"

static const struct {
	const char *text, *message; /* all of it, or its beginning when it ends with '*' */
} mistakes[] = {
	{ "", "a.ini:1: [tool] has no 'run'" },
	{ "[tool]\n", "a.ini:1: [tool] has no 'run'" },
	{ "[tool]\nrun =\n", "a.ini:2: the command is empty" },
	{ "[tool]\nrun = \"\"\n", "a.ini:2: the command is empty" },
	{ "[tool]\nrnu = x\n", "a.ini:2: unknown key 'rnu': did you mean 'run'?" },
	{ "[tool]\nzzzzzz = x\n", "a.ini:2: unknown key 'zzzzzz': known are name, *" },
	{ "[tol]\nrun = x\n", "a.ini:1: unknown section 'tol': did you mean 'tool'?" },
	{ "[optoin x]\ntype = flag\n",
	  "a.ini:1: unknown section 'optoin': did you mean 'option'?" },
	{ "[option]\ntype = flag\n", "a.ini:1: unknown section 'option': *" },
	{ RUN "nonsense\n", "a.ini:3: neither a section nor key = value" },
	{ RUN "run = again\n", "a.ini:3: 'run' is already set in line 2" },
	{ "[tool]\nrun = cp 'a\n", "a.ini:2: run: open quote in: *" },
	{ "[tool]\nrun = cp {sr}\n",
	  "a.ini:2: run: unknown placeholder {sr}: did you mean {src}?" },
	{ "[tool]\nrun = cp {src\n", "a.ini:2: run: '{src': the brace is not closed *" },
	{ "[tool]\nrun = cp {}\n", "a.ini:2: run: '{}' is no placeholder" },
	{ "[tool]\nrun = cp {a{b}}\n", "a.ini:2: run: '{a{b}}': the brace is not closed *" },
	{ "[tool]\nrun = cp {key}\n",
	  "a.ini:2: run: {key} belongs to a service: 'needs' names none" },
	{ "[tool]\nrun = cp {value}\n", "a.ini:2: run: unknown placeholder {value}*" },
	{ RUN "prepare = ls {src}\n", "a.ini:3: prepare: {src} cannot be used here" },
	{ RUN "environment = A=1 B\n", "a.ini:3: 'B' is not NAME=value" },
	{ RUN "environment = =1\n", "a.ini:3: '=1' is not NAME=value" },
	{ RUN "environment = D={dst}\n", "a.ini:3: environment: {dst} cannot be used here" },
	{ RUN "driver = middle\n", "a.ini:3: 'middle' is none of: source, sink" },
	{ RUN "plain = perhaps\n", "a.ini:3: 'perhaps' is none of: no, yes" },
	{ RUN "caps = symlink\n", "a.ini:3: unknown cap 'symlink': did you mean 'symlinks'?" },
	{ RUN "caps = two-ended\n", "a.ini:3: a tool cannot be two-ended" },
	{ RUN "name = a b\n", "a.ini:3: a tool's name is *" },
	{ RUN "name = -a\n", "a.ini:3: a tool's name is *" },
	{ RUN "needs = a b c d e\n", "a.ini:3: too many services" },
	{ RUN "version = (x)\n", "a.ini:3: 'version' needs a 'probe'" },
	{ RUN "serve_until = exit\n", "a.ini:3: 'serve_until' needs a 'serve'" },
	{ RUN "[preserve]\nmodes = -p\n", "a.ini:4: unknown key 'modes': did you mean 'mode'?" },
	{ RUN "[preserve]\nmode = -p\n", "a.ini:4: no command uses {preserve}" },
	{ RUN "[option x]\n", "a.ini:3: the option has no 'type'" },
	{ RUN "[option x]\ntype = falg\n", "a.ini:4: 'falg' is none of: flag, *" },
	{ RUN "[option X]\ntype = flag\n", "a.ini:3: an option's name is *" },
	{ RUN "[option x]\ntype = flag\n", "a.ini:3: a flag needs 'on' or 'off'" },
	{ RUN "[option x]\ntype = count\n", "a.ini:3: a number needs a 'default'" },
	{ RUN "[option x]\ntype = choice\n", "a.ini:3: 'choices' belongs to type = choice, *" },
	{ RUN "[option x]\ntype = choice\nchoices = ,\n", "a.ini:3: 'choices' is empty" },
	{ RUN "[option x]\ntype = text\nchoices = a\n",
	  "a.ini:3: 'choices' belongs to type = choice, *" },
	{ RUN "[option x]\ntype = text\nmin = 1\n", "a.ini:5: only numbers have a min and a max" },
	{ RUN "[option x]\ntype = text\noff = -x\n", "a.ini:5: 'off' belongs to a flag" },
	{ RUN "[option x]\ntype = count\ndefault = 1\nmin = many\n",
	  "a.ini:6: a number is expected" },
	{ "[tool]\nrun = cp {x}\n[option x]\ntype = count\ndefault = 9\nmin = 1\nmax = 4\n",
	  "a.ini: default of x: x = 9 is out of range: 1 to 4" },
	{ RUN "[option x]\ntype = text\n", "a.ini:3: option x has no effect: no command uses {x}" },
	{ "[tool]\nrun = cp {src}\n[option src]\ntype = text\n",
	  "a.ini:3: {src} has a meaning already: the option needs another name" },
	{ "[tool]\nrun = cp {x}\n[option x]\ntype = flag\non = {value}\n",
	  "a.ini:3: option x: unknown placeholder {value}*" },
	{ "[tool]\nrun = cp {x}\n[option x]\ntype = text\non = {x}\n",
	  "a.ini:3: option x: unknown placeholder {x}*" },
	{ "[tool]\nrun = cp {preserve}\n[preserve]\nmode = {preserve}\n",
	  "a.ini:4: mode: unknown placeholder {preserve}*" },
	{ "[tool]\nrun = cp {token}\n", "a.ini:2: run: {token} cannot be used here" },
	{ "[tool]\nrun = cp {file}\n", "a.ini:2: run: {file} cannot be used here" },
	{ RUN "prepare = ls {entries}\n", "a.ini:3: prepare: {entries} cannot be used here" },
	{ RUN "input = a b\n", "a.ini:3: 'input' is one path" },
	{ RUN "serve_into = tar\n", "a.ini:3: 'serve_into' needs a 'serve'" },
	{ RUN "ports = 4\n", "a.ini:3: 'ports' needs a 'serve'" },
	{ RUN "serve = x\nports = 65\n", "a.ini:4: a server can have 64 ports at most" },
	{ RUN "serve = x\nports = 0\n", "a.ini:4: a number above 0 is expected" },
	{ RUN "ciphers = aes\n", "a.ini:3: 'ciphers' needs a 'needs'" },
	{ RUN "counted_unit = 1\n", "a.ini:3: 'counted_unit' needs a 'counted'" },
	{ RUN "counted = (x)\n", "a.ini:3: 'counted' needs the cap memory" },
	{ RUN "caps = memory\n", "a.ini:3: the cap memory needs 'counted'" },
	{ RUN "caps = memory\ncounted = (x)\n", "a.ini:4: 'counted' needs a sink that tells: *" },
	{ RUN "verifies = maybe\n", "a.ini:3: 'maybe' is none of: no, yes, option" },
	{ RUN "[file a/b]\ntext = x\n", "a.ini:3: a file's name is *" },
	{ RUN "[file .a]\ntext = x\n", "a.ini:3: a file's name is *" },
	{ RUN "[file a]\n", "a.ini:3: the file has neither 'text' nor 'each'" },
	{ RUN "[file a]\ntext = {file}\n", "a.ini:3: file a: {file} cannot be used here" },
	{ RUN "[file a]\neach = {flie}\n",
	  "a.ini:3: file a: unknown placeholder {flie}: did you mean {file}?" },
	{ RUN "[file a]\ntxt = x\n", "a.ini:4: unknown key 'txt': did you mean 'text'?" },
	{ RUN "[option cipher]\ntype = list\n", "a.ini:3: {cipher} has a meaning already: *" },
};

static void test_errors(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(mistakes); i++) {
		struct tool_file *file = NULL;
		struct error err = { 0 };
		int result = tool_file_parse("a.ini", mistakes[i].text, strlen(mistakes[i].text),
					     &file, &err);
		if (result == 0)
			fail_msg("no error for: %s", mistakes[i].text);
		assert_int_equal(err.kind, ERROR_CONFIG);
		size_t length = strlen(mistakes[i].message);
		if (mistakes[i].message[length - 1] == '*'
			    ? strncmp(err.message, mistakes[i].message, length - 1) != 0
			    : strcmp(err.message, mistakes[i].message) != 0)
			fail_msg("%s\ngives: %s\nwanted: %s", mistakes[i].text, err.message,
				 mistakes[i].message);
	}
}

static void test_too_many_options(void **state)
{
	(void)state;
	AUTO_TEXT text = { 0 };
	text_add(&text, "[tool]\nrun = cp\n");
	for (int i = 0; i <= TOOL_OPTIONS_MAX; i++)
		text_addf(&text, "[option x%d]\ntype = text\n", i);
	struct tool_file *file = NULL;
	struct error err = { 0 };
	assert_int_equal(tool_file_parse("a.ini", text_string(&text), text.length, &file, &err),
			 -1);
	assert_string_equal(err.message, "a.ini:67: too many options");
}

static void test_long_line(void **state)
{
	(void)state;
	AUTO_TEXT text = { 0 };
	text_addf(&text, "[tool]\nrun = cp %0300d\n", 1);
	struct tool_file *file = NULL;
	struct error err = { 0 };
	assert_int_equal(tool_file_parse("a.ini", text_string(&text), text.length, &file, &err),
			 -1);
	assert_non_null(strstr(err.message, "a.ini:2: the line is longer than "));
}

static struct tool_file *parse(const char *path, const char *text)
{
	struct tool_file *file = NULL;
	struct error err = { 0 };
	if (tool_file_parse(path, text, strlen(text), &file, &err) < 0)
		fail_msg("%s", err.message);
	return file;
}

static void test_everything(void **state)
{
	(void)state;
	struct tool_file *file =
		parse("/some/folder/my-tool.ini",
		      "; comment\n"
		      "[tool]\n"
		      "summary = one line\n"
		      "driver = sink\n"
		      "needs = sshd, other\n"
		      "caps = symlinks, any-name empty-folders\n"
		      "plain = yes\n"
		      "probe = x --version\n"
		      "version = ([0-9]+)\n"
		      "run = x {src} \"a {level} b\" {preserve} {fast}\n"
		      "  {size} ''  'c d'{{}\n"
		      "serve = x -l {port}\n"
		      "serve_until = exit\n"
		      "environment = A={scratch} \"B=b c\"\n"
		      "[preserve]\n"
		      "content =\n"
		      "all = -p -t\n"
		      "[option level]\n"
		      "type = choice\nchoices = low, high\nplain = low\nhelp = how\n"
		      "[option fast]\n"
		      "type = flag\ndefault = yes\noff = --slow\n"
		      "[option size]\n"
		      "type = size\ndefault = 4KiB\nmin = 1KiB\nmax = 1MiB\n"
		      "on = -s {value}\n");
	assert_string_equal(file->name, "my-tool");
	assert_string_equal(file->summary, "one line");
	assert_int_equal(file->driver, XFER_SINK);
	assert_string_equal(file->needs[0], "sshd");
	assert_string_equal(file->needs[1], "other");
	assert_null(file->needs[2]);
	assert_int_equal(file->caps, CAP_TOOL | CAP_SYMLINKS | CAP_ANY_NAME | CAP_EMPTY_FOLDERS);
	assert_true(file->plain);
	assert_true(file->serve_until_exit);
	static const char *const run[] = { "x",      "{src}", "a {level} b", "{preserve}", "{fast}",
					   "{size}", "",      "c d{{}" };
	for (size_t i = 0; i < ARRAY_SIZE(run); i++)
		assert_string_equal(file->run[i], run[i]);
	assert_null(file->run[ARRAY_SIZE(run)]);
	assert_string_equal(file->environment[1], "B=b c");
	assert_non_null(file->preserve[PRESERVE_CONTENT]);
	assert_null(file->preserve[PRESERVE_MODE]);
	assert_string_equal(file->preserve[PRESERVE_ALL][1], "-t");
	assert_int_equal(file->option_count, 3);
	assert_string_equal(file->defs[0].fallback, "low");
	assert_string_equal(file->defs[0].plain, "low");
	assert_string_equal(file->defs[1].fallback, "yes");
	assert_true(file->defs[2].max == 1024.0 * 1024.0);
	assert_null(file->defs[3].name);
	tool_file_free(file);
}

static void test_name_of_its_own(void **state)
{
	(void)state;
	struct tool_file *file = parse("x.ini", RUN "name = other+1.2_3\n");
	assert_string_equal(file->name, "other+1.2_3");
	tool_file_free(file);
	file = parse("no-folder", RUN);
	assert_string_equal(file->name, "no-folder");
	tool_file_free(file);
}

static void test_bad_patterns(void **state)
{
	(void)state;
	static const char *const patterns[] = { "([0-9]", "no group", "*(" };
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		AUTO_TEXT text = { 0 };
		text_addf(&text, RUN "probe = x\nversion = %s\n", patterns[i]);
		struct transport *transport = NULL;
		struct error err = { 0 };
		assert_int_equal(
			tool_parse("a.ini", text_string(&text), text.length, &transport, &err), -1);
		assert_int_equal(err.kind, ERROR_CONFIG);
		assert_non_null(strstr(err.message, "a.ini: version = "));
	}
}

struct seen {
	size_t found, failed;
	bool scp, bad;
};

static void on_found(struct transport *transport, void *context)
{
	struct seen *seen = context;
	seen->found++;
	if (strcmp(transport->name, "scp") == 0)
		seen->scp = true;
	assert_true(tool_is(transport));
	assert_true(transport->summary[0] != '\0');
	tool_free(transport);
}

static void on_failed(const char *path, const struct error *err, void *context)
{
	struct seen *seen = context;
	(void)path;
	seen->failed++;
	print_error("%s\n", err->message);
}

static void test_shipped_folder(void **state)
{
	(void)state;
	struct seen seen = { 0 };
	const struct tool_visitor visitor = { .found = on_found,
					      .failed = on_failed,
					      .context = &seen };
	struct error err = { 0 };
	assert_int_equal(tool_load_folder(TOOLS_FOLDER, &visitor, &err), 0);
	assert_true(seen.scp);
	assert_true(seen.found >= 3);
	assert_int_equal(seen.failed, 0);
	assert_int_equal(tool_load_folder("/no/such/folder", &visitor, &err), 0);
}

/* The page names all that a tool file may hold, as the first words of a table's row. */
static void find_on_page(const char *page, const char *format, const char *name)
{
	char wanted[80];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(wanted, sizeof(wanted), format, name);
#pragma GCC diagnostic pop
	for (const char *found = strstr(page, wanted); found; found = strstr(found + 1, wanted)) {
		const char *line = found;
		while (line > page && line[-1] != '\n')
			line--;
		const char *cell = strstr(line, " | ");
		if (line[0] == '|' && cell && found < cell)
			return;
	}
	fail_msg("docs/tools.md does not explain %s", wanted);
}

static void test_page(void **state)
{
	static const char *const *const keys[] = { tool_key_names, tool_option_key_names,
						   tool_text_key_names };
	static const char *const *const placeholders[] = { tool_placeholders,
							   tool_service_placeholders };
	struct error err = { 0 };
	AUTO_FREE char *path = path_join(TOOLS_FOLDER, "../../docs/tools.md");
	AUTO_FREE char *page = NULL;
	(void)state;
	if (file_read_all(path, 1 << 20, &page, NULL, &err) < 0)
		fail_msg("%s", err.message);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		for (const char *const *key = keys[i]; *key; key++)
			find_on_page(page, "`%s`", *key);
	for (size_t i = 0; i < ARRAY_SIZE(placeholders); i++)
		for (const char *const *name = placeholders[i]; *name; name++)
			find_on_page(page, "`{%s}`", *name);
	for (unsigned bit = 0; bit < 31; bit++) {
		enum transport_cap cap = (enum transport_cap)(1u << bit);
		if (transport_cap_name(cap) && cap != CAP_TWO_ENDED && cap != CAP_TOOL)
			find_on_page(page, "`%s`", transport_cap_name(cap));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors),          cmocka_unit_test(test_too_many_options),
		cmocka_unit_test(test_long_line),       cmocka_unit_test(test_everything),
		cmocka_unit_test(test_name_of_its_own), cmocka_unit_test(test_bad_patterns),
		cmocka_unit_test(test_shipped_folder),  cmocka_unit_test(test_page),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
